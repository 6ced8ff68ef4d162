import type { OrderRow } from '../../db/entities/orders.ts';
import type { CloseReason } from '../../domain.ts';
import type { CloseOutcome, Outcome, Returned } from '../channel.ts';
import type { Money } from '../../money.ts';
import { type Change, type Raised, type Refusal, STAY, hasCredential, isOpen, takesMoney } from './transitions.ts';
import { type OrderReport, type OrderFacts, type OutcomeOf, missingFact } from './facts.ts';
import {
  afterReverse,
  autoRefunded,
  claimReverse,
  applyOrderOutcome,
  ofAnother,
  refundByClose,
} from './apply-order-outcome.ts';
import { type RefundIntent, newRefund } from './open-refund.ts';
import { closed, isDoubtful, isGone, isOrderOverdue, later, mayTakeApproved, nextOrderCheck, soon } from './plan.ts';

/** How long (seconds) a capture call may run. After this time the channel is queried before another attempt. */
const CAPTURE_LEASE_SECONDS = 30;

/** How often the payer may choose another payment method after a refused capture. */
export const MOST_APPROVALS_ASKED = 3;

/** Whether an approved payment may be captured now. */
export function canCapture(order: OrderRow, now: Date): boolean {
  const { state, closeAsked, captureState, channelOrderId } = order;
  const isFree = takesMoney(state) && !closeAsked && captureState === null && channelOrderId !== null;
  return isFree && mayTakeApproved(order, now);
}

function claimCapture(order: OrderRow, now: Date): Change {
  if (!canCapture(order, now)) return STAY;
  return {
    rule: null,
    order: {
      captures: order.captures + 1,
      captureState: 'live',
      captureReason: null,
      captureLeasedUntil: later(now, CAPTURE_LEASE_SECONDS),
      nextCheckAt: later(now, CAPTURE_LEASE_SECONDS + 1),
    },
  };
}

/** Deletes the record of a capture that the channel does not know, so that a new capture can start. */
function forgetCapture(order: OrderRow, captures: number, now: Date): Change {
  if (order.captures !== captures || !isDoubtful(order, now)) return STAY;
  return { rule: null, order: { captureState: null, captureLeasedUntil: null, nextCheckAt: now } };
}

/**
 * `refusedAt`: the time of the last refusal that the caller knew. If the stored refusal is later, the channel has
 * already refused this approval too, so nothing changes.
 */
function approvedAgain(order: OrderRow, refusedAt: Date | null, now: Date): Change {
  const { state, approvalAskedAt } = order;
  if (!takesMoney(state) || approvalAskedAt === null || approvalAskedAt.getTime() !== refusedAt?.getTime()) return STAY;
  return { rule: null, order: { approvalAskedAt: null, nextCheckAt: now } };
}

/** Stores the answer to a capture. After an uncertain answer `captureState` is `unknown`. */
function settleCapture(
  order: OrderRow,
  { captures, outcome }: { readonly captures: number; readonly outcome: Outcome },
  now: Date,
  facts: OrderFacts,
): Change {
  // An answer to an earlier attempt is ignored, unless it reports a payment.
  if (order.captures !== captures && outcome.kind !== 'paid') return STAY;
  const report = { outcome: afterCapture(outcome), cause: 'capture' };
  if (!isOpen(order.state)) return applyOrderOutcome(order, facts, report, now);
  if (outcome.kind === 'declined' && outcome.left) return refusedCapture(order, outcome, now);
  const isDoubt = outcome.kind === 'unknown' || (outcome.kind === 'declined' && !outcome.definite);
  const isReview = outcome.kind === 'pending' && outcome.capturePending !== undefined;
  const patch = {
    captureState: isReview ? ('pending' as const) : isDoubt ? ('unknown' as const) : null,
    captureLeasedUntil: null,
    nextCheckAt: later(now, 5),
  };
  const change = applyOrderOutcome({ ...order, ...patch }, facts, report, now);
  return { ...change, order: { ...patch, ...change.order } } as Change;
}

/**
 * Handles a definite refusal of a capture: the channel captured nothing. The payer may choose another payment method a
 * few times, if the channel allows it; otherwise the order ends.
 */
function refusedCapture(order: OrderRow, outcome: OutcomeOf<'declined'>, now: Date): Change {
  const over = { captureState: null, captureLeasedUntil: null, captureReason: outcome.code.slice(0, 128) };
  // A close was requested, so the payer is not offered another payment method.
  if (order.state === 'closing') return { rule: null, order: { ...over, nextCheckAt: now, leasedUntil: null } };
  if (outcome.left === 'payer' && order.approvalsAsked < MOST_APPROVALS_ASKED) {
    const patch = { ...over, approvalsAsked: order.approvalsAsked + 1, approvalAskedAt: now, checkedAt: now };
    return {
      rule: null,
      order: { ...patch, leasedUntil: null, nextCheckAt: nextOrderCheck({ ...order, ...patch }, now) },
      emit: [{ type: 'order.payer_action_required', dedupe: String(patch.approvalsAsked) }],
    };
  }
  const change = closed(order, 'channel', now, outcome);
  const failure = { failureCode: outcome.code.slice(0, 128), failureMessage: outcome.reason };
  return { ...change, order: { ...change.order, ...over, ...failure } } as Change;
}

/** `approved` becomes `pending`, because nothing was captured. */
function afterCapture(outcome: Outcome): Outcome {
  return outcome.kind === 'approved' ? { kind: 'pending' } : outcome;
}

/** If the channel does not answer, the service queries an order for up to this long after the order ended. */
const PATIENCE_SECONDS = 4 * 86_400;

export type OrderCommand =
  | { readonly command: 'close'; readonly reason: CloseReason }
  /** Records the start of a close call that may return a payment. */
  | { readonly command: 'reverse' }
  /** `reverse`: for a close that may return a payment, the end of the lease under which it was sent. */
  | { readonly command: 'settle_close'; readonly outcome: CloseOutcome; readonly reverse?: Date | undefined }
  /** The channel reported "not found" twice after its own expiry of the order. */
  | { readonly command: 'give_up' }
  /** The caller is about to receive `closing`, so a later payment is a late payment. */
  | { readonly command: 'answer_closing' }
  | { readonly command: 'send_again' }
  | { readonly command: 'capture' }
  /** `refusedAt`: the latest refused capture that the caller had read; null = none. */
  | { readonly command: 'approved_again'; readonly refusedAt: Date | null }
  /** The channel's answer to the capture attempt with the number `captures`. */
  | { readonly command: 'settle_capture'; readonly captures: number; readonly outcome: Outcome }
  /** A query shows that the channel does not have the capture attempt with the number `captures`. */
  | { readonly command: 'forget_capture'; readonly captures: number }
  /** `dueAt`: the due time before this query; `silent`: the channel did not answer. */
  | { readonly command: 'plan_late_check'; readonly dueAt: Date | null; readonly silent: boolean }
  /** A notification of a payment was not confirmed, so the channel is queried again soon. */
  | { readonly command: 'check_soon' }
  | { readonly command: 'rest' }
  /** An administrator ends an overdue order without the channel's confirmation; a later payment is a late payment. */
  | { readonly command: 'abandon' }
  /** An administrator accepts a payment whose amount differs from the order. */
  | { readonly command: 'accept'; readonly received: Money; readonly paymentNo: string }
  /** An administrator refunds a second payment, or a payment whose amount differs from the order. */
  | {
      readonly command: 'refund_payment';
      readonly received: Money;
      readonly paymentNo: string;
      readonly reason: string;
      readonly refundNo: string;
      readonly actor: string;
    };

type Command<Name extends OrderCommand['command']> = Extract<OrderCommand, { command: Name }>;

function runOrderCommand(order: OrderRow, facts: OrderFacts, command: OrderCommand, now: Date): Change | Refusal {
  return COMMANDS[command.command](order, command as never, now, facts);
}

type DecideCommand<Name extends OrderCommand['command']> = (
  order: OrderRow,
  command: Command<Name>,
  now: Date,
  facts: OrderFacts,
) => Change | Refusal;

const COMMANDS: { readonly [Name in OrderCommand['command']]: DecideCommand<Name> } = {
  close: beginClose,
  reverse: (order, _command, now) => claimReverse(order, now),
  settle_close: settleClose,
  give_up: (order, _command, now) =>
    order.state === 'closing' && isGone(order) ? closed(order, order.closeReason ?? 'expired', now) : STAY,
  answer_closing: ({ state, closeAnswered }) =>
    state === 'closing' && !closeAnswered ? { rule: null, order: { closeAnswered: true } } : STAY,
  send_again: (order, _command, now) =>
    canSendAgain(order, now) ? { rule: null, order: { placeTries: order.placeTries + 1 } } : STAY,
  capture: (order, _command, now) => claimCapture(order, now),
  approved_again: (order, { refusedAt }, now) => approvedAgain(order, refusedAt, now),
  settle_capture: settleCapture,
  forget_capture: (order, { captures }, now) => forgetCapture(order, captures, now),
  plan_late_check: planLateCheck,
  check_soon: checkSoon,
  rest: ({ state }) => (isOpen(state) ? STAY : { rule: null, order: { nextCheckAt: null, leasedUntil: null } }),
  abandon,
  accept,
  refund_payment: refundReceivedPayment,
};

/**
 * Begins to close an order. If the close of an expired order is running and a caller asks for a close too, the caller's
 * reason replaces `expired`.
 */
function beginClose(order: OrderRow, { reason }: Command<'close'>, now: Date): Change {
  const closeAsked = reason !== 'expired' || order.closeAsked;
  if (order.state === 'closing')
    return closeAsked && !order.closeAsked ? { rule: null, order: { closeAsked, closeReason: reason } } : STAY;
  if (!takesMoney(order.state)) return STAY;
  return {
    rule: 'close_requested',
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

/** Stores the answer to a close. A confirmation ends the order; after any other answer the next query decides. */
function settleClose(
  order: OrderRow,
  { outcome, reverse }: Command<'settle_close'>,
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

/** The returned payment belongs to another order; the closed order itself has neither a payment nor a refund. */
function returnedOfAnother({ amount, currency }: OrderRow, owner: string, { channelNo, at }: Returned): Raised {
  return ofAnother(owner, { channelNo: channelNo ?? '', amount: { minor: amount, currency }, at });
}

/**
 * Handles a payment that a close returned to the payer. The service did not know the payment, or received its report
 * while the close was running.
 */
function settleReturned(order: OrderRow, { channelNo, at }: Returned, now: Date): Change {
  const { currency } = order;
  if (order.paid === 0n && order.state !== 'paid') {
    const amount = { minor: order.amount, currency };
    const outcome = { kind: 'paid', channelNo, amount, at } as const;
    return takesMoney(order.state) ? STAY : autoRefunded({ order, outcome, now });
  }
  const minor = order.paid - order.refunded - order.refunding;
  if (minor <= 0n) return STAY;
  return { rule: null, open: refundByClose(order, { kind: 'succeeded', amount: { minor, currency }, at }, now) };
}

/** Whether the create call may be repeated: there is no valid payment link, and the order may still be paid. */
export function canSendAgain(order: OrderRow, now: Date): boolean {
  const { state, expiresAt } = order;
  return (state === 'created' || (state === 'pending' && !hasCredential(order, now))) && expiresAt > now;
}

/**
 * Whether an expired payment link can be renewed by repeating the create call. If the order never had a link, this
 * service does not repeat the call by itself; only a repeated pay request does.
 */
export function canRenew(order: OrderRow, now: Date): boolean {
  return order.state === 'pending' && order.credential !== null && canSendAgain(order, now);
}

/**
 * Plans the next query for a payment that may arrive late. If the channel did not answer, the query is repeated every
 * hour for up to four days. If another process has changed the planned time, nothing changes.
 */
function planLateCheck(order: OrderRow, { dueAt, silent }: Command<'plan_late_check'>, now: Date): Change {
  const isMine = order.nextCheckAt?.getTime() === dueAt?.getTime() && order.paid === 0n;
  // A query before the planned time, for example after a notification, does not use up one of the planned queries.
  const isDue = dueAt !== null && dueAt <= now;
  if (isOpen(order.state) || order.state === 'paid' || !isMine || !isDue) return STAY;
  const waits = silent && now < later(order.closedAt ?? order.createdAt, PATIENCE_SECONDS);
  const checks = order.checks + (waits ? 0 : 1);
  const nextCheckAt = waits ? later(now, 3600) : nextOrderCheck({ ...order, checks }, now);
  return { rule: null, order: { checks, leasedUntil: null, nextCheckAt } };
}

function abandon(order: OrderRow, _command: Command<'abandon'>, now: Date): Change | Refusal {
  if (!isOpen(order.state)) return STAY;
  // An order that is not overdue can be closed only while its capture is pending: the channel may wait for the
  // merchant, and such a wait may never end.
  if (!isOrderOverdue(order, now) && order.captureState !== 'pending')
    return refused('invalid_action', 'The order is not overdue: the channel may still complete it. Query the order.');
  return closed(order, order.closeReason ?? 'admin', now);
}

function checkSoon(order: OrderRow, _command: Command<'check_soon'>, now: Date): Change {
  const patch = soon(order, now);
  return patch.nextCheckAt ? { rule: null, order: patch } : STAY;
}

function accept(
  order: OrderRow,
  { received }: Command<'accept'>,
  now: Date,
  { owner, sibling, readmitted }: OrderFacts,
): Change | Refusal {
  if (owner) return refusedAsAnothers(owner);
  if (received.currency !== order.currency)
    return refused('invalid_action', 'A payment in another currency can only be refunded.');
  if (order.state === 'paid' || order.paid > 0n)
    return refused('order_already_paid', 'The order has already been paid, so this payment can only be refunded.');
  if (sibling)
    return refused('order_already_paid', 'Another open or paid order has this merchantOrderNo. Refund the payment.');
  if (!isOpen(order.state) && readmitted !== true)
    return refused('invalid_action', 'The product is sold out. Refund the payment instead.');
  return {
    rule: 'payment_accepted',
    order: { state: 'paid', paid: received.minor, paidAt: now, credential: null, nextCheckAt: null },
    emit: [{ type: 'order.paid' }],
    effects: [{ name: 'paid', run: ['paid'] }],
  };
}

function refundReceivedPayment(
  order: OrderRow,
  requested: Command<'refund_payment'>,
  now: Date,
  { owner }: OrderFacts,
): Change | Refusal {
  if (owner) return refusedAsAnothers(owner);
  const { received, paymentNo, reason, refundNo, actor } = requested;
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

/** The payment belongs to another order (`owner`), so it would be taken or refunded twice. */
function refusedAsAnothers(owner: string): Refusal {
  return refused(
    'invalid_action',
    `The payment belongs to the order ${owner}; this exception can only be acknowledged.`,
  );
}

function refused(code: 'invalid_action' | 'order_already_paid', message: string): Refusal {
  return { refuse: { code, message } };
}

/** Decides how an outcome changes an order. */
export function decideOrder(order: OrderRow, facts: OrderFacts, report: OrderReport, now: Date): Change;
export function decideOrder(order: OrderRow, facts: OrderFacts, command: OrderCommand, now: Date): Change | Refusal;
export function decideOrder(
  order: OrderRow,
  facts: OrderFacts,
  input: OrderReport | OrderCommand,
  now: Date,
): Change | Refusal;
/** Decides how an outcome or a command changes an order. The same rows, facts and time always give the same result. */
export function decideOrder(
  order: OrderRow,
  facts: OrderFacts,
  input: OrderReport | OrderCommand,
  now: Date,
): Change | Refusal {
  const decided =
    'command' in input ? runOrderCommand(order, facts, input, now) : applyOrderOutcome(order, facts, input, now);
  return 'refuse' in decided ? decided : withHeld(order, withOverdue(order, decided, now), input);
}

/** Opens an exception for a payment that waits for the merchant; resolves it when the wait ends. */
function withHeld(order: OrderRow, change: Change, input: OrderReport | OrderCommand): Change {
  const { orderNo } = order;
  const after = { ...order, ...change.order };
  const waits = after.captureState === 'pending' && isOpen(after.state);
  if (order.captureState === 'pending' && !waits) {
    const where = { orderNo, kind: 'capture_held' } as const;
    return { ...change, resolve: [...(change.resolve ?? []), { where, resolution: 'ended', by: 'service' }] };
  }
  const isKnown = order.captureState === 'pending' && order.captureReason === after.captureReason;
  const answer = 'outcome' in input && 'waitsFor' in input.outcome ? input.outcome.waitsFor : undefined;
  if (!waits || isKnown || answer !== 'merchant') return change;
  const reason = after.captureReason ?? '';
  return { ...change, raise: [...(change.raise ?? []), { kind: 'capture_held', dedupe: reason, detail: { reason } }] };
}

/** Opens an exception for an overdue order; resolves it when the order ends. */
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

/**
 * Returns the name of the next fact (data beyond the order row) that the decision needs; undefined = all are loaded.
 */
export function orderNeeds(
  order: OrderRow,
  facts: OrderFacts,
  input: OrderReport | OrderCommand,
): keyof OrderFacts | undefined {
  const named = paymentNamed(input);
  if (named !== null && named !== order.channelTradeNo && facts.owner === undefined) return 'owner';
  if (facts.owner) return undefined;
  if (!('command' in input)) return missingFact(order, facts, input);
  if (input.command === 'accept') return acceptNeeds(order, facts, input.received);
  if (input.command !== 'settle_capture') return undefined;
  return missingFact(order, facts, { outcome: afterCapture(input.outcome), cause: 'capture' });
}

/** Returns the channel's id of the payment that an outcome or a command names for the order; null = none. */
export function paymentNamed(input: OrderReport | OrderCommand): string | null {
  if (!('outcome' in input)) return 'paymentNo' in input ? input.paymentNo : null;
  const { outcome } = input;
  if ('channelNo' in outcome) return outcome.channelNo;
  return 'returned' in outcome ? (outcome.returned?.channelNo ?? null) : null;
}

/** An ended order has released its stock, so stock must be reserved again before a payment is accepted. */
function acceptNeeds(
  { state, paid, currency }: OrderRow,
  { sibling, readmitted }: OrderFacts,
  received: Money,
): keyof OrderFacts | undefined {
  if (sibling === undefined) return 'sibling';
  const canBe = !sibling && paid === 0n && received.currency === currency;
  return canBe && !isOpen(state) && readmitted === undefined ? 'readmitted' : undefined;
}
