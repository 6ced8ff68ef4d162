import type { OrderRow } from '../db/entities/orders.ts';
import type { Mode, PayWay } from '../payments/channel.ts';
import { digest } from '../payments/idempotency.ts';
import { exponentOf } from '../payments/money.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { ProofInvalid } from './refusals.ts';

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
export interface Requirement {
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
export function requirementOf(order: OrderRow, publicUrl: string): Requirement {
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
export function paymentRequiredHeader({ order, skill }: SkillPair, publicUrl: string): string {
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
export function paymentResponseHeader(order: OrderRow): string {
  return encode({
    success: true,
    transaction: order.orderNo,
    network: networkOf(order),
    amount: String(order.paid),
  });
}

/** Why a call with a proof was not answered with its content. */
export type Unsettled = 'payment_pending' | 'payment_unknown' | 'payment_expired' | 'refunded';

/** The value of `PAYMENT-RESPONSE` of a call with a proof that gave no content (SettleResponse of x402 version 2). */
export function paymentFailedHeader(order: OrderRow, errorReason: Unsettled): string {
  return encode({ success: false, errorReason, transaction: order.orderNo, network: networkOf(order) });
}

/** A proof of payment as it was sent. */
export interface Proof {
  outTradeNo: string;
  accepted: unknown;
}

const MAX_PROOF = 4096;
const MAX_DEPTH = 20;
const HEADER = 'PAYMENT-SIGNATURE';

/** Reads `PAYMENT-SIGNATURE` (strict base64 of JSON, ≤ 4 KB, ≤ 20 levels); throws ProofInvalid. */
export function readProof(header: string): Proof {
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

/** Throws ProofInvalid unless what the client accepted is what the order costs. */
export function requireSameOffer(
  { publicUrl }: Pick<SkillPorts, 'publicUrl'>,
  order: OrderRow,
  { accepted }: Proof,
): void {
  const offer = requirementOf(order, publicUrl);
  const { mode: _, ...extra } = offer.extra;
  const former = { ...offer, network: FORMER_NETWORKS[order.payWay], extra };
  const sent = digest(accepted ?? null);
  if (sent !== digest(offer) && sent !== digest(former)) throw new ProofInvalid(HEADER, 'does not match the offer');
}

/** Whether a text has the form of a pay-per-call number. */
export function isOutTradeNo(text: string): boolean {
  return /^X\d{14}[0-9A-Z]{10}$/.test(text);
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
