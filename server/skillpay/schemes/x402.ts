// The payment scheme x402: the terms of an offer, the proof of payment, and the signed offers and receipts of the
// extension `offer-receipt`.
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OfferEntry } from '../../db/entities/skillpay.ts';
import type { Mode } from '../../payments/channel.ts';
import { digest } from '../../payments/idempotency.ts';
import { exponentOf } from '../../money.ts';
import { ProofInvalid } from '../errors.ts';
import type { SigningKeys } from '../signing-keys.ts';
import { type PaymentScheme, type Failure, type SkillPair, isOutTradeNo, payUrlOf } from './scheme.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

/**
 * The payment scheme x402, version 2. The offer is in the header `PAYMENT-REQUIRED`, the proof of payment in
 * `PAYMENT-SIGNATURE`, and the result in `PAYMENT-RESPONSE`.
 */
export function x402Scheme(publicUrl: string): PaymentScheme {
  const paymentScheme: PaymentScheme = {
    name: 'x402',
    exposes: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'],
    challenge: (pair) => ({
      headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(pair, publicUrl, pair.skill.signedOffer) },
    }),
    brief: (pair) => ({ headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(pair, publicUrl, null) } }),
    read({ 'payment-signature': header }) {
      if (header === undefined) return undefined;
      const { outTradeNo, accepted, paymentId, payload } = readProof(header);
      return {
        scheme: paymentScheme,
        header: PROOF_HEADER,
        outTradeNo,
        ...(paymentId !== undefined && { once: { key: paymentId, payload } }),
        check(pair) {
          if (!isOffered(accepted, pair, publicUrl)) throw new ProofInvalid(PROOF_HEADER, 'does not match the offer');
        },
      };
    },
    paid: (pair) => ({ headers: { 'PAYMENT-RESPONSE': settledHeader(pair) } }),
    failed: ({ order }, why) => ({ headers: { 'PAYMENT-RESPONSE': unsettledHeader(order, REASONS[why]) } }),
  };
  return paymentScheme;
}

function paymentRequiredHeader(pair: SkillPair, publicUrl: string, signedOffer: string | null): string {
  const { order, skill } = pair;
  return encode({
    x402Version: 2,
    resource: {
      url: resourceUrlOf(publicUrl, skill.resource),
      description: short(order.subject),
    },
    accepts: termsOf(pair, publicUrl),
    extensions: {
      'payment-identifier': { info: { required: false }, schema: SCHEMA },
      ...(signedOffer !== null && {
        'offer-receipt': {
          info: { offers: [{ format: 'jws', acceptIndex: 0, signature: signedOffer }] },
          schema: SCHEMA,
        },
      }),
    },
  });
}

/** A minimal JSON schema. The extensions require a schema, and a small one keeps the header short. */
const SCHEMA = { type: 'object' };

/**
 * Cuts a text to 40 characters, because it is part of a header. A text with characters outside ASCII is cut to 16,
 * because `encode` turns each of them into six bytes.
 */
function short(text: string): string {
  const characters = [...text];
  return characters.slice(0, characters.slice(0, 40).every((one) => one < '\u007f') ? 40 : 16).join('');
}

function settledHeader({ order, skill }: SkillPair): string {
  const { signedReceipt: signature } = skill;
  return encode({
    success: true,
    transaction: order.orderNo,
    network: networkOf(order),
    amount: String(order.paid),
    ...(signature !== null && {
      extensions: { 'offer-receipt': { info: { receipt: { format: 'jws', signature } } } },
    }),
  });
}

/** The `errorReason` of x402 for each reason why a proof is refused. */
const REASONS: Readonly<Record<Failure, string>> = {
  malformed: 'invalid_payload',
  invalid: 'invalid_payload',
  payload: 'invalid_payload',
  mismatch: 'invalid_payload',
  unpaid: 'payment_pending',
  unknown: 'payment_unknown',
  expired: 'payment_expired',
  refunded: 'refunded',
};

/** Returns `PAYMENT-RESPONSE` for a response without content (SettleResponse of x402 version 2). */
function unsettledHeader(order: OrderRow, errorReason: string): string {
  return encode({ success: false, errorReason, transaction: order.orderNo, network: networkOf(order) });
}

/** Characters outside ASCII are escaped, so that every client decodes the text in the same way. */
function encode(value: object): string {
  const ascii = JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(ascii).toString('base64');
}

function networkOf({ payWay, mode }: OfferEntry): string {
  return `${payWay}:${mode}`;
}

/** All resources are called at the same path, so the fragment of the URL contains the resource. */
function resourceUrlOf(publicUrl: string, resource: string): string {
  return `${publicUrl}/api/v2/skillpay/resource#${resource}`;
}

/** The payment terms that an x402 client receives. They never change for the same order. */
interface Terms {
  scheme: 'exact';
  network: string;
  /** Minor units. */
  amount: string;
  asset: string;
  payTo: 'merchant';
  maxTimeoutSeconds: number;
  extra: { outTradeNo: string; payUrl: string; expiresAt: string; decimals: number; mode: Mode };
}

/** Returns the terms of an offer, one for each channel, the order's own channel first (`accepts` of x402 version 2). */
export function termsOf(pair: SkillPair, publicUrl: string): Terms[] {
  return pair.skill.entries.map((entry) => termsOfEntry(pair, entry, publicUrl));
}

function termsOfEntry(pair: SkillPair, entry: OfferEntry, publicUrl: string): Terms {
  const { order } = pair;
  return {
    scheme: 'exact',
    network: networkOf(entry),
    amount: String(order.amount),
    asset: order.currency,
    payTo: 'merchant',
    maxTimeoutSeconds: Math.max(1, Math.round((order.expiresAt.getTime() - order.createdAt.getTime()) / 1000)),
    extra: {
      outTradeNo: order.orderNo,
      payUrl: payUrlOf(publicUrl, pair, entry),
      expiresAt: order.expiresAt.toISOString(),
      decimals: exponentOf(order.currency) ?? 2,
      mode: entry.mode,
    },
  };
}

function isOffered(accepted: unknown, pair: SkillPair, publicUrl: string): boolean {
  const sent = digest(accepted ?? null);
  return termsOf(pair, publicUrl).some((one) => digest(one) === sent);
}

const PROOF_HEADER = 'PAYMENT-SIGNATURE';

interface X402Proof {
  outTradeNo: string;
  accepted: unknown;
  /** The client's own key of the payment (extension `payment-identifier`). */
  paymentId: string | undefined;
  /** The JSON object in the header `PAYMENT-SIGNATURE`, with all its fields. */
  payload: Record<string, unknown>;
}

/** Reads the header `PAYMENT-SIGNATURE`, which contains JSON in base64. Throws ProofInvalid. */
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

/**
 * Returns the client's own key of the payment (extension `payment-identifier`, see the repository
 * x402-foundation/x402). Returns undefined if the client does not use the extension.
 */
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

/** Signed offers and receipts are compact JWS, as the extension `offer-receipt` (version 1) of x402 specifies. */
export interface SignedTerms {
  offer(terms: Terms, order: OrderRow, resource: string): Promise<string>;
  /** The receipt contains the order number, so that client and merchant can find the order. */
  receipt(order: OrderRow, resource: string, at: Date): Promise<string>;
}

/**
 * Creates the functions that sign offers and receipts. Each mode (e.g. live) has its own signing key. The `kid` is a
 * DID URL that refers to a key in `did.json`. The extension `offer-receipt` specifies the fields (repository
 * x402-foundation/x402).
 */
export function signedTerms(keys: Pick<SigningKeys, 'sign'>, publicUrl: string): SignedTerms {
  const signer = didOf(publicUrl);
  return {
    offer: ({ scheme, network, asset, payTo, amount }, order, resource) =>
      keys.sign(
        order.mode,
        'x402-offer+jws',
        {
          version: 1,
          resourceUrl: resourceUrlOf(publicUrl, resource),
          scheme,
          network,
          asset,
          payTo,
          amount,
          validUntil: seconds(order.expiresAt),
        },
        signer,
      ),
    receipt: (order, resource, at) =>
      keys.sign(
        order.mode,
        'x402-receipt+jws',
        {
          version: 1,
          network: networkOf(order),
          resourceUrl: resourceUrlOf(publicUrl, resource),
          payer: order.clientId,
          issuedAt: seconds(at),
          transaction: order.orderNo,
        },
        signer,
      ),
  };
}

/** Returns the DID of the service. It contains the service's host (DID method `web`). */
function didOf(publicUrl: string): string {
  return `did:web:${encodeURIComponent(new URL(publicUrl).host)}`;
}

/** Returns the DID document of the service's keys (W3C DID Core, verification methods of type JsonWebKey2020). */
export function didDocument(publicUrl: string, { keys }: { keys: Record<string, unknown>[] }): Record<string, unknown> {
  const id = didOf(publicUrl);
  const methods = keys.map((publicKeyJwk) => ({
    id: `${id}#${String(publicKeyJwk['kid'])}`,
    type: 'JsonWebKey2020',
    controller: id,
    publicKeyJwk,
  }));
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    verificationMethod: methods,
    assertionMethod: methods.map((method) => method.id),
  };
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
