import type { OrderRow } from '../../db/entities/orders.ts';
import { type Change, type OrderMoved, type Raised, STAY } from './change.ts';
import { closed } from './end-order.ts';
import { type Hearing, isWelcomeLate, type Said } from './facts.ts';
import { isOpen } from './moves.ts';
import { newRefund } from './open-refund.ts';
import { unexplainedRefunds } from './unexplained.ts';

type Paid = Hearing<Said<'paid'>>;

/** What a paid order remembers of its payment. */
export function paidPatch(outcome: Said<'paid'>, order: OrderRow, now: Date): OrderMoved['order'] {
  return {
    state: 'paid',
    paid: outcome.amount.minor,
    paidAt: outcome.at,
    channelTradeNo: outcome.channelNo,
    channelOrderId: outcome.channelOrderId ?? order.channelOrderId,
    payer: outcome.payer?.slice(0, 256) ?? order.payer,
    credential: null,
    captureState: null,
    captureLeasedUntil: null,
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
  const wasClosing = order.state === 'closing';
  const late = {
    ...paidPatch(outcome, order, now),
    state: order.state === 'failed' ? ('failed' as const) : ('closed' as const),
    closedAt: order.closedAt ?? now,
    ...(wasClosing ? { closeReason: order.closeReason ?? ('merchant' as const) } : {}),
  };
  return {
    rule: 'O9',
    order: late,
    outcome,
    tell: [{ type: 'order.paid_late' }, ...(wasClosing ? [{ type: 'order.closed' as const }] : [])],
    raise: [{ kind: 'late_paid', dedupe: 'once', detail: { accepted: false } }, ...unexplainedRefunds(order, outcome)],
    effects: wasClosing ? [{ name: 'ended', run: ['ended'] }] : [],
    open: newRefund(
      { ...order, ...late, sequence: order.sequence + 1 },
      {
        refundNo: `R${order.orderNo}L`,
        amount: outcome.amount.minor,
        origin: 'late',
        reason: 'The order had ended before the payment arrived.',
        merchantRefundNo: null,
        actor: 'service',
        cause: 'late',
        dueAt: now,
      },
      now,
    ),
  };
}

/** The same success again; another payment of the same order, or a hint at refunds that nobody knows, is listed. */
export function againPaid({ order, outcome, now }: Paid): Change {
  const isOther = order.channelTradeNo !== null && outcome.channelNo !== order.channelTradeNo;
  const { channelNo: dedupe, amount: received } = outcome;
  const second: Raised[] = isOther ? [{ kind: 'double_paid', dedupe, received, detail: outcome }] : [];
  // What went back of the other payment is not of this order's sums.
  const raise = isOther ? second : unexplainedRefunds(order, outcome);
  return { rule: null, order: { checkedAt: now }, raise };
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
