import type { DisputeRow, RefundRow } from '../../db/entities/refunds.ts';
import type { EventRow } from '../../db/entities/events.ts';
import type { TransitionRow, OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { OrderState, RefundState } from '../../domain.ts';

/** An order with everything that was written down about it, as one commit left it. */
export interface LedgerView {
  readonly order: OrderRow;
  readonly refunds: readonly RefundRow[];
  /** In the order of their sequence. */
  readonly transitions: readonly TransitionRow[];
  /** Of the order and of its refunds. */
  readonly events: readonly Pick<EventRow, 'type' | 'objectNo'>[];
  readonly exceptions: readonly OrderExceptionRow[];
  readonly disputes: readonly DisputeRow[];
}

/** What a channel has of an order, in minor units of the order's currency. */
export interface ChannelLedgerView {
  /** What the payer paid, whatever went back since. */
  readonly came: bigint;
  /** Refunds that succeeded there. */
  readonly refunds: readonly ChannelLedgerRefund[];
}

interface ChannelLedgerRefund {
  /** The number of our refund, whichever number it bore there; null = made in the channel's portal. */
  readonly intent: string | null;
  readonly amount: bigint;
  /** It succeeded once, and the merchant has the money again. */
  readonly cameBack?: boolean;
}

/** Something that must hold, in the words that people read. */
interface Promised {
  readonly promise: string;
}

/** Gives what is wrong in a book, or nothing. */
type Breach = (book: LedgerView) => string | false;

const RESERVED: readonly RefundState[] = ['pending', 'processing', 'abnormal'];
const ENDED: readonly OrderState[] = ['paid', 'closed', 'failed'];
const OVERRUNS = ['refund_overrun', 'refund_elsewhere'];
const ENDED_BY_PERSON = ['released', 'failed_at_channel'];
const PAYMENTS = ['order.paid', 'order.paid_late'];

/**
 * What holds of every order after every commit. Tests hold it against every state that they reach; `payctl audit` holds it against the rows
 * of a database, by one statement of the same name (db/queries/ledger-check.ts).
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
    promise: 'what a dispute took is a refund of its order, counted once',
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
      const told = events.filter(({ type, objectNo }) => objectNo === order.orderNo && PAYMENTS.includes(type)).length;
      return order.paid > 0n && told !== 1 && `${told} events`;
    },
  },
  'refund-events': {
    promise: 'every succeeded refund has an event',
    breach: ({ refunds, events }) =>
      ofEach(refunds, ({ refundNo, state }) => {
        const isTold = events.some(({ type, objectNo }) => type === 'refund.succeeded' && objectNo === refundNo);
        return state === 'succeeded' && !isTold && `${refundNo}: no event`;
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

/** What holds of the coins of each payer, which only a database can show. */
const COIN_INVARIANTS = {
  coins: { promise: 'every balance equals the sum of its ledger entries' },
} as const satisfies Readonly<Record<string, Promised>>;

/** What the channels say a day later, which only a database can show. */
const BILL_INVARIANTS = {
  bills: { promise: "the channels' bills that were read in the last five weeks agree" },
} as const satisfies Readonly<Record<string, Promised>>;

/** What `payctl audit` shows of the rows of a database. */
export const INVARIANTS = { ...ORDER_INVARIANTS, ...COIN_INVARIANTS, ...BILL_INVARIANTS } as const;

/** What one commit may not do to an order that was there before it. */
export const STEP_INVARIANTS = {
  kept: {
    promise: 'an order is never removed while it can still have money',
    breach: (before: OrderRow, after: OrderRow | undefined) => after === undefined && `${before.orderNo} is gone`,
  },
  absorbing: {
    promise: 'paid stays paid',
    breach: (before: OrderRow, after: OrderRow | undefined) =>
      before.state === 'paid' && after !== undefined && after.state !== 'paid' && `was paid, and is ${after.state}`,
  },
  growing: {
    promise: 'what was paid, and what was given back, never becomes less',
    breach: (before: OrderRow, after: OrderRow | undefined) =>
      after !== undefined && after.paid < before.paid && `had ${before.paid}, and has ${after.paid}`,
  },
} as const;

/** What holds at any moment between our rows and what the channel did. */
export const CHANNEL_INVARIANTS = {
  'money-came': {
    promise: 'an order has money only when the channel has it',
    breach: ({ order }: LedgerView, { came }: ChannelLedgerView) =>
      order.paid > 0n && came === 0n && 'the channel has no payment',
  },
  'refund-happened': {
    promise: 'a refund has succeeded only when the channel made it',
    breach: ({ refunds }: LedgerView, channel: ChannelLedgerView) =>
      ofEach(refunds, ({ refundNo, state, elsewhere }) => {
        const isThere = channel.refunds.some(({ intent }) => intent === null || intent === refundNo);
        return state === 'succeeded' && !elsewhere && !isThere && `${refundNo} succeeded only here`;
      }),
  },
  once: {
    promise: 'whatever was wished for once happened at most once at the channel',
    breach: (_book: LedgerView, channel: ChannelLedgerView) => {
      const counts = Map.groupBy(kept(channel), ({ intent }) => intent);
      const twice = [...counts].find(([intent, all]) => intent !== null && all.length > 1);
      return twice !== undefined && `${twice[0]} happened ${twice[1].length} times`;
    },
  },
  'money-out': {
    promise: 'no more goes back than came',
    breach: (_book: LedgerView, channel: ChannelLedgerView) =>
      sum(kept(channel)) > channel.came && `${sum(kept(channel))} of ${channel.came} went back`,
  },
} as const;

/** What holds in the end, when nothing is due any more, unless something of the order is listed. */
export const END_INVARIANTS = {
  ended: {
    promise: 'every order and refund comes to an end',
    breach: ({ order, refunds }: LedgerView) =>
      (!ENDED.includes(order.state) || refunds.some(({ state }) => RESERVED.includes(state))) &&
      'is open, and nothing is due',
  },
  'same-money': {
    promise: 'what is told to be paid is what the channel has, but for money that a person left there',
    breach: (book: LedgerView, channel: ChannelLedgerView) => {
      const { paid } = book.order;
      const { came } = channel;
      // What came and went, here or elsewhere, leaves nothing behind.
      const isNothingLeft = paid === 0n && came === sum(kept(channel)) + givenElsewhere(book.refunds) + leftThere(book);
      return paid !== came && !isNothingLeft && `has ${paid}, the channel ${came}`;
    },
  },
  'same-refunds': {
    promise: 'what is told to be given back is what the channel gave back',
    breach: ({ order: { paid, refunded }, refunds }: LedgerView, channel: ChannelLedgerView) => {
      const succeeded = refunds.filter(({ state }) => state === 'succeeded');
      const surplus = sum(succeeded.filter((one) => one.surplus));
      const went = sum(kept(channel));
      const isSame = refunded + surplus - givenElsewhere(refunds) === went;
      return paid > 0n && !isSame && `gave back ${refunded + surplus}, the channel ${went}`;
    },
  },
} as const;

/** An invariant that does not hold. */
export interface Broken {
  readonly name: string;
  readonly promise: string;
  /** What is wrong. */
  readonly detail: string;
}

/** Holds each of these invariants against the same facts, and gives those that do not hold. */
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

/** What a caller was told of an order, and may rely on. */
export interface Reported {
  readonly paid: boolean;
  readonly closed: boolean;
  /** Numbers of refunds that were answered. */
  readonly refunds: readonly string[];
}

/** What holds in the end of whatever callers were told, unless something of the order is listed. */
export const ANSWER_INVARIANTS = {
  'told-paid': {
    promise: 'an order that was told to be paid has its money',
    breach: ({ order }: LedgerView, told: Reported) => told.paid && order.paid === 0n && 'was told to be paid',
  },
  'told-closed': {
    promise: 'an order that was told to be closed keeps no money, but for what a person left there',
    breach: (book: LedgerView, told: Reported, channel: ChannelLedgerView) => {
      const isEmpty = channel.came === sum(kept(channel)) + givenElsewhere(book.refunds) + leftThere(book);
      return told.closed && (book.order.state !== 'closed' || !isEmpty) && 'was told to be closed';
    },
  },
  'told-refund': {
    promise: 'a refund that was answered exists',
    breach: ({ refunds }: LedgerView, told: Reported) =>
      ofEach(told.refunds, (number) => !refunds.some(({ refundNo }) => refundNo === number) && `${number} is gone`),
  },
} as const;

/** Money that is owed to a payer, and whose refund a person ended, or knows to have failed, without giving it back. */
function leftThere({ refunds, exceptions }: LedgerView): bigint {
  const isKnown = ({ refundNo }: RefundRow) =>
    exceptions.some((one) => one.refundNo === refundNo && one.resolution === 'acknowledge');
  const isLeft = ({ failureCode }: RefundRow) => ENDED_BY_PERSON.includes(failureCode ?? '');
  const owed = refunds.filter(({ surplus, origin, state }) => (surplus || origin === 'late') && state === 'failed');
  return sum(owed.filter((one) => isLeft(one) || isKnown(one)));
}

/** Refunds of a channel whose money the payer has. */
function kept({ refunds }: ChannelLedgerView): readonly ChannelLedgerRefund[] {
  return refunds.filter(({ cameBack }) => !cameBack);
}

/** What a person gave back by another way than the channel, perhaps because the channel's own refund came back. */
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

/** The first thing that is wrong with any of them. */
function ofEach<Row>(rows: readonly Row[], breach: (row: Row) => string | false): string | false {
  for (const row of rows) {
    const wrong = breach(row);
    if (wrong) return wrong;
  }
  return false;
}
