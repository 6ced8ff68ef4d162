import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundOutcome } from '../channel.ts';
import {
  type Change,
  type EffectRun,
  type OpenedRefund,
  type OrderMoved,
  type Raised,
  type Resolved,
  STAY,
  type Told,
} from './change.ts';
import { closed } from './end-order.ts';
import { type Hearing, isWelcomeLate, type Said, wentBack } from './facts.ts';
import type { Money } from '../money.ts';
import { isOpen } from './moves.ts';
import { foreignRefund, newRefund } from './open-refund.ts';
import { unexplainedRefunds } from './unexplained.ts';

type Paid = Hearing<Said<'paid'>>;
/** A payment whose channel number is not always told: one that a close gave back. */
type Came = Omit<Said<'paid'>, 'channelNo'> & { readonly channelNo: string | null };
type Succeeded = Extract<RefundOutcome, { kind: 'succeeded' }>;

/** What a paid order remembers of its payment. */
export function paidPatch(outcome: Came, order: OrderRow, now: Date): OrderMoved['order'] {
  return {
    state: 'paid',
    paid: outcome.amount.minor,
    // By the channel's clock, which counts whole seconds and need not agree with ours; the history keeps what it said.
    paidAt: outcome.at < order.createdAt ? order.createdAt : outcome.at,
    channelTradeNo: outcome.channelNo ?? order.channelTradeNo,
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    payer: outcome.payer?.slice(0, 256) ?? order.payer,
    credential: null,
    captureState: null,
    captureReason: null,
    captureLeasedUntil: null,
    approvalAskedAt: null,
    reverseDoubtAt: null,
    ...settlementPatch(outcome),
    checkedAt: now,
    nextCheckAt: null,
    leasedUntil: null,
  };
}

/** The right money after the end: the application's policy decides, a sibling or missing stock overrules it. */
export function latePaid(hearing: Paid): Change {
  const { order, facts, outcome, now } = hearing;
  if (!isWelcomeLate(order, facts) || facts.readmitted !== true) return giveBack(hearing);
  return {
    rule: 'O9',
    order: { ...paidPatch(outcome, order, now), checks: 0 },
    outcome,
    tell: [{ type: 'order.paid' }],
    raise: [{ kind: 'late_paid', dedupe: 'once', detail: { accepted: true } }, ...unexplainedRefunds(order, outcome)],
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

/** The whole amount goes back with a fixed number, in the commit that learns of it; the wire status stays until the refund is done. */
function giveBack({ order, outcome, now }: Paid): Change {
  const late = endedPatch(order, outcome, now);
  const intent = {
    refundNo: `R${order.orderNo}L`,
    amount: outcome.amount.minor,
    origin: 'late',
    reason: 'The order had ended before the payment arrived.',
    merchantRefundNo: null,
    actor: 'service',
    cause: 'late',
    dueAt: now,
  } as const;
  return {
    rule: 'O9',
    order: late,
    outcome,
    tell: [{ type: 'order.paid_late' }, ...endTold(order)],
    raise: [{ kind: 'late_paid', dedupe: 'once', detail: { accepted: false } }, ...unexplainedRefunds(order, outcome)],
    effects: endEffects(order),
    open: newRefund({ ...order, ...late, sequence: order.sequence + 1 }, intent, now),
  };
}

/** A payment that the channel has given back whole by itself: both are written, and nobody has anything to do. */
export function cameAndWent({ order, outcome, now }: { order: OrderRow; outcome: Came; now: Date }): Change {
  const ended = endedPatch(order, outcome, now);
  const { amount, at } = outcome;
  const paidOrder = { ...order, ...ended, sequence: order.sequence + 1 };
  const returned = refundByClose(paidOrder, { kind: 'succeeded', amount, at }, now);
  return {
    rule: 'O9',
    order: ended,
    outcome,
    tell: [{ type: 'order.paid_late' }, ...endTold(order)],
    effects: endEffects(order),
    open: { ...returned, raise: [] },
  };
}

/** What the channel gave back with its close, or before anybody here heard of the payment. */
export function refundByClose(order: OrderRow, outcome: Succeeded, now: Date): OpenedRefund {
  const also = { refundNo: `R${order.orderNo}C`, channelRefundNo: null, actor: 'service', cause: 'close' };
  const opened = foreignRefund(order, outcome, also, now);
  return { ...opened, row: { ...opened.row, reason: 'Returned by the channel when it closed the order.' } };
}

/** An order that has ended, or ends now, although its money came. */
function endedPatch(order: OrderRow, outcome: Came, now: Date): OrderMoved['order'] {
  return {
    ...paidPatch(outcome, order, now),
    state: order.state === 'failed' ? 'failed' : 'closed',
    closedAt: order.closedAt ?? now,
    ...(order.state === 'closing' ? { closeReason: order.closeReason ?? ('merchant' as const) } : {}),
  };
}

function endTold({ state }: OrderRow): Told[] {
  return state === 'closing' ? [{ type: 'order.closed' }] : [];
}

function endEffects({ state }: OrderRow): EffectRun[] {
  return state === 'closing' ? [{ name: 'ended', run: ['ended'] }] : [];
}

/** The same success again; another payment of the same order, or a hint at refunds that nobody knows, is listed. */
export function againPaid({ order, outcome, now }: Paid): Change {
  const isOther = order.channelTradeNo !== null && outcome.channelNo !== order.channelTradeNo;
  const { channelNo: dedupe, amount: received } = outcome;
  const second: Raised[] = isOther ? [{ kind: 'double_paid', dedupe, received, detail: outcome }] : [];
  // What went back of the other payment is not of this order's sums.
  const raise = isOther ? second : unexplainedRefunds(order, outcome);
  const settlement = isOther || order.settlement !== null ? {} : settlementPatch(outcome);
  const where = { orderNo: order.orderNo, kind: 'double_paid', dedupe } as const;
  const isBack = isOther && wentBack(outcome);
  const resolve: Resolved[] = isBack ? [{ where, resolution: 'refunded', by: 'service' }] : [];
  return { rule: null, order: { checkedAt: now, ...settlement }, raise, resolve };
}

/** A payment that another order has already: which of them the payer paid, a person finds out. */
export function ofAnother(
  owner: string,
  { channelNo, amount: received, at }: Pick<Said<'paid'>, 'channelNo' | 'amount' | 'at'>,
): Raised {
  return { kind: 'payment_of_another_order', dedupe: channelNo, received, detail: { channelNo, at, owner } };
}

/** Fee and net are kept as the channel said them first. */
function settlementPatch({ settlement }: Pick<Came, 'settlement'>): Partial<Pick<OrderRow, 'settlement'>> {
  if (!settlement) return {};
  const { fee, net, received, completedAt } = settlement;
  const stored = (money: Money | undefined) => money && { minor: String(money.minor), currency: money.currency };
  return {
    settlement: {
      fee: stored(fee),
      net: stored(net),
      received: stored(received),
      completedAt: completedAt?.toISOString(),
    },
  };
}

/** Genuine money of another amount never pays an order; a person decides, and until then nobody asks. */
export function differentAmount({ order, facts, outcome, now }: Paid): Change {
  // The person has decided about this money, so the order goes on to its own end.
  if (facts.mismatch === 'ended' && isOpen(order.state))
    return closed(order, order.closeReason ?? 'admin', now, outcome);
  const { channelNo, amount: received, at } = outcome;
  const listed: Raised = {
    kind: 'amount_mismatch',
    dedupe: channelNo,
    received,
    detail: { channelNo, at },
    blocksRefunds: true,
  };
  return {
    ...STAY,
    order: {
      nextCheckAt: null,
      leasedUntil: null,
      checkedAt: now,
      ...(order.channelTradeNo === null ? { channelTradeNo: channelNo } : {}),
    },
    raise: facts.mismatch === 'new' ? [listed] : [],
  };
}
