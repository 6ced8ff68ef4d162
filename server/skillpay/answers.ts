import type { CoinCallRow } from '../db/entities/skillpay.ts';
import { majorNumber } from '../money.ts';
import { statusOf } from '../payments/view.ts';
import { type Call, type PaymentScheme, type Failed, type Failure, askAll } from './schemes/scheme.ts';
import type { SkillPair, SkillPorts } from './ports.ts';
import { PaymentRequired } from './errors.ts';

/** The result of a paid call: the content, or the message that the call failed and the money was refunded. */
export interface Redeemed {
  data: {
    outTradeNo: string;
    orderNo: string;
    content?: unknown;
    contentType?: string;
    alreadyFulfilled?: boolean;
    receipt?: string;
    /** The price in coins, for a call paid with coins. */
    coin?: { code: string; amount: number };
    status?: 'refunded';
    refundReason?: string;
  };
  headers: Record<string, string>;
  /** Fields that are sent next to `data`, for clients that read them there. */
  beside?: Record<string, unknown>;
}

/** Why a call gets a 402. */
interface Occasion {
  /** Why the call gets no content; absent = the order is unpaid. */
  why?: Failure;
  /** The expired order that the call named, and that the new order replaces. */
  ended?: SkillPair;
  /** Additional fields of the error response (problem document). */
  members?: object;
}

/** Creates the 402 of an order, with the data of every payment scheme. A repeat has the same order number and codes. */
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
  const added = askAll(schemes, pair, call);
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
 * The headers and `type` that the payment schemes add to a response that refuses a proof: headers of all schemes,
 * `type` of the scheme of the proof.
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

/** The 200 with the stored content. Content and receipt are the same on every repeat. */
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

/** The 200 of a call paid with coins. */
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

/** The 200 of a failed call whose coins were refunded. */
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

/** The 200 of a failed call that was refunded in full. */
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

/** JSON content is returned as JSON, any other as text. */
function readContent(text: string, contentType: string): unknown {
  if (!/^application\/([\w.+-]+\+)?json\b/i.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
