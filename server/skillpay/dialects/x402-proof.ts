import { ProofInvalid } from '../refusals.ts';
import { isOutTradeNo } from './number.ts';

/** The header that carries it. */
export const PROOF_HEADER = 'PAYMENT-SIGNATURE';

const MAX_PROOF = 4096;
const MAX_DEPTH = 20;

/** A proof of payment as it was sent. */
export interface X402Proof {
  outTradeNo: string;
  accepted: unknown;
  /** `payment-identifier`: the client's own key of the payment. */
  paymentId: string | undefined;
  /** All of it. */
  payload: Record<string, unknown>;
}

/** Reads `PAYMENT-SIGNATURE` (strict base64 of JSON, ≤ 4 KB, ≤ 20 levels); throws ProofInvalid. */
export function readProof(header: string): X402Proof {
  if (header.length > MAX_PROOF) throw invalid('is longer than 4 KB');
  const bytes = Buffer.from(header, 'base64');
  if (bytes.toString('base64') !== header) throw invalid('is not base64');
  const value = parse(bytes.toString('utf8'));
  if (depthOf(value) > MAX_DEPTH) throw invalid('is nested too deeply');
  const payload = record(value, 'is not a payment payload');
  const { x402Version, accepted } = payload;
  if (x402Version !== 2) throw invalid('is not x402 version 2');
  const { outTradeNo } = record(payload['payload'], 'is not a payment payload');
  if (typeof outTradeNo !== 'string' || !isOutTradeNo(outTradeNo)) throw invalid('has no payload.outTradeNo');
  return { outTradeNo, accepted, paymentId: paymentIdOf(payload['extensions']), payload };
}

/** The `id` of the extension (its specification is in the repository x402-foundation/x402); optional. */
function paymentIdOf(extensions: unknown): string | undefined {
  if (extensions === undefined) return undefined;
  const extension = record(extensions, 'has malformed extensions')['payment-identifier'];
  if (extension === undefined) return undefined;
  const { id } = record(record(extension, MALFORMED)['info'] ?? {}, MALFORMED);
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || !/^[\w-]{16,128}$/.test(id)) throw invalid(MALFORMED);
  return id;
}

const MALFORMED = 'has a malformed payment-identifier';

function invalid(detail: string): ProofInvalid {
  return new ProofInvalid(PROOF_HEADER, detail);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('is not base64-encoded JSON');
  }
}

function record(value: unknown, detail: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(detail);
  return value as Record<string, unknown>;
}

/** 4 KB of brackets are at most 4096 levels, which recursion bears. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
