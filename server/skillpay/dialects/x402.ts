import type { OrderRow } from '../../db/entities/orders.ts';
import type { SkillPair } from '../pair.ts';
import { ProofInvalid } from '../refusals.ts';
import type { Dialect, Failure } from './dialect.ts';
import { PROOF_HEADER, readProof } from './x402-proof.ts';
import { isOffered, networkOf, resourceUrlOf, termsOf } from './x402-terms.ts';

/** x402 version 2: the offer in `PAYMENT-REQUIRED`, the proof in `PAYMENT-SIGNATURE`, the result in `PAYMENT-RESPONSE`. */
export function x402Dialect(publicUrl: string): Dialect {
  const dialect: Dialect = {
    name: 'x402',
    exposes: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'],
    ask: (pair) => ({
      headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(pair, publicUrl, pair.skill.signedOffer) },
    }),
    brief: (pair) => ({ headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(pair, publicUrl, null) } }),
    read({ 'payment-signature': header }) {
      if (header === undefined) return undefined;
      const { outTradeNo, accepted, paymentId, payload } = readProof(header);
      return {
        dialect,
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
  return dialect;
}

/** The value of `PAYMENT-REQUIRED`. */
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

/** Schemas are part of the extensions' form; they say no more than a reader needs, the header is small. */
const SCHEMA = { type: 'object' };

/** At most 40 characters, of a script beyond ASCII 16: each of those is six bytes here. */
function short(text: string): string {
  const characters = [...text];
  return characters.slice(0, characters.slice(0, 40).every((one) => one < '\u007f') ? 40 : 16).join('');
}

/** The value of `PAYMENT-RESPONSE` of the call that brings the content. */
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

/** Why a proof gave no content, as `errorReason`. */
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

/** The value of `PAYMENT-RESPONSE` of a call with a proof that gave no content (SettleResponse of x402 version 2). */
function unsettledHeader(order: OrderRow, errorReason: string): string {
  return encode({ success: false, errorReason, transaction: order.orderNo, network: networkOf(order) });
}

/** Base64 of JSON in ASCII, so that every client decodes it alike. */
function encode(value: object): string {
  const ascii = JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(ascii).toString('base64');
}
