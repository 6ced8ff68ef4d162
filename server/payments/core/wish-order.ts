import type { OrderRow } from '../../db/entities/orders.ts';
import type { CloseOutcome, Outcome, Returned } from '../channel.ts';
import type { Money } from '../money.ts';
import type { CloseReason } from '../order.ts';
import { type Change, type Raised, type Refusal, STAY } from './change.ts';
import { closed } from './end-order.ts';
import type { OrderFacts } from './facts.ts';
import { cameAndWent, ofAnother, refundByClose } from './money-came.ts';
import { isOpen, takesMoney } from './moves.ts';
import { newRefund, type RefundIntent } from './open-refund.ts';
import { isGone, isOrderOverdue, later, nextOrderCheck, soon } from './plan.ts';
import { approvedAgain, claimCapture, forgetCapture, settleCapture } from './wish-capture.ts';
import { afterReverse, claimReverse } from './wish-reverse.ts';

/** A channel that says nothing about an ended order is asked again and again for this long after its end. */
const PATIENCE_SECONDS = 4 * 86_400;

/** What somebody wants of an order, or what a call that was not a question brought. */
export type OrderWish =
  /** The intent to close, committed before the channel is asked. */
  | { readonly wish: 'close'; readonly reason: CloseReason }
  /** The intent to send a close that gives back what was paid. */
  | { readonly wish: 'reverse' }
  /** What the channel answered to the close; `reverse`: the end of the lease under which it was sent. */
  | { readonly wish: 'settle_close'; readonly outcome: CloseOutcome; readonly reverse?: Date | undefined }
  /** The channel's expiry is past and it knows nothing, twice. */
  | { readonly wish: 'give_up' }
  /** The caller is told `closing`: from here on money is late. */
  | { readonly wish: 'answer_closing' }
  /** The create is sent again. */
  | { readonly wish: 'send_again' }
  /** The intent to take approved money. */
  | { readonly wish: 'capture' }
  /** The payer, or the shop for the payer, says that the payer has agreed at the channel once more: after the refusal of this time, if any. */
  | { readonly wish: 'approved_again'; readonly refusedAt: Date | null }
  /** What the channel answered to the capture of this number. */
  | { readonly wish: 'settle_capture'; readonly captures: number; readonly outcome: Outcome }
  /** The channel was asked and shows no capture of this number. */
  | { readonly wish: 'forget_capture'; readonly captures: number }
  /** The next look for late money; `dueAt` as it was when the channel was asked, `silent` when it said nothing. */
  | { readonly wish: 'plan_late_check'; readonly dueAt: Date | null; readonly silent: boolean }
  /** Somebody claims something that the channel did not confirm: it is asked again soon. */
  | { readonly wish: 'check_soon' }
  /** Nothing is due any more. */
  | { readonly wish: 'rest' }
  /** A person ends an order that should long be over, without the channel's word; money that comes later is late. */
  | { readonly wish: 'abandon' }
  /** A person takes money of another amount as the payment. */
  | { readonly wish: 'accept'; readonly received: Money; readonly paymentNo: string }
  /** A person gives money back that is not the order's: of another amount, or of a second payment. */
  | {
      readonly wish: 'give_back';
      readonly received: Money;
      readonly paymentNo: string;
      readonly reason: string;
      readonly refundNo: string;
      readonly actor: string;
    };

type Wish<Name extends OrderWish['wish']> = Extract<OrderWish, { wish: Name }>;

/** What a wish does to an order. */
export function wishOrder(order: OrderRow, facts: OrderFacts, wish: OrderWish, now: Date): Change | Refusal {
  return WISHES[wish.wish](order, wish as never, now, facts);
}

type Grant<Name extends OrderWish['wish']> = (
  order: OrderRow,
  wish: Wish<Name>,
  now: Date,
  facts: OrderFacts,
) => Change | Refusal;

const WISHES: { readonly [Name in OrderWish['wish']]: Grant<Name> } = {
  close: beginClose,
  reverse: (order, _wish, now) => claimReverse(order, now),
  settle_close: settleClose,
  give_up: (order, _wish, now) =>
    order.state === 'closing' && isGone(order) ? closed(order, order.closeReason ?? 'expired', now) : STAY,
  answer_closing: ({ state, closeAnswered }) =>
    state === 'closing' && !closeAnswered ? { rule: null, order: { closeAnswered: true } } : STAY,
  send_again: (order, _wish, now) =>
    canSendAgain(order, now) ? { rule: null, order: { placeTries: order.placeTries + 1 } } : STAY,
  capture: (order, _wish, now) => claimCapture(order, now),
  approved_again: (order, { refusedAt }, now) => approvedAgain(order, refusedAt, now),
  settle_capture: settleCapture,
  forget_capture: (order, { captures }, now) => forgetCapture(order, captures, now),
  plan_late_check: planLateCheck,
  check_soon: checkSoon,
  rest: ({ state }) => (isOpen(state) ? STAY : { rule: null, order: { nextCheckAt: null, leasedUntil: null } }),
  abandon,
  accept,
  give_back: giveBack,
};

/** An explicit wish overrules an expiry. */
function beginClose(order: OrderRow, { reason }: Wish<'close'>, now: Date): Change {
  const closeAsked = reason !== 'expired' || order.closeAsked;
  if (order.state === 'closing')
    return closeAsked && !order.closeAsked ? { rule: null, order: { closeAsked, closeReason: reason } } : STAY;
  if (!takesMoney(order.state)) return STAY;
  return {
    rule: 'O6',
    order: {
      state: 'closing',
      closeReason: reason,
      closeAsked,
      checks: 0,
      absentCount: 0,
      absentFirstAt: null,
      nextCheckAt: later(now, 5),
      leasedUntil: later(now, 10),
    },
  };
}

/** The channel's confirmation ends it; everything else waits for its next question. */
function settleClose(
  order: OrderRow,
  { outcome, reverse }: Wish<'settle_close'>,
  now: Date,
  { owner }: OrderFacts,
): Change {
  const returned = outcome.kind === 'closed' ? outcome.returned : undefined;
  const raise = owner && returned ? [returnedOfAnother(order, owner, returned)] : [];
  if (returned && raise.length === 0) return settleReturned(order, returned, now);
  if (order.state !== 'closing') return { ...STAY, raise };
  if (outcome.kind === 'closed' && !returned && order.captureState === null)
    return closed(order, order.closeReason ?? 'merchant', now, outcome);
  const doubt = afterReverse(order, reverse, outcome.kind !== 'unknown', now);
  const nextCheckAt = nextOrderCheck(order, now);
  return { rule: null, order: { ...doubt, checks: order.checks + 1, nextCheckAt, leasedUntil: null }, raise };
}

/** A close that gave back the payment of another order: nothing came of this one, and nothing went back. */
function returnedOfAnother({ amount, currency }: OrderRow, owner: string, { channelNo, at }: Returned): Raised {
  return ofAnother(owner, { channelNo: channelNo ?? '', amount: { minor: amount, currency }, at });
}

/** The close gave back a payment: one that nobody had heard of, or one that was told while the close was under way. */
function settleReturned(order: OrderRow, { channelNo, at }: Returned, now: Date): Change {
  const { currency } = order;
  if (order.paid === 0n && order.state !== 'paid') {
    const amount = { minor: order.amount, currency };
    const outcome = { kind: 'paid', channelNo, amount, at } as const;
    return takesMoney(order.state) ? STAY : cameAndWent({ order, outcome, now });
  }
  const minor = order.paid - order.refunded - order.refunding;
  if (minor <= 0n) return STAY;
  return { rule: null, open: refundByClose(order, { kind: 'succeeded', amount: { minor, currency }, at }, now) };
}

/** Whether the payer has something to pay with: what the channel handed out may die before the order does. */
export function hasCredential({ credential, credentialUntil }: OrderRow, now: Date): boolean {
  return credential !== null && (credentialUntil === null || credentialUntil > now);
}

/** Only while nothing payable came of the create, or it has died, and the order may still be paid. */
export function canSendAgain(order: OrderRow, now: Date): boolean {
  const { state, expiresAt } = order;
  return (state === 'created' || (state === 'pending' && !hasCredential(order, now))) && expiresAt > now;
}

/** Whether what the payer had can be renewed by the same create; an order that never had anything is sent again by its caller alone. */
export function canRenew(order: OrderRow, now: Date): boolean {
  return order.state === 'pending' && order.credential !== null && canSendAgain(order, now);
}

/** Silence is no answer: the step is asked again hourly, for a while. What somebody else planned meanwhile stays. */
function planLateCheck(order: OrderRow, { dueAt, silent }: Wish<'plan_late_check'>, now: Date): Change {
  const isMine = order.nextCheckAt?.getTime() === dueAt?.getTime() && order.paid === 0n;
  // Whoever looks before the time (a hint) uses nothing up.
  const isDue = dueAt !== null && dueAt <= now;
  if (isOpen(order.state) || order.state === 'paid' || !isMine || !isDue) return STAY;
  const waits = silent && now < later(order.closedAt ?? order.createdAt, PATIENCE_SECONDS);
  const checks = order.checks + (waits ? 0 : 1);
  const nextCheckAt = waits ? later(now, 3600) : nextOrderCheck({ ...order, checks }, now);
  return { rule: null, order: { checks, leasedUntil: null, nextCheckAt } };
}

function abandon(order: OrderRow, _wish: Wish<'abandon'>, now: Date): Change | Refusal {
  if (!isOpen(order.state)) return STAY;
  // A payment that waits for the merchant itself comes to no end by waiting.
  if (!isOrderOverdue(order, now) && order.captureState !== 'pending')
    return refused('invalid_action', 'The channel may still close or pay this order.');
  return closed(order, order.closeReason ?? 'admin', now);
}

function checkSoon(order: OrderRow, _wish: Wish<'check_soon'>, now: Date): Change {
  const patch = soon(order, now);
  return patch.nextCheckAt ? { rule: null, order: patch } : STAY;
}

function accept(
  order: OrderRow,
  { received }: Wish<'accept'>,
  now: Date,
  { owner, sibling, readmitted }: OrderFacts,
): Change | Refusal {
  if (owner) return refusedAsAnothers(owner);
  if (received.currency !== order.currency)
    return refused('invalid_action', 'A payment in another currency can only be refunded.');
  if (order.state === 'paid' || order.paid > 0n)
    return refused('order_already_paid', 'The order has already been paid.');
  if (sibling) return refused('order_already_paid', 'Another order with this merchantOrderNo is open or paid.');
  if (!isOpen(order.state) && readmitted !== true)
    return refused('invalid_action', 'The product is sold out. Refund the payment instead.');
  return {
    rule: 'O10',
    order: { state: 'paid', paid: received.minor, paidAt: now, credential: null, nextCheckAt: null },
    tell: [{ type: 'order.paid' }],
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

function giveBack(order: OrderRow, asked: Wish<'give_back'>, now: Date, { owner }: OrderFacts): Change | Refusal {
  if (owner) return refusedAsAnothers(owner);
  const { received, paymentNo, reason, refundNo, actor } = asked;
  const intent: RefundIntent = {
    refundNo,
    paymentNo,
    reason,
    actor,
    amount: received.minor,
    currency: received.currency,
    origin: 'surplus',
    surplus: true,
    merchantRefundNo: null,
    cause: 'resolve',
    dueAt: now,
    sentByCaller: true,
  };
  const asksAgain = isOpen(order.state) ? { order: { nextCheckAt: now } } : {};
  return { rule: null, ...asksAgain, open: newRefund(order, intent, now) };
}

/** It would be taken, or given back, twice. */
function refusedAsAnothers(owner: string): Refusal {
  return refused(
    'invalid_action',
    `The payment is that of the order ${owner}; the exception can only be acknowledged.`,
  );
}

function refused(code: 'invalid_action' | 'order_already_paid', message: string): Refusal {
  return { refuse: { code, message } };
}
