import { hash, randomBytes } from 'node:crypto';
import type { CoinCallRow, SkillOrderRow } from '../db/entities/skillpay.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Mode } from '../payments/channel.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What an offer is about, for its code. */
export type CodeSubject = Pick<SkillOrderRow, 'resource' | 'bodyDigest'>;

/** Port: makes payment codes and receipts, so that an operator's own code can take the place of ours. */
export interface PaymentCodes {
  /** Prepares for a mode; called before the transaction in which the code is made. */
  prepare(mode: Mode): Promise<void>;
  /** The L1 payment code of an order: one line that fits into a header. */
  code(order: OrderRow, subject: CodeSubject): Promise<string>;
  /** The receipt of what was given for an order. */
  receipt(order: OrderRow, resource: string, content: string): Promise<string>;
  /** The receipt of a call that coins paid; coins have no mode, the key of `live` signs. */
  coinReceipt(call: CoinCallRow, content: string): Promise<string>;
}

/** Our own codes: compact JWS (EdDSA) whose public keys are at `/.well-known/jwks.json`. */
export function signedCodes(keys: SigningKeys, issuer: string): PaymentCodes {
  return {
    prepare: (mode) => keys.ensure(mode),
    code: (order, { resource, bodyDigest }) =>
      keys.sign(order.mode, 'pay-code+jws', {
        iss: issuer,
        aud: order.clientId,
        mode: order.mode,
        iat: seconds(order.createdAt),
        exp: seconds(order.expiresAt),
        outTradeNo: order.orderNo,
        resource,
        bodyDigest,
        amountMinor: Number(order.amount),
        currency: order.currency,
        payWay: order.payWay,
        nonce: randomBytes(12).toString('base64url'),
      }),
    receipt: (order, resource, content) =>
      keys.sign(order.mode, 'pay-receipt+jws', {
        iss: issuer,
        aud: order.clientId,
        mode: order.mode,
        outTradeNo: order.orderNo,
        resource,
        amountMinor: Number(order.paid),
        currency: order.currency,
        paidAt: order.paidAt?.toISOString() ?? null,
        contentDigest: hash('sha256', content),
      }),
    coinReceipt: ({ orderNo, clientId, resource, coin, amount, createdAt }, content) =>
      keys.sign('live', 'pay-receipt+jws', {
        iss: issuer,
        aud: clientId,
        outTradeNo: orderNo,
        resource,
        coin,
        coinAmount: Number(amount),
        paidAt: createdAt.toISOString(),
        contentDigest: hash('sha256', content),
      }),
  };
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
