import type { DisputeRow, RefundRow } from '../../db/entities/refunds.ts';
import type { EventRow } from '../../db/entities/events.ts';
import type { TransitionRow, OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { OrderState, RefundState } from '../../domain.ts';

/** The rows of one order in the database after one commit. The rules in this file are checked against these rows. */
export interface LedgerView {
  readonly order: OrderRow;
  readonly refunds: readonly RefundRow[];
  /** The history entries of the order, one for each state change, sorted by `sequence`. */
  readonly transitions: readonly TransitionRow[];
  readonly events: readonly Pick<EventRow, 'type' | 'objectNo'>[];
  readonly exceptions: readonly OrderExceptionRow[];
  readonly disputes: readonly DisputeRow[];
}

/** The channel's records of an order. All amounts are in minor units of the order's currency. */
export interface ChannelLedgerView {
  /** The amount that the payer paid; refunds are not subtracted. */
  readonly received: bigint;
  /** Refunds that succeeded at the channel. */
  readonly refunds: readonly ChannelLedgerRefund[];
}

interface ChannelLedgerRefund {
  /** The refund number under which the service sent the refund; null = the refund was made in the channel's portal. */
  readonly intent: string | null;
  readonly amount: bigint;
  /** Whether the refund succeeded and was reversed later, so that the merchant has the money again. */
  readonly reversed?: boolean;
}

/** A rule that stored data must always meet. `promise`: the rule as a sentence, for reports. */
interface Promised {
  readonly promise: string;
}

/** Checks one rule. Returns a description of the violation, or false if the rule is met. */
type Breach = (ledger: LedgerView) => string | false;

const RESERVED: readonly RefundState[] = ['pending', 'processing', 'abnormal'];
const ENDED: readonly OrderState[] = ['paid', 'closed', 'failed'];
const OVERRUNS = ['refund_overrun', 'refund_elsewhere'];
const ENDED_BY_PERSON = ['released', 'failed_at_channel'];
const PAYMENTS = ['order.paid', 'order.paid_late'];

/**
 * Rules that every order meets after every commit. Tests check them in every state that they reach. `payctl audit`
 * checks them in a database, each with one SQL statement (db/queries/ledger-check.ts).
 */
export const ORDER_INVARIANTS = {
  refunded: {
    promise: 'the refunded amount of an order equals the sum of its succeeded refunds',
    breach: ({ order, refunds }) =>
      order.refunded !== sumOf(refunds, ['succeeded']) &&
      `order ${order.refunded}, refunds ${sumOf(refunds, ['succeeded'])}`,
  },
  refunding: {
    promise: 'the refunding amount of an order equals the sum of its refunds in progress',
    breach: ({ order, refunds }) =>
      order.refunding !== sumOf(refunds, RESERVED) && `order ${order.refunding}, refunds ${sumOf(refunds, RESERVED)}`,
  },
  overrun: {
    promise: 'refunds do not exceed the payment, unless an exception is recorded',
    breach: ({ order: { paid, refunded, refunding }, exceptions }) =>
      refunded + refunding > paid &&
      !exceptions.some(({ kind }) => OVERRUNS.includes(kind)) &&
      `paid ${paid}, refunded or refunding ${refunded + refunding}`,
  },
  paid: {
    promise: 'a paid order has its paid amount and a channel transaction number',
    breach: ({ order, exceptions }) => {
      const { state, paid, amount, channelTradeNo, paidAt } = order;
      if (state !== 'paid') return false;
      const isWhole = paid === amount || exceptions.some(({ kind }) => kind === 'amount_mismatch');
      const isComplete = channelTradeNo !== null && paidAt !== null && isWhole;
      return !isComplete && `paid ${paid} of ${amount}, channel number ${channelTradeNo ?? 'none'}`;
    },
  },
  unpaid: {
    promise: 'only orders that were paid, in time or late, have a paid amount',
    breach: ({ order: { state, paid } }) => paid > 0n && !ENDED.includes(state) && `${state} with ${paid}`,
  },
  'order-history': {
    promise: 'the last history entry of an order matches its state',
    breach: ({ order, transitions }) => {
      const last = transitions.findLast(({ refundNo }) => refundNo === null)?.toState;
      return last !== order.state && `state ${order.state}, history ${last ?? 'nothing'}`;
    },
  },
  'refund-history': {
    promise: 'the last history entry of a refund matches its state',
    breach: ({ refunds, transitions }) =>
      ofEach(refunds, ({ refundNo, state }) => {
        const last = transitions.findLast((one) => one.refundNo === refundNo)?.toState;
        return last !== state && `${refundNo}: state ${state}, history ${last ?? 'nothing'}`;
      }),
  },
  disputes: {
    promise: 'the amount lost in a dispute is a refund of its order, counted once',
    breach: ({ disputes, refunds }) =>
      ofEach(disputes, ({ disputeNo, refundNo, amountLost }) => {
        if (amountLost === 0n) return false;
        const refund = refunds.find((one) => one.refundNo === refundNo);
        const isCountedTwice = disputes.some((one) => one.refundNo === refundNo && one.disputeNo !== disputeNo);
        const isRight = refund?.amount === amountLost && !isCountedTwice;
        return !isRight && `${disputeNo}: lost ${amountLost}, refund ${refundNo ?? 'none'}`;
      }),
  },
  sequence: {
    promise: 'no history entry is missing',
    breach: ({ order: { sequence }, transitions }) =>
      (transitions.length !== sequence || transitions.some((one, at) => one.sequence !== at + 1)) &&
      `${transitions.length} entries, sequence ${sequence}`,
  },
  'order-events': {
    promise: 'every payment has exactly one event',
    breach: ({ order, events }) => {
      const count = events.filter(({ type, objectNo }) => objectNo === order.orderNo && PAYMENTS.includes(type)).length;
      return order.paid > 0n && count !== 1 && `${count} events`;
    },
  },
  'refund-events': {
    promise: 'every succeeded refund has an event',
    breach: ({ refunds, events }) =>
      ofEach(refunds, ({ refundNo, state }) => {
        const hasEvent = events.some(({ type, objectNo }) => type === 'refund.succeeded' && objectNo === refundNo);
        return state === 'succeeded' && !hasEvent && `${refundNo}: no event`;
      }),
  },
  'closed-events': {
    promise: 'every closed order has an event',
    breach: ({ order: { state, orderNo }, events }) =>
      state === 'closed' &&
      !events.some(({ type, objectNo }) => type === 'order.closed' && objectNo === orderNo) &&
      'no event',
  },
  due: {
    promise: 'every order or refund that is not final is scheduled or has an open exception',
    breach: ({ order, refunds, exceptions }) => {
      if (exceptions.some(({ state }) => state === 'open')) return false;
      if (!ENDED.includes(order.state) && order.nextCheckAt === null) return `${order.state}, not scheduled`;
      return ofEach(
        refunds,
        ({ refundNo, state, nextCheckAt }) =>
          RESERVED.includes(state) && nextCheckAt === null && `${refundNo}: ${state}, not scheduled`,
      );
    },
  },
} as const satisfies Readonly<Record<string, Promised & { breach: Breach }>>;

/** Rules for the payers' accounts of coins (a virtual currency). Only `payctl audit` checks them. */
const COIN_INVARIANTS = {
  coins: { promise: 'every balance equals the sum of its ledger entries' },
} as const satisfies Readonly<Record<string, Promised>>;

/** Rules about the channels' bills (daily statements of payments). Only `payctl audit` checks them. */
const BILL_INVARIANTS = {
  bills: { promise: "the channels' bills that were read in the last five weeks agree" },
} as const satisfies Readonly<Record<string, Promised>>;

export const INVARIANTS = { ...ORDER_INVARIANTS, ...COIN_INVARIANTS, ...BILL_INVARIANTS } as const;

export const STEP_INVARIANTS = {
  kept: {
    promise: 'an order is never removed while it can still have money',
    breach: (before: OrderRow, after: OrderRow | undefined) => after === undefined && `${before.orderNo} was removed`,
  },
  absorbing: {
    promise: 'paid stays paid',
    breach: (before: OrderRow, after: OrderRow | undefined) =>
      before.state === 'paid' && after !== undefined && after.state !== 'paid' && `was paid, and is ${after.state}`,
  },
  growing: {
    promise: 'the paid amount of an order never decreases',
    breach: (before: OrderRow, after: OrderRow | undefined) =>
      after !== undefined && after.paid < before.paid && `had ${before.paid}, and has ${after.paid}`,
  },
} as const;

/** Invariants that compare the service's rows with the channel's records. They hold at any time. */
export const CHANNEL_INVARIANTS = {
  'money-came': {
    promise: 'an order has a paid amount only if the channel has a payment',
    breach: ({ order }: LedgerView, { received }: ChannelLedgerView) =>
      order.paid > 0n && received === 0n && 'the channel has no payment',
  },
  'refund-happened': {
    promise: 'a refund has succeeded only if the channel made it',
    breach: ({ refunds }: LedgerView, channel: ChannelLedgerView) =>
      ofEach(refunds, ({ refundNo, state, elsewhere }) => {
        const isThere = channel.refunds.some(({ intent }) => intent === null || intent === refundNo);
        return state === 'succeeded' && !elsewhere && !isThere && `${refundNo} succeeded only here`;
      }),
  },
  once: {
    promise: 'the channel makes each refund at most once',
    breach: (_book: LedgerView, channel: ChannelLedgerView) => {
      const counts = Map.groupBy(kept(channel), ({ intent }) => intent);
      const twice = [...counts].find(([intent, all]) => intent !== null && all.length > 1);
      return twice !== undefined && `${twice[0]} happened ${twice[1].length} times`;
    },
  },
  'money-out': {
    promise: 'the channel refunds no more than the payer paid',
    breach: (_book: LedgerView, channel: ChannelLedgerView) =>
      sum(kept(channel)) > channel.received && `${sum(kept(channel))} of ${channel.received} refunded`,
  },
} as const;

/** Rules for an order that has no due work and no open exception (a case for an operator). */
export const END_INVARIANTS = {
  ended: {
    promise: 'every order and refund reaches a final state',
    breach: ({ order, refunds }: LedgerView) =>
      (!ENDED.includes(order.state) || refunds.some(({ state }) => RESERVED.includes(state))) &&
      'is open, and nothing is due',
  },
  'same-money': {
    promise: "the paid amount is the channel's, except money that an administrator left at the channel",
    breach: (ledger: LedgerView, channel: ChannelLedgerView) => {
      const { paid } = ledger.order;
      const { received } = channel;
      // An unpaid order may have a payment at the channel that was refunded in full.
      const isNothingLeft =
        paid === 0n && received === sum(kept(channel)) + givenElsewhere(ledger.refunds) + leftThere(ledger);
      return paid !== received && !isNothingLeft && `has ${paid}, the channel ${received}`;
    },
  },
  'same-refunds': {
    promise: "the refunded amount is the channel's",
    breach: ({ order: { paid, refunded }, refunds }: LedgerView, channel: ChannelLedgerView) => {
      const succeeded = refunds.filter(({ state }) => state === 'succeeded');
      const surplus = sum(succeeded.filter((one) => one.surplus));
      const went = sum(kept(channel));
      const isSame = refunded + surplus - givenElsewhere(refunds) === went;
      return paid > 0n && !isSame && `refunded ${refunded + surplus}, the channel ${went}`;
    },
  },
} as const;

export interface Broken {
  readonly name: string;
  readonly promise: string;
  readonly detail: string;
}

/** Returns the invariants that the values (`facts`) violate. */
export function brokenOf<Facts extends readonly unknown[]>(
  invariants: Readonly<Record<string, Promised & { breach: (...facts: Facts) => string | false }>>,
  ...facts: Facts
): Broken[] {
  const broken: Broken[] = [];
  for (const name in invariants) {
    const { promise, breach } = invariants[name]!;
    const detail = breach(...facts);
    if (detail !== false) broken.push({ name, promise, detail });
  }
  return broken;
}

/** The facts that the responses of the service gave a caller about an order. */
export interface Reported {
  readonly paid: boolean;
  readonly closed: boolean;
  readonly refunds: readonly string[];
}

/**
 * Rules that compare an order with the responses that a caller received about the order. They hold when the order has
 * no due work and no open exception (a case for an operator).
 */
export const ANSWER_INVARIANTS = {
  'reported-paid': {
    promise: 'an order that was reported as paid has a paid amount',
    breach: ({ order }: LedgerView, reported: Reported) => reported.paid && order.paid === 0n && 'was reported as paid',
  },
  'reported-closed': {
    promise:
      'an order that was reported as closed keeps no money, except money that an administrator left at the channel',
    breach: (ledger: LedgerView, reported: Reported, channel: ChannelLedgerView) => {
      const isEmpty = channel.received === sum(kept(channel)) + givenElsewhere(ledger.refunds) + leftThere(ledger);
      return reported.closed && (ledger.order.state !== 'closed' || !isEmpty) && 'was reported as closed';
    },
  },
  'reported-refund': {
    promise: 'a refund in a response exists',
    breach: ({ refunds }: LedgerView, reported: Reported) =>
      ofEach(
        reported.refunds,
        (number) => !refunds.some(({ refundNo }) => refundNo === number) && `${number} does not exist`,
      ),
  },
} as const;

/**
 * The amount of payments that the merchant kept although a refund was due: the refund failed, and an administrator
 * ended the refund or acknowledged its exception. Only late payments and surplus payments (which the order's sums do
 * not include) count.
 */
function leftThere({ refunds, exceptions }: LedgerView): bigint {
  const isKnown = ({ refundNo }: RefundRow) =>
    exceptions.some((one) => one.refundNo === refundNo && one.resolution === 'acknowledge');
  const isLeft = ({ failureCode }: RefundRow) => ENDED_BY_PERSON.includes(failureCode ?? '');
  const owed = refunds.filter(({ surplus, origin, state }) => (surplus || origin === 'late') && state === 'failed');
  return sum(owed.filter((one) => isLeft(one) || isKnown(one)));
}

function kept({ refunds }: ChannelLedgerView): readonly ChannelLedgerRefund[] {
  return refunds.filter(({ reversed }) => !reversed);
}

/**
 * The amount that administrators returned to payers outside the channel. A refund that was made outside this service
 * counts only if it has a failure code. Such a refund was reversed, and an administrator then paid the money again.
 */
function givenElsewhere(refunds: readonly RefundRow[]): bigint {
  const isByPerson = ({ origin, failureCode }: RefundRow) =>
    (origin !== 'channel' && origin !== 'dispute') || failureCode !== null;
  return sum(refunds.filter((one) => one.state === 'succeeded' && one.elsewhere && isByPerson(one)));
}

function sumOf(refunds: readonly RefundRow[], states: readonly RefundState[]): bigint {
  return sum(refunds.filter(({ state, surplus }) => !surplus && states.includes(state)));
}

function sum(all: readonly { amount: bigint }[]): bigint {
  return all.reduce((total, { amount }) => total + amount, 0n);
}

function ofEach<Row>(rows: readonly Row[], breach: (row: Row) => string | false): string | false {
  for (const row of rows) {
    const wrong = breach(row);
    if (wrong) return wrong;
  }
  return false;
}
