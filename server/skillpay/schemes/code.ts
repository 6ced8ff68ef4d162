// The service's own dialect: the brand in its header, and the signed payment codes and receipts.
import { hash, randomBytes } from 'node:crypto';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { CoinCallRow, SkillOrderRow } from '../../db/entities/skillpay.ts';
import { CHANNELS, PAY_WAYS, type PayWay } from '../../domain.ts';
import type { Mode } from '../../payments/channel.ts';
import type { SigningKeys } from '../signing-keys.ts';
import type { PaymentScheme, Proof } from './scheme.ts';

/** Our own dialect: a signed payment code under the operator's brand, and the number of the order as the proof. */
export function codeScheme(brand: string | undefined): PaymentScheme {
  const scheme: PaymentScheme = {
    name: 'code',
    exposes: [...brandHeaders(brand), 'X-Out-Trade-No', 'X-Dev-Mode'],
    ask: ({ order, skill }) => ({
      headers: { [brandHeader(brand, order.payWay)]: skill.paymentCode ?? '', 'X-Out-Trade-No': order.orderNo },
    }),
    read: ({ 'x-out-trade-no': outTradeNo }): Proof | undefined =>
      outTradeNo === undefined ? undefined : { scheme, header: 'X-Out-Trade-No', outTradeNo, check: () => {} },
    paid: ({ order }) => ({ headers: { 'X-Out-Trade-No': order.orderNo } }),
  };
  return scheme;
}

/** Name of the header with our payment code of an order of the channel; a configured brand takes the place of every operator's. */
function brandHeader(brand: string | undefined, payWay: PayWay): string {
  return `${brand ?? CHANNELS[payWay].operator}-Pay-Required`;
}

/** Every name that `brandHeader` may give. */
function brandHeaders(brand: string | undefined): string[] {
  return [...new Set(PAY_WAYS.map((payWay) => brandHeader(brand, payWay)))];
}

/** What an offer is about, for its code. */
type CodeSubject = Pick<SkillOrderRow, 'resource' | 'bodyDigest'>;

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
