import { majorNumber } from '../payments/money.ts';
import { statusOf } from '../payments/view.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { PaymentRequired } from './refusals.ts';
import { paymentRequiredHeader, paymentResponseHeader } from './x402.ts';

/** What the caller gets after payment: the content, or the news that it failed and the money is back. */
export interface Redeemed {
  data: {
    outTradeNo: string;
    orderNo: string;
    content?: unknown;
    contentType?: string;
    alreadyFulfilled?: boolean;
    receipt?: string;
    status?: 'refunded';
    refundReason?: string;
  };
  headers: Record<string, string>;
}

/** The 402 of an order; the same number, code and headers every time. */
export function paymentRequired(
  { publicUrl, brand }: Pick<SkillPorts, 'publicUrl' | 'brand'>,
  { order, skill }: SkillPair,
  { silent = false } = {},
): PaymentRequired {
  const code = skill.paymentCode ?? '';
  const { credential } = order;
  const data = {
    outTradeNo: order.orderNo,
    orderNo: order.orderNo,
    resource: skill.resource,
    subject: order.subject,
    amount: majorNumber({ minor: order.amount, currency: order.currency }, order.payWay),
    amountMinor: Number(order.amount),
    currency: order.currency,
    payWay: order.payWay,
    paymentCode: code,
    qrCode: credential?.qrCode ?? null,
    payUrl: credential?.url ?? `${publicUrl}/pay/${order.orderNo}`,
    status: silent ? 'unknown' : statusOf(order),
    expiresAt: order.expiresAt.toISOString(),
  };
  return new PaymentRequired(data, {
    ...Object.fromEntries(codeHeaders(brand).map((name) => [name, code])),
    'X-Out-Trade-No': order.orderNo,
    'PAYMENT-REQUIRED': paymentRequiredHeader(order, publicUrl),
  });
}

/** Names of the headers that carry the payment code; agents of WeChat read one of their own. */
export function codeHeaders(brand: string): string[] {
  return brand === 'Weixin' ? ['Weixin-Pay-Required', 'WeixinPay-Required'] : [`${brand}-Pay-Required`];
}

/** Answer headers that a page of another origin may read. */
export function exposedHeaders(brand: string): string[] {
  return [...codeHeaders(brand), 'X-Out-Trade-No', 'PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-Dev-Mode'];
}

/** The 200 with the stored content, byte for byte the same every time. */
export function contentAnswer({ order, skill }: SkillPair, how: { replayed: boolean; scanSkipped: boolean }): Redeemed {
  const contentType = skill.contentType ?? 'text/plain';
  return {
    data: {
      outTradeNo: order.orderNo,
      orderNo: order.orderNo,
      content: readContent(skill.content ?? '', contentType),
      contentType,
      alreadyFulfilled: how.replayed,
      receipt: skill.receipt ?? '',
    },
    headers: {
      'Cache-Control': 'private',
      'PAYMENT-RESPONSE': paymentResponseHeader(order),
      'X-Out-Trade-No': order.orderNo,
      ...devMode(how.scanSkipped),
    },
  };
}

/** The 200 that says: it failed, and all the money is back. */
export function refundedAnswer({ order, skill }: SkillPair): Redeemed {
  return {
    data: {
      outTradeNo: order.orderNo,
      orderNo: order.orderNo,
      status: 'refunded',
      refundReason: skill.failureMessage ?? skill.failureCode ?? '',
    },
    headers: { 'Cache-Control': 'private', 'X-Out-Trade-No': order.orderNo },
  };
}

function devMode(scanSkipped: boolean): Record<string, string> {
  return scanSkipped ? { 'X-Dev-Mode': 'scan-skipped' } : {};
}

/** JSON goes out as JSON, everything else as text. */
function readContent(text: string, contentType: string): unknown {
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
