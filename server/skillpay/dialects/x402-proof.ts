import { ProofInvalid } from '../refusals.ts';
import { isOutTradeNo } from './number.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

/** The header that carries it. */
export const PROOF_HEADER = 'PAYMENT-SIGNATURE';

/** A proof of payment as it was sent. */
export interface X402Proof {
  outTradeNo: string;
  accepted: unknown;
  /** `payment-identifier`: the client's own key of the payment. */
  paymentId: string | undefined;
  /** All of it. */
  payload: Record<string, unknown>;
}

/** Reads `PAYMENT-SIGNATURE` (base64 of JSON); throws ProofInvalid. */
export function readProof(header: string): X402Proof {
  try {
    const payload = readHeaderObject(header, 'base64');
    const { x402Version, accepted } = payload;
    if (x402Version !== 2) throw new HeaderMalformed('is not x402 version 2');
    const { outTradeNo } = objectOf(payload['payload'], 'is not a payment payload');
    if (typeof outTradeNo !== 'string' || !isOutTradeNo(outTradeNo))
      throw new HeaderMalformed('has no payload.outTradeNo');
    return { outTradeNo, accepted, paymentId: paymentIdOf(payload['extensions']), payload };
  } catch (error) {
    throw error instanceof HeaderMalformed ? new ProofInvalid(PROOF_HEADER, error.message) : error;
  }
}

/** The `id` of the extension (its specification is in the repository x402-foundation/x402); optional. */
function paymentIdOf(extensions: unknown): string | undefined {
  if (extensions === undefined) return undefined;
  const extension = objectOf(extensions, 'has malformed extensions')['payment-identifier'];
  if (extension === undefined) return undefined;
  const { id } = objectOf(objectOf(extension, MALFORMED)['info'] ?? {}, MALFORMED);
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || !/^[\w-]{16,128}$/.test(id)) throw new HeaderMalformed(MALFORMED);
  return id;
}

const MALFORMED = 'has a malformed payment-identifier';
