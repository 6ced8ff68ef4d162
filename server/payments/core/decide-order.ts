import type { OrderRow } from '../../db/entities/orders.ts';
import type { Money } from '../money.ts';
import type { Change, Refusal } from './change.ts';
import { type Heard, missingFact, type OrderFacts } from './facts.ts';
import { hearOrder } from './hear-order.ts';
import { isOpen } from './moves.ts';
import { isOrderOverdue } from './plan.ts';
import { afterCapture } from './wish-capture.ts';
import { type OrderWish, wishOrder } from './wish-order.ts';

/** What an outcome does to an order. */
export function decideOrder(order: OrderRow, facts: OrderFacts, heard: Heard, now: Date): Change;
/** What a wish does to an order. */
export function decideOrder(order: OrderRow, facts: OrderFacts, wish: OrderWish, now: Date): Change | Refusal;
export function decideOrder(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish, now: Date): Change | Refusal;
/** What an outcome or a wish does to an order: the same answer for the same rows, facts and time. */
export function decideOrder(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish, now: Date): Change | Refusal {
  const decided = 'wish' in input ? wishOrder(order, facts, input, now) : hearOrder(order, facts, input, now);
  return 'refuse' in decided ? decided : withHeld(order, withOverdue(order, decided, now), input);
}

/** A payment that waits for the merchant is listed for as long as it waits. */
function withHeld(order: OrderRow, change: Change, input: Heard | OrderWish): Change {
  const { orderNo } = order;
  const after = { ...order, ...change.order };
  const waits = after.captureState === 'pending' && isOpen(after.state);
  if (order.captureState === 'pending' && !waits) {
    const where = { orderNo, kind: 'capture_held' } as const;
    return { ...change, resolve: [...(change.resolve ?? []), { where, resolution: 'ended', by: 'service' }] };
  }
  const isKnown = order.captureState === 'pending' && order.captureReason === after.captureReason;
  const said = 'outcome' in input && 'waitsFor' in input.outcome ? input.outcome.waitsFor : undefined;
  if (!waits || isKnown || said !== 'merchant') return change;
  const reason = after.captureReason ?? '';
  return { ...change, raise: [...(change.raise ?? []), { kind: 'capture_held', dedupe: reason, detail: { reason } }] };
}

/** Silence is listed: an order that should long be over waits for a person too, until it is over. */
function withOverdue(order: OrderRow, change: Change, now: Date): Change {
  const { orderNo, state } = order;
  if (!isOpen(state)) return change;
  const isOver = change.order !== undefined && 'state' in change.order && !isOpen(change.order.state ?? state);
  if (isOver) {
    const overdue = { where: { orderNo, kind: 'order_overdue' }, resolution: 'ended', by: 'service' } as const;
    return { ...change, resolve: [...(change.resolve ?? []), overdue] };
  }
  if (!isOrderOverdue(order, now)) return change;
  const listed = { kind: 'order_overdue', dedupe: 'once', detail: { state }, again: true } as const;
  return { ...change, raise: [...(change.raise ?? []), listed] };
}

/** The next fact that the decision needs; undefined when it can be made. */
export function orderNeeds(order: OrderRow, facts: OrderFacts, input: Heard | OrderWish): keyof OrderFacts | undefined {
  const named = paymentNamed(input);
  if (named !== null && named !== order.channelTradeNo && facts.owner === undefined) return 'owner';
  if (facts.owner) return undefined;
  if (!('wish' in input)) return missingFact(order, facts, input);
  if (input.wish === 'accept') return acceptNeeds(order, facts, input.received);
  if (input.wish !== 'settle_capture') return undefined;
  return missingFact(order, facts, { outcome: afterCapture(input.outcome), cause: 'capture' });
}

/** The channel's number of the payment that a message, an answer or a wish takes for the order's; null = it names none. */
export function paymentNamed(input: Heard | OrderWish): string | null {
  if (!('outcome' in input)) return 'paymentNo' in input ? input.paymentNo : null;
  const { outcome } = input;
  if ('channelNo' in outcome) return outcome.channelNo;
  return 'returned' in outcome ? (outcome.returned?.channelNo ?? null) : null;
}

/** What has ended has given its piece of the product back. */
function acceptNeeds(
  { state, paid, currency }: OrderRow,
  { sibling, readmitted }: OrderFacts,
  received: Money,
): keyof OrderFacts | undefined {
  if (sibling === undefined) return 'sibling';
  const canBe = !sibling && paid === 0n && received.currency === currency;
  return canBe && !isOpen(state) && readmitted === undefined ? 'readmitted' : undefined;
}
