import type { OrderRow } from '../../db/entities/orders.ts';
import type { Mode, PayWay } from '../../payments/channel.ts';
import { digest } from '../../payments/idempotency.ts';
import { exponentOf } from '../../payments/money.ts';
import type { SkillPair } from '../pair.ts';
import { ProofInvalid } from '../refusals.ts';
import type { Dialect, Failure } from './dialect.ts';
import { isOutTradeNo } from './number.ts';

const HEADER = 'PAYMENT-SIGNATURE';

/** x402 version 2: the offer in `PAYMENT-REQUIRED`, the proof in `PAYMENT-SIGNATURE`. */
export function x402Dialect(publicUrl: string): Dialect {
  const dialect: Dialect = {
    name: 'x402',
    exposes: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE'],
    ask: (pair) => ({ headers: { 'PAYMENT-REQUIRED': paymentRequiredHeader(pair, publicUrl) } }),
    read({ 'payment-signature': header }) {
      if (header === undefined) return undefined;
      const { outTradeNo, accepted } = readProof(header);
      return {
        dialect,
        header: HEADER,
        outTradeNo,
        check({ order }) {
          if (!isOffer(accepted, order, publicUrl)) throw new ProofInvalid(HEADER, 'does not match the offer');
          return undefined;
        },
      };
    },
    paid: ({ order }) => ({ 'PAYMENT-RESPONSE': paymentResponseHeader(order) }),
    failed: ({ order }, why) => ({ headers: { 'PAYMENT-RESPONSE': paymentFailedHeader(order, REASONS[why]) } }),
  };
  return dialect;
}

/** What offers called a network before its mode stood there: offers of that time are still redeemed. */
const FORMER_NETWORKS: Readonly<Record<PayWay, string>> = {
  wechat: 'wechat:cn',
  alipay: 'alipay:cn',
  paypal: 'paypal:us',
};

/** The network of an order: its channel, and whether real money moves there. */
function networkOf({ payWay, mode }: Pick<OrderRow, 'payWay' | 'mode'>): string {
  return `${payWay}:${mode}`;
}

/** What an x402 client is asked to pay; equal for the life of the order. */
interface Requirement {
  scheme: 'exact';
  network: string;
  /** Minor units. */
  amount: string;
  asset: string;
  payTo: 'merchant';
  maxTimeoutSeconds: number;
  extra: { outTradeNo: string; payUrl: string; expiresAt: string; decimals: number; mode: Mode };
}

/** The requirement of an order (x402 version 2). */
function requirementOf(order: OrderRow, publicUrl: string): Requirement {
  return {
    scheme: 'exact',
    network: networkOf(order),
    amount: String(order.amount),
    asset: order.currency,
    payTo: 'merchant',
    maxTimeoutSeconds: Math.max(1, Math.round((order.expiresAt.getTime() - order.createdAt.getTime()) / 1000)),
    extra: {
      outTradeNo: order.orderNo,
      payUrl: `${publicUrl}/pay/${order.orderNo}`,
      expiresAt: order.expiresAt.toISOString(),
      decimals: exponentOf(order.currency, order.payWay) ?? 2,
      mode: order.mode,
    },
  };
}

/** The value of `PAYMENT-REQUIRED`; the fragment of its address names the resource, all of which are called at one path. */
function paymentRequiredHeader({ order, skill }: SkillPair, publicUrl: string): string {
  return encode({
    x402Version: 2,
    resource: {
      url: `${publicUrl}/api/v2/skillpay/resource#${skill.resource}`,
      description: [...order.subject].slice(0, 40).join(''),
      mimeType: 'application/json',
    },
    accepts: [requirementOf(order, publicUrl)],
  });
}

/** The value of `PAYMENT-RESPONSE`. */
function paymentResponseHeader(order: OrderRow): string {
  return encode({
    success: true,
    transaction: order.orderNo,
    network: networkOf(order),
    amount: String(order.paid),
  });
}

/** Why a proof gave no content, as `errorReason`. */
const REASONS: Readonly<Record<Failure, string>> = {
  malformed: 'invalid_payload',
  invalid: 'invalid_payload',
  chosen: 'payment_pending',
  unpaid: 'payment_pending',
  unknown: 'payment_unknown',
  expired: 'payment_expired',
  refunded: 'refunded',
};

/** The value of `PAYMENT-RESPONSE` of a call with a proof that gave no content (SettleResponse of x402 version 2). */
function paymentFailedHeader(order: OrderRow, errorReason: string): string {
  return encode({ success: false, errorReason, transaction: order.orderNo, network: networkOf(order) });
}

/** A proof of payment as it was sent. */
interface X402Proof {
  outTradeNo: string;
  accepted: unknown;
}

const MAX_PROOF = 4096;
const MAX_DEPTH = 20;

/** Reads `PAYMENT-SIGNATURE` (strict base64 of JSON, ≤ 4 KB, ≤ 20 levels); throws ProofInvalid. */
export function readProof(header: string): X402Proof {
  if (header.length > MAX_PROOF) throw new ProofInvalid(HEADER, 'is longer than 4 KB');
  const bytes = Buffer.from(header, 'base64');
  if (bytes.toString('base64') !== header) throw new ProofInvalid(HEADER, 'is not base64');
  const value = parse(bytes.toString('utf8'));
  if (depthOf(value) > MAX_DEPTH) throw new ProofInvalid(HEADER, 'is nested too deeply');
  const { x402Version, accepted, payload } = record(value);
  if (x402Version !== 2) throw new ProofInvalid(HEADER, 'is not x402 version 2');
  const { outTradeNo } = record(payload);
  if (typeof outTradeNo !== 'string' || !isOutTradeNo(outTradeNo))
    throw new ProofInvalid(HEADER, 'has no payload.outTradeNo');
  return { outTradeNo, accepted };
}

/** Whether what the client accepted is what the order costs. */
function isOffer(accepted: unknown, order: OrderRow, publicUrl: string): boolean {
  const offer = requirementOf(order, publicUrl);
  const { mode: _, ...extra } = offer.extra;
  const former = { ...offer, network: FORMER_NETWORKS[order.payWay], extra };
  const sent = digest(accepted ?? null);
  return sent === digest(offer) || sent === digest(former);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProofInvalid(HEADER, 'is not base64-encoded JSON');
  }
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProofInvalid(HEADER, 'is not a payment payload');
  return value as Record<string, unknown>;
}

/** 4 KB of brackets are at most 4096 levels, which recursion bears. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Base64 of JSON in ASCII, so that every client decodes it alike. */
function encode(value: object): string {
  const ascii = JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(ascii).toString('base64');
}
