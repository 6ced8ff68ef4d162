import { PAY_WAYS, type PayWay } from '../payments/pay-way.ts';
import { majorNumber } from '../payments/money.ts';
import { statusOf } from '../payments/view.ts';
import { liveAgentCode } from './agent-code.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { PaymentRequired } from './refusals.ts';
import { paymentFailedHeader, paymentRequiredHeader, paymentResponseHeader } from './x402.ts';

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

/** The 402 of an order; the same number, code and headers every time. `proven`: the call named its payment. */
export function paymentRequired(
  { publicUrl, brand, now }: Pick<SkillPorts, 'publicUrl' | 'brand' | 'now'>,
  { order, skill }: SkillPair,
  { silent = false, proven = false } = {},
): PaymentRequired {
  const code = skill.paymentCode ?? '';
  const { credential } = order;
  const agentCode = liveAgentCode({ order, skill }, now());
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
  const headers = {
    [codeHeader(brand, order.payWay)]: code,
    'X-Out-Trade-No': order.orderNo,
    'PAYMENT-REQUIRED': paymentRequiredHeader({ order, skill }, publicUrl),
    ...(proven
      ? { 'PAYMENT-RESPONSE': paymentFailedHeader(order, silent ? 'payment_unknown' : 'payment_pending') }
      : {}),
  };
  if (agentCode === undefined) return new PaymentRequired(data, headers);
  const forAgents = { [AGENT_CODE]: agentCode, prompt: AGENT_PROMPT };
  return new PaymentRequired(data, { ...headers, [AGENT_CODE]: agentCode }, { WeixinPay: forAgents });
}

/** Where agents of WeChat read a payment code of WeChat's own; ours never stands there. */
const AGENT_CODE = 'WeixinPay-Required';

/** What an agent that reads bodies only is told to do, in the words of the vendor's merchant demo. */
const AGENT_PROMPT =
  '本次使用微信支付，请将 WeixinPay-Required 的值作为 paymentCode 交给 weixinpay_pay，以向用户申请支付授权。';

/** How the operators of the channels are called in the name of the header. */
const BRANDS: Readonly<Record<PayWay, string>> = { wechat: 'Weixin', alipay: 'Alipay', paypal: 'PayPal' };

/** Name of the header that carries our payment code. */
function codeHeader(brand: string | undefined, payWay: PayWay): string {
  return `${brand ?? BRANDS[payWay]}-Pay-Required`;
}

/** Answer headers that a page of another origin may read. */
export function exposedHeaders(brand: string | undefined): string[] {
  const codes = new Set(PAY_WAYS.map((payWay) => codeHeader(brand, payWay)));
  return [...codes, AGENT_CODE, 'X-Out-Trade-No', 'PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-Dev-Mode'];
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
    headers: {
      'Cache-Control': 'private',
      'PAYMENT-RESPONSE': paymentFailedHeader(order, 'refunded'),
      'X-Out-Trade-No': order.orderNo,
    },
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
