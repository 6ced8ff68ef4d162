import test from 'ava';
import type { DisputeRow } from '../../../server/db/entities/refunds.ts';
import type { EventRow } from '../../../server/db/entities/events.ts';
import type { TransitionRow, OrderExceptionRow, OrderRow } from '../../../server/db/entities/orders.ts';
import { BOOK_CHECKS, findViolations, WALKS } from '../../../server/db/queries/ledger-check.ts';
import type { Store } from '../../../server/db/store.ts';
import {
  ANSWER_INVARIANTS,
  type LedgerView,
  type Broken,
  brokenOf,
  CHANNEL_INVARIANTS,
  type ChannelLedgerView,
  END_INVARIANTS,
  ORDER_INVARIANTS,
  STEP_INVARIANTS,
  type Reported,
} from '../../../server/payments/core/invariants.ts';
import { at, orderRow, refundRow } from '../../support/core-rows.ts';
import { postgresDatabase } from '../../support/database.ts';

const PAID = {
  state: 'paid',
  paid: 1000n,
  channelTradeNo: 'T-1',
  paidAt: at(-50),
  nextCheckAt: null,
  leasedUntil: null,
} as const;
const { orderNo } = orderRow();
const GONE = { state: 'succeeded', nextCheckAt: null } as const;
const [FIRST, SECOND] = ['R-1', 'R-2'];

const transition = (sequence: number, toState: string, refundNo: string | null = null): TransitionRow => ({
  id: BigInt(sequence),
  orderNo,
  refundNo,
  sequence,
  fromState: null,
  toState,
  rule: 'placed',
  cause: 'pay',
  outcome: null,
  actor: 'service',
  requestId: null,
  at: at(sequence),
});

const told = (type: string, objectNo: string): EventRow => ({
  sequence: 0n,
  id: `evt_${type}_${objectNo}`,
  type,
  clientId: 'app_1',
  project: 'default',
  objectNo,
  dedupe: 'once',
  payload: {},
  notifyUrl: null,
  traceParent: null,
  createdAt: at(0),
});

const listed = (kind: OrderExceptionRow['kind'], state: 'open' | 'resolved' = 'resolved'): OrderExceptionRow => ({
  id: '00000000-0000-4000-8000-000000000001',
  orderNo,
  refundNo: null,
  clientId: 'app_1',
  project: 'default',
  kind,
  dedupe: 'once',
  detail: null,
  receivedMinor: null,
  receivedCurrency: null,
  blocksRefunds: false,
  state,
  resolution: null,
  reason: null,
  resolvedBy: null,
  createdAt: at(0),
  resolvedAt: null,
});

const dispute = (change: Partial<DisputeRow> = {}): DisputeRow => ({
  disputeNo: 'D-1',
  orderNo,
  clientId: 'app_1',
  project: 'default',
  payWay: 'wechat',
  account: '1900000001',
  mode: 'live',
  channelDisputeNo: 'C-1',
  reason: 'goods',
  amount: 400n,
  currency: 'CNY',
  state: 'lost',
  dueAt: null,
  amountLost: 400n,
  refundNo: FIRST!,
  answeredAt: null,
  acceptedAt: null,
  changes: 1,
  checks: 0,
  nextCheckAt: null,
  leasedUntil: null,
  openedAt: at(0),
  createdAt: at(0),
  updatedAt: at(0),
  closedAt: at(0),
  ...change,
});

/** A paid order with 4.00 refunded by a dispute and 1.00 pending. */
const HONEST: LedgerView = {
  order: orderRow({ ...PAID, refunded: 400n, refunding: 100n, sequence: 5 }),
  refunds: [refundRow({ ...GONE, refundNo: FIRST! }), refundRow({ refundNo: SECOND!, amount: 100n })],
  transitions: [
    transition(1, 'created'),
    transition(2, 'paid'),
    transition(3, 'pending', FIRST),
    transition(4, 'succeeded', FIRST),
    transition(5, 'pending', SECOND),
  ],
  events: [told('order.paid', orderNo), told('refund.succeeded', FIRST!)],
  exceptions: [],
  disputes: [dispute()],
};

const order = (change: Parameters<typeof orderRow>[0]) => ({ order: { ...HONEST.order, ...change } });
const second = (change: Parameters<typeof refundRow>[0]) => ({
  refunds: [HONEST.refunds[0]!, { ...HONEST.refunds[1]!, ...change }],
});

/** Ledgers with a fault, each with the invariants that it breaks. */
const LIES: readonly [what: string, lie: Partial<LedgerView>, broken: readonly string[]][] = [
  ['the refunded sum exceeds the refunds', order({ refunded: 500n }), ['refunded']],
  ['the reserved sum is below the pending refunds', order({ refunding: 0n }), ['refunding']],
  [
    'a refund beyond the payment',
    { ...order({ refunding: 700n, overrun: 100n }), ...second({ amount: 700n }) },
    ['overrun'],
  ],
  ['paid without the channel’s number', order({ channelTradeNo: null }), ['paid']],
  ['paid without a time', order({ paidAt: null }), ['paid']],
  ['paid with another amount', order({ paid: 999n }), ['paid']],
  [
    'money in an open order',
    {
      ...order({ state: 'pending', nextCheckAt: at(9) }),
      transitions: HONEST.transitions.with(1, transition(2, 'pending')),
    },
    ['unpaid'],
  ],
  [
    'a state without its history',
    { transitions: HONEST.transitions.with(1, transition(2, 'pending')) },
    ['order-history'],
  ],
  [
    'a refund without its history',
    { transitions: HONEST.transitions.with(4, transition(5, 'processing', SECOND)) },
    ['refund-history'],
  ],
  ['a dispute of another amount', { disputes: [dispute({ amountLost: 300n })] }, ['disputes']],
  ['a dispute without its refund', { disputes: [dispute({ refundNo: null })] }, ['disputes']],
  [
    'two disputes over one refund',
    { disputes: [dispute(), dispute({ disputeNo: 'D-2', channelDisputeNo: 'C-2' })] },
    ['disputes'],
  ],
  ['a missing history line', { transitions: HONEST.transitions.toSpliced(2, 1) }, ['sequence']],
  ['an extra history line', order({ sequence: 4 }), ['sequence']],
  ['a payment without an event', { events: HONEST.events.slice(1) }, ['order-events']],
  ['a payment with two events', { events: [...HONEST.events, told('order.paid_late', orderNo)] }, ['order-events']],
  ['a refund without an event', { events: HONEST.events.slice(0, 1) }, ['refund-events']],
  [
    'a close without an event',
    { ...order({ state: 'closed' }), transitions: HONEST.transitions.with(1, transition(2, 'closed')) },
    ['closed-events'],
  ],
  [
    'an order without a next check',
    {
      ...order({ state: 'closing', paid: 0n, refunded: 0n, refunding: 0n, sequence: 2 }),
      refunds: [],
      disputes: [],
      transitions: [transition(1, 'created'), transition(2, 'closing')],
    },
    ['due'],
  ],
  ['a refund without a next check', second({ nextCheckAt: null }), ['due']],
];

/** Ledgers that look faulty but are valid. */
const TRUTHS: readonly [what: string, book: Partial<LedgerView>][] = [
  [
    'an exception covers the reserved sum',
    {
      ...order({ refunding: 700n, overrun: 100n }),
      ...second({ amount: 700n }),
      exceptions: [listed('refund_elsewhere')],
    },
  ],
  ['an exception covers the other amount', { ...order({ paid: 999n }), exceptions: [listed('amount_mismatch')] }],
  [
    'an exception covers the missing check',
    { ...second({ nextCheckAt: null }), exceptions: [listed('refund_overdue', 'open')] },
  ],
  ['a surplus refund stays out of the sums', { ...order({ refunding: 0n }), ...second({ surplus: true }) }],
];

const namesOf = (broken: readonly Broken[]) => broken.map(({ name }) => name);
const predicatesOf = (book: LedgerView) => namesOf(brokenOf(ORDER_INVARIANTS, book));

/** Runs the statements of `payctl audit` on a ledger and rolls everything back. */
async function statementsOf(store: Store, book: LedgerView): Promise<string[]> {
  const found: string[] = [];
  class Undo extends Error {}
  await store
    .transaction(async (tx) => {
      await tx.orders.insert(book.order);
      await tx.refunds.insertMany([...book.refunds]);
      for (const { id: _id, ...row } of book.transitions) await tx.transitions.insert(row);
      for (const { sequence: _sequence, ...row } of book.events as EventRow[]) await tx.events.insert(row);
      await tx.exceptions.insertMany([...book.exceptions]);
      await tx.disputes.insertMany([...book.disputes]);
      for (const check of BOOK_CHECKS) {
        const { count } = await findViolations(tx, check, 'orders', { after: WALKS.orders.first, upTo: null });
        if (count > 0) found.push(check.check);
      }
      throw new Undo();
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undo)) throw error;
    });
  return found;
}

test('the test invariants and `payctl audit` find the same faults in a ledger', async (t) => {
  const { store } = await postgresDatabase(t);
  for (const [what, change, broken] of [
    ['honest', {}, []] as const,
    ...LIES,
    ...TRUTHS.map(([name, book]) => [name, book, []] as const),
  ]) {
    const book = { ...HONEST, ...change };
    t.deepEqual(predicatesOf(book), broken, `${what}: by the predicates`);
    t.deepEqual(await statementsOf(store, book), broken, `${what}: by the statements`);
  }
  const lied = new Set(LIES.flatMap(([, , broken]) => broken));
  t.deepEqual(
    Object.keys(ORDER_INVARIANTS).filter((name) => !lied.has(name)),
    [],
    'each invariant has a faulty ledger',
  );
});

test('payctl audit has a statement for every invariant of an order, in the same order', (t) => {
  t.deepEqual(
    BOOK_CHECKS.map(({ check }) => check).filter((name) => !['coins', 'bills'].includes(name)),
    Object.keys(ORDER_INVARIANTS) as never,
  );
});

const CHANNEL: ChannelLedgerView = { received: 1000n, refunds: [{ intent: FIRST!, amount: 400n }] };
const NOTHING_REPORTED = { paid: false, closed: false, refunds: [] };
const ENDED = { ...HONEST, order: { ...HONEST.order, refunding: 0n }, refunds: HONEST.refunds.slice(0, 1) };

test('a commit that breaks a step invariant is found', (t) => {
  const found = (after: OrderRow | undefined) => namesOf(brokenOf(STEP_INVARIANTS, HONEST.order, after));
  t.deepEqual(found(HONEST.order), []);
  t.deepEqual(found(undefined), ['kept']);
  t.deepEqual(found({ ...HONEST.order, state: 'closed' }), ['absorbing']);
  t.deepEqual(found({ ...HONEST.order, paid: 900n }), ['growing']);
});

test('money that is missing or doubled at the channel is found', (t) => {
  const found = (channel: ChannelLedgerView) => namesOf(brokenOf(CHANNEL_INVARIANTS, HONEST, channel));
  t.deepEqual(found(CHANNEL), []);
  t.deepEqual(found({ received: 0n, refunds: [] }), ['money-came', 'refund-happened']);
  t.deepEqual(found({ ...CHANNEL, refunds: [{ intent: SECOND!, amount: 400n }] }), ['refund-happened']);
  t.deepEqual(found({ ...CHANNEL, refunds: [{ intent: null, amount: 400n }] }), []);
  t.deepEqual(found({ ...CHANNEL, refunds: [...CHANNEL.refunds, ...CHANNEL.refunds] }), ['once']);
  t.deepEqual(found({ received: 1000n, refunds: [...CHANNEL.refunds, { intent: null, amount: 601n }] }), ['money-out']);
  const back = CHANNEL.refunds.map((one) => ({ ...one, reversed: true }));
  t.deepEqual(found({ ...CHANNEL, refunds: [...back, ...CHANNEL.refunds] }), [], 'what came back was not twice');
});

test('an unfinished order, a mismatch with the channel and a mismatch with a response are found at the end', (t) => {
  const found = (book: LedgerView, channel: ChannelLedgerView, told: Reported = NOTHING_REPORTED) =>
    namesOf([...brokenOf(END_INVARIANTS, book, channel), ...brokenOf(ANSWER_INVARIANTS, book, told, channel)]);
  const unpaid = { ...ENDED, order: { ...ENDED.order, state: 'closed', paid: 0n, refunded: 0n } as const, refunds: [] };
  const nothing = { received: 0n, refunds: [] };
  t.deepEqual(found(ENDED, CHANNEL, { paid: true, closed: false, refunds: [FIRST!] }), []);
  t.deepEqual(found(HONEST, CHANNEL), ['ended']);
  t.deepEqual(found({ ...ENDED, order: { ...ENDED.order, state: 'closing' } as const }, CHANNEL), ['ended']);
  t.deepEqual(found(unpaid, { received: 1000n, refunds: [] }), ['same-money']);
  t.deepEqual(found(unpaid, { received: 1000n, refunds: [{ intent: null, amount: 1000n }] }), []);
  const surplus = { ...ENDED.refunds[0]!, amount: 1000n, surplus: true, elsewhere: true };
  t.deepEqual(found({ ...unpaid, refunds: [surplus] }, { received: 1000n, refunds: [] }), [], 'given back elsewhere');
  const left = { ...surplus, elsewhere: false, state: 'failed', failureCode: 'released' } as const;
  t.deepEqual(found({ ...unpaid, refunds: [left] }, { received: 1000n, refunds: [] }), [], 'left by a person');
  const closed = { ...NOTHING_REPORTED, closed: true };
  t.deepEqual(found({ ...unpaid, refunds: [left] }, { received: 1000n, refunds: [] }, closed), [], 'left by a person');
  const forgotten = { ...left, failureCode: 'CLOSED' };
  t.deepEqual(found({ ...unpaid, refunds: [forgotten] }, { received: 1000n, refunds: [] }), ['same-money']);
  const told = found({ ...unpaid, refunds: [forgotten] }, { received: 1000n, refunds: [] }, closed);
  t.deepEqual(told, ['same-money', 'reported-closed']);
  t.deepEqual(found(ENDED, { received: 1000n, refunds: [] }), ['same-refunds']);
  const back = CHANNEL.refunds.map((one) => ({ ...one, reversed: true }));
  t.deepEqual(found(ENDED, { ...CHANNEL, refunds: back }), ['same-refunds'], 'it came back');
  t.deepEqual(found(unpaid, nothing, { paid: true, closed: true, refunds: [] }), ['reported-paid']);
  t.deepEqual(found(ENDED, CHANNEL, closed), ['reported-closed']);
  t.deepEqual(found(ENDED, CHANNEL, { ...NOTHING_REPORTED, refunds: ['R-9'] }), ['reported-refund']);
});
