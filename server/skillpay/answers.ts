import type { CoinCallRow } from '../db/entities/skillpay.ts';
import { majorNumber } from '../money.ts';
import { statusOf } from '../payments/view.ts';
import { type Call, type PaymentScheme, type Failed, type Failure, challengeAll } from './schemes/scheme.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { PaymentRequired } from './errors.ts';

/** The result of a paid call: the content, or a message that the handler failed and the payment was refunded. */
export interface Redeemed {
  data: {
    outTradeNo: string;
    orderNo: string;
    content?: unknown;
    contentType?: string;
    alreadyFulfilled?: boolean;
    receipt?: string;
    /** The price in coins. Only for calls that were paid with coins. */
    coin?: { code: string; amount: number };
    status?: 'refunded';
    refundReason?: string;
  };
  headers: Record<string, string>;
  /** Fields beside `data`; clients of some payment protocols, e.g. Alipay's agents, read them there. */
  beside?: Record<string, unknown>;
}

interface Occasion {
  /** Why the proof of payment is refused. Absent = the order is not paid. */
  why?: Failure;
  /** The expired order that the caller named. The order in the 402 replaces it. */
  ended?: SkillPair;
  /** Additional fields of the problem document. */
  members?: object;
}

/** Creates the 402 for an order. A repeated call gets the same order number and payment code. */
export async function paymentRequired(
  { publicUrl, schemes }: Pick<SkillPorts, 'publicUrl' | 'schemes'>,
  unprepared: SkillPair,
  call: Call,
  { why = 'unpaid', ended, members }: Occasion = {},
): Promise<PaymentRequired> {
  const pair = await prepare(schemes, unprepared);
  const { order, skill } = pair;
  const { credential } = order;
  const data = {
    outTradeNo: order.orderNo,
    orderNo: order.orderNo,
    resource: skill.resource,
    subject: order.subject,
    amount: majorNumber({ minor: order.amount, currency: order.currency }),
    amountMinor: Number(order.amount),
    currency: order.currency,
    payWay: order.payWay,
    paymentCode: skill.paymentCode ?? '',
    qrCode: credential?.qrCode ?? null,
    payUrl: credential?.url ?? `${publicUrl}/pay/${order.orderNo}`,
    status: why === 'unknown' ? 'unknown' : statusOf(order),
    expiresAt: order.expiresAt.toISOString(),
  };
  const added = challengeAll(schemes, pair, call);
  const failed = failedBy(schemes, call, ended ?? pair, why);
  return new PaymentRequired({
    data,
    members: { ...added.members, ...members },
    headers: { ...added.headers, ...failed.headers },
    type: failed.type,
    inPlaceOf: ended?.order.orderNo,
  });
}

/**
 * Returns what a response contains if a proof of payment is refused. Every payment scheme (protocol such as x402) adds
 * headers. The scheme to which the proof belongs also sets `type`.
 */
export function failedBy(schemes: readonly PaymentScheme[], { proofs }: Call, pair: SkillPair, why: Failure): Failed {
  if (proofs.length === 0) return {};
  const type = proofs.map(({ scheme }) => scheme.failed?.(pair, why).type).find((one) => one !== undefined);
  return { headers: failureHeaders(schemes, pair, why), ...(type !== undefined && { type }) };
}

function failureHeaders(schemes: readonly PaymentScheme[], pair: SkillPair, why: Failure): Record<string, string> {
  return merged(schemes.map((scheme) => scheme.failed?.(pair, why).headers));
}

async function prepare(schemes: readonly PaymentScheme[], pair: SkillPair): Promise<SkillPair> {
  let prepared = pair;
  for (const scheme of schemes) prepared = (await scheme.prepare?.(prepared)) ?? prepared;
  return prepared;
}

function merged<Value>(parts: readonly (Record<string, Value> | undefined)[]): Record<string, Value> {
  return Object.assign({}, ...parts) as Record<string, Value>;
}

/** Creates the 200 with the stored content. Every repeated call gets the same content and receipt. */
export function contentAnswer(
  { schemes }: Pick<SkillPorts, 'schemes'>,
  pair: SkillPair,
  how: { replayed: boolean; scanSkipped: boolean },
): Redeemed {
  const { order, skill } = pair;
  const contentType = skill.contentType ?? 'text/plain';
  const content = readContent(skill.content ?? '', contentType);
  const given = schemes.map((scheme) => scheme.paid?.(pair, { content, replayed: how.replayed }));
  return {
    data: {
      outTradeNo: order.orderNo,
      orderNo: order.orderNo,
      content,
      contentType,
      alreadyFulfilled: how.replayed,
      receipt: skill.receipt ?? '',
    },
    headers: {
      'Cache-Control': 'private',
      ...merged(given.map((one) => one?.headers)),
      ...devMode(how.scanSkipped),
    },
    beside: merged(given.map((one) => one?.members)),
  };
}

/** Creates the 200 for a call that was paid with coins. */
export function coinAnswer(row: CoinCallRow, { replayed }: { replayed: boolean }): Redeemed {
  const { orderNo, coin, amount } = row;
  const contentType = row.contentType ?? 'text/plain';
  return {
    data: {
      outTradeNo: orderNo,
      orderNo,
      content: readContent(row.content ?? '', contentType),
      contentType,
      alreadyFulfilled: replayed,
      receipt: row.receipt ?? '',
      coin: { code: coin, amount: Number(amount) },
    },
    headers: { 'Cache-Control': 'private', 'X-Out-Trade-No': orderNo },
  };
}

/** Creates the 200 for a call whose handler failed and whose coins were refunded. */
export function coinsBackAnswer({ orderNo, coin, amount, failureCode, failureMessage }: CoinCallRow): Redeemed {
  return {
    data: {
      outTradeNo: orderNo,
      orderNo,
      coin: { code: coin, amount: Number(amount) },
      status: 'refunded',
      refundReason: failureMessage ?? failureCode ?? '',
    },
    headers: { 'Cache-Control': 'private', 'X-Out-Trade-No': orderNo },
  };
}

/** Creates the 200 for a call whose handler failed and whose payment was refunded in full. */
export function refundedAnswer({ schemes }: Pick<SkillPorts, 'schemes'>, pair: SkillPair): Redeemed {
  const { order, skill } = pair;
  return {
    data: {
      outTradeNo: order.orderNo,
      orderNo: order.orderNo,
      status: 'refunded',
      refundReason: skill.failureMessage ?? skill.failureCode ?? '',
    },
    headers: {
      'Cache-Control': 'private',
      'X-Out-Trade-No': order.orderNo,
      ...failureHeaders(schemes, pair, 'refunded'),
    },
  };
}

function devMode(scanSkipped: boolean): Record<string, string> {
  return scanSkipped ? { 'X-Dev-Mode': 'scan-skipped' } : {};
}

/** Parses JSON content, so that the response contains it as JSON. Other content is returned as text. */
function readContent(text: string, contentType: string): unknown {
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
