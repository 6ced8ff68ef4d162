import type { CloseOutcome, OrderRef, Outcome, RefundOutcome, RefundRef } from '../../payments/channel.ts';
import { readMajorText, sameMoney, type Money } from '../../payments/money.ts';
import { unknown, unknownRefusal, type Said, type Unknown } from './reply.ts';
import { CODE, DISCORDANT, isBusinessRefusal, NO_REFUND_TRADE, NOT_EXIST, TRADE_STATUS } from './status.ts';

type Content = Said['content'];
/** What both a refund to be made and a known one say. */
type RefundFacts = Pick<RefundRef, 'orderNo' | 'amount' | 'refundAmount'>;

/**
 * The answer to a query. Success carries the amount that Alipay names, also when it is not the order's (settling decides);
 * `receivedAt` stands in for a missing time of payment.
 */
export function readQueried(said: Said, order: OrderRef, receivedAt: Date, sellerId = ''): Outcome {
  const { content, code, subCode } = said;
  if (code !== CODE.ok) {
    if (subCode === NOT_EXIST && code === CODE.business) return { kind: 'absent' };
    return unknownRefusal(said) ?? rejected(said);
  }
  if (content.out_trade_no !== order.orderNo) return otherThing(content);
  if (sellerId !== '' && content.seller_id !== undefined && content.seller_id !== sellerId) {
    return unknown('mismatch', `The trade belongs to seller ${String(content.seller_id)}.`);
  }
  return readTrade(content, content.send_pay_date, receivedAt, order.amount);
}

/**
 * What a trade's words say, in an answer or a notice. TRADE_CLOSED with a time of payment was paid and refunded in full;
 * without one it was never paid. With `expected`, an unpaid trade of another amount is a mismatch.
 */
export function readTrade(content: Content, paidAt: unknown, receivedAt: Date, expected?: Money): Outcome {
  const { trade_status: word } = content;
  if (typeof word !== 'string') return unknown('unparsable', 'The response has no trade_status.');
  const amount = readMajorText(content.total_amount, 'CNY');
  if (!amount) return unknown('mismatch', `total_amount "${String(content.total_amount)}" is not an amount.`);
  const meaning = TRADE_STATUS.get(word) ?? 'pending';
  const refundedInFull = meaning === 'closed' && hasText(paidAt);
  if (meaning === 'paid' || refundedInFull) {
    const channelNo = content.trade_no;
    if (!hasText(channelNo)) return unknown('unparsable', 'The response has no trade_no.');
    const payer = [content.buyer_user_id, content.buyer_id, content.buyer_open_id].find(hasText);
    const at = readChinaTime(paidAt) ?? receivedAt;
    const refunds = refundedInFull ? { refundsHint: true, refundedTotal: amount.minor } : {};
    return { kind: 'paid', channelNo, amount, at, payer, ...refunds };
  }
  if (expected && !sameMoney(amount, expected)) {
    return unknown('mismatch', `total_amount is ${String(content.total_amount)}.`);
  }
  return { kind: meaning === 'closed' ? 'closed' : 'pending' };
}

/** The answer to close; every refusal of the business means: query now. */
export function readClosed(said: Said, order: OrderRef): CloseOutcome {
  const { content, code, subCode, message } = said;
  if (code === CODE.ok) return content.out_trade_no === order.orderNo ? { kind: 'closed' } : otherThing(content);
  if (code === CODE.business && subCode === NOT_EXIST) return { kind: 'absent' };
  return unknownRefusal(said) ?? { kind: 'refused', code: subCode || code, reason: message };
}

/**
 * The answer to the cancelling of a payer's code: it closes, or gives back what was paid and says so (`action`). A success without
 * an action knows no such trade; `retry_flag` Y asks for the same call again.
 */
export function readCancelled(said: Said, order: OrderRef, receivedAt: Date): CloseOutcome {
  const { content, code, subCode, message } = said;
  if (code !== CODE.ok) {
    if (code === CODE.business && subCode === NOT_EXIST) return { kind: 'absent' };
    return unknownRefusal(said) ?? { kind: 'refused', code: subCode || code, reason: message };
  }
  const { action, retry_flag: again, trade_no: tradeNo, gmt_refund_pay: refundedAt } = content;
  if (content.out_trade_no !== order.orderNo) return otherThing(content);
  if (again === 'Y') return unknown('busy', 'The same cancel is to be sent again (retry_flag).');
  if (action === 'close') return { kind: 'closed' };
  if (action === undefined || action === '') return { kind: 'absent' };
  if (action !== 'refund') return unknown('unparsable', `action is ${String(action)}.`);
  const at = readChinaTime(refundedAt) ?? receivedAt;
  return { kind: 'closed', returned: { channelNo: hasText(tradeNo) ? tradeNo : null, at } };
}

/**
 * The answer to a refund: every refusal of the business refuses this call; an earlier one of the same number may still have
 * done it, so settling asks twice before the refund ends. Done only with `fund_change=Y`: N, or none, says that this call moved
 * nothing, not that an earlier one did; so it is asked about, and sent again when the channel has not got it.
 * `refund_fee` is the sum of all refunds so far, so it is checked as a bound and never taken as this refund's amount.
 */
export function readRefunded(said: Said, refund: RefundFacts, receivedAt: Date): RefundOutcome {
  const { content, code, subCode, message } = said;
  if (code !== CODE.ok) {
    if (subCode === DISCORDANT) return unknown('mismatch', `${subCode} ${message}`, subCode);
    const nothing = unknownRefusal(said);
    if (nothing) return nothing;
    return isBusinessRefusal(said) ? { kind: 'refused', code: subCode, reason: message } : rejected(said);
  }
  if (content.out_trade_no !== refund.orderNo) return otherThing(content);
  if (content.fund_change !== 'Y') return unknown('in_progress', 'This call moved no money (fund_change is not Y).');
  const sum = readMajorText(content.refund_fee, 'CNY');
  if (!sum || sum.minor < refund.refundAmount.minor || sum.minor > refund.amount.minor) {
    return unknown('mismatch', `refund_fee is ${String(content.refund_fee)}.`);
  }
  return { kind: 'succeeded', amount: refund.refundAmount, at: readChinaTime(content.gmt_refund_pay) ?? receivedAt };
}

/**
 * The answer to a refund query; success carries the amount that Alipay names, and its time (`gmt_refund_pay`, which requests.ts
 * asks for). Without a status Alipay has not received the refund or it failed, whatever else is written: absent, and the same
 * number may be sent again. Unlisted words are pending.
 */
export function readRefundQueried(
  said: Said,
  refund: Pick<RefundRef, 'orderNo' | 'refundNo' | 'amount'>,
  receivedAt: Date,
): RefundOutcome {
  const { content, code, subCode } = said;
  if (code !== CODE.ok) {
    if (NO_REFUND_TRADE.has(subCode) && code === CODE.business) return { kind: 'absent' };
    return unknownRefusal(said) ?? rejected(said);
  }
  const { refund_status: status, refund_amount: written } = content;
  if (isOther(content.out_trade_no, refund.orderNo) || isOther(content.out_request_no, refund.refundNo)) {
    return otherThing(content);
  }
  if (status === undefined) return { kind: 'absent' };
  if (content.out_trade_no === undefined || content.out_request_no === undefined) return otherThing(content);
  if (status !== 'REFUND_SUCCESS') return { kind: 'pending' };
  const amount = readMajorText(written, 'CNY');
  if (!amount) return unknown('mismatch', `refund_amount "${String(written)}" is not an amount.`);
  const total = readMajorText(content.total_amount, 'CNY');
  if (content.total_amount !== undefined && (!total || !sameMoney(total, refund.amount))) {
    return unknown('mismatch', `total_amount is ${String(content.total_amount)}.`);
  }
  return { kind: 'succeeded', amount, at: readChinaTime(content.gmt_refund_pay) ?? receivedAt };
}

/**
 * The answer to a refund query about a refund that somebody else made. It says whose money went back (`trade_no`), because an order
 * may have been paid twice; whether that payment is the order's, and had its amount, is for settling to compare.
 */
export function readRefundLookedUp(
  said: Said,
  refund: Pick<RefundRef, 'orderNo' | 'refundNo' | 'amount'>,
  receivedAt: Date,
): RefundOutcome {
  const { trade_no: channelNo } = said.content;
  const amount = readMajorText(said.content.total_amount, 'CNY');
  if (!hasText(channelNo) || !amount) return readRefundQueried(said, refund, receivedAt);
  const outcome = readRefundQueried(said, { ...refund, amount }, receivedAt);
  return outcome.kind === 'succeeded' ? { ...outcome, payment: { channelNo, amount } } : outcome;
}

/** Reads `yyyy-MM-dd HH:mm:ss` (fractions allowed) of UTC+8; undefined when it is not such a time. */
export function readChinaTime(text: unknown): Date | undefined {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?$/.test(text)) return undefined;
  const at = new Date(`${text.replace(' ', 'T')}+08:00`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** An answer about something else says nothing. */
export function otherThing(content: Content): Unknown {
  return unknown('mismatch', `The response is about order ${String(content.out_trade_no)}.`);
}

function rejected({ code, subCode, message }: Said) {
  return unknown('rejected', `${code} ${subCode} ${message}`.trim(), subCode);
}

function isOther(named: unknown, ours: string): boolean {
  return named !== undefined && named !== ours;
}

/** Whether a member is there and says something. */
export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
