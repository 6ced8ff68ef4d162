// The service's own payment scheme: a header with the operator's brand, signed payment codes, and receipts.
import { hash, randomBytes } from 'node:crypto';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { CoinCallRow, SkillOrderRow } from '../../db/entities/skillpay.ts';
import { CHANNELS, PAY_WAYS, type PayWay } from '../../domain.ts';
import type { Mode } from '../../payments/channel.ts';
import type { SigningKeys } from '../signing-keys.ts';
import type { PaymentScheme, Proof } from './scheme.ts';

/**
 * The service's own payment scheme. A header, whose name contains the operator's brand, contains a signed payment code.
 * The proof of payment is the order number.
 */
export function codeScheme(brand: string | undefined): PaymentScheme {
  const scheme: PaymentScheme = {
    name: 'code',
    exposes: [...brandHeaders(brand), 'X-Out-Trade-No', 'X-Dev-Mode'],
    challenge: ({ order, skill }) => ({
      headers: { [brandHeader(brand, order.payWay)]: skill.paymentCode ?? '', 'X-Out-Trade-No': order.orderNo },
    }),
    read: ({ 'x-out-trade-no': outTradeNo }): Proof | undefined =>
      outTradeNo === undefined ? undefined : { scheme, header: 'X-Out-Trade-No', outTradeNo, check: () => {} },
    paid: ({ order }) => ({ headers: { 'X-Out-Trade-No': order.orderNo } }),
  };
  return scheme;
}

/** The name begins with the configured brand or, if none is configured, with the channel's name, such as `Weixin`. */
function brandHeader(brand: string | undefined, payWay: PayWay): string {
  return `${brand ?? CHANNELS[payWay].operator}-Pay-Required`;
}

function brandHeaders(brand: string | undefined): string[] {
  return [...new Set(PAY_WAYS.map((payWay) => brandHeader(brand, payWay)))];
}

type CodeSubject = Pick<SkillOrderRow, 'resource' | 'bodyDigest'>;

/** This is an interface, so that an operator of the service can use another implementation. */
export interface PaymentCodes {
  /** Loads the signing key for a mode (e.g. `live`). Call it before the transaction that creates a payment code. */
  prepare(mode: Mode): Promise<void>;
  /** Returns the payment code of an order as one line, because it is sent in a header. */
  code(order: OrderRow, subject: CodeSubject): Promise<string>;
  receipt(order: OrderRow, resource: string, content: string): Promise<string>;
  /** Returns the receipt of a call paid with coins. It is always signed with the key of the mode `live`. */
  coinReceipt(call: CoinCallRow, content: string): Promise<string>;
}

/** Creates payment codes and receipts as compact JWS (EdDSA). The public keys are at `/.well-known/jwks.json`. */
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
