import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { Outcome } from '../../../server/payments/channel.ts';
import { type Change, MOVED_OF_ORDER, ORDER_TRANSITIONS, isOpen } from '../../../server/payments/core/transitions.ts';
import { type OrderCommand, decideOrder, orderNeeds } from '../../../server/payments/core/decide-order.ts';
import type { OrderReport, OrderFacts } from '../../../server/payments/core/facts.ts';
import { isListed as isMove } from '../../../server/payments/ledger.ts';
import { isLong } from '../../support/counts.ts';
import { CLOSE_OUTCOMES, OUTCOMES, orders, WISHES } from './core-orders.ts';
import { at, frozen, NOW, orderRow } from '../../support/core-rows.ts';

/** All values of each fact. */
const FACTS: { [Name in keyof Required<OrderFacts>]: readonly OrderFacts[Name][] } = {
  owner: [null, 'P-OTHER'],
  sibling: [true, false],
  mismatch: ['new', 'open', 'ended'],
  readmitted: [true, false],
};

/** Yields every value of only those facts that the decision needs. */
function* factsFor(order: OrderRow, input: OrderReport | OrderCommand, facts: OrderFacts = {}): Generator<OrderFacts> {
  const need = orderNeeds(order, facts, input);
  if (need === undefined) return yield facts;
  for (const value of FACTS[need]) yield* factsFor(order, input, { ...facts, [need]: value });
}

/** An order, its decision and the resulting order. */
interface Decided {
  order: OrderRow;
  after: OrderRow;
  change: Change;
}

const decidedOf = (order: OrderRow, change: Change): Decided => ({
  order,
  after: { ...order, ...change.order } as OrderRow,
  change,
});

/** A short run tries each input with every fifth open order, at rotating offsets that cover every pair of values; a long run tries all. */
function meets({ state }: OrderRow, order: number, input: number): boolean {
  return isLong || !isOpen(state) || (order + input) % 5 === 0;
}

/** Yields the faults of any change. */
function* faultsOf({ order, after, change }: Decided, { mismatch }: OrderFacts): Generator<string> {
  if (change.rule === null) {
    for (const member of MOVED_OF_ORDER) if (change.order && member in change.order) yield `${member} without a rule`;
  } else if (!isMove(ORDER_TRANSITIONS, change.rule, order.state, after.state)) yield 'a move that no table has';
  if (order.state === 'paid' && after.state !== 'paid') yield 'paid is not the end';
  if (after.paidAt !== null && after.paidAt < order.createdAt) yield 'paid before it was made';
  if (after.paid < order.paid) yield 'money was unpaid';
  const sums = change.open ? { ...after, ...change.open.sums } : after;
  if (sums.refunded < 0n || sums.refunding < 0n) yield 'a sum below zero';
  if (sums.refunded + sums.refunding > sums.paid + sums.overrun) yield 'more goes back than came';
  if (after.state === 'paid' && order.state !== 'paid' && after.paid <= 0n) yield 'paid without money';
  const isMoved = after.state !== order.state;
  const told = (change.emit ?? []).map(({ type }) => type);
  if (isMoved && ['paid', 'closed', 'failed'].includes(after.state) && !told.includes(`order.${after.state}` as never))
    yield `${after.state} is not told`;
  if (isMoved && after.state === 'closed' && after.closedAt === null) yield 'closed without a time';
  const ended = change.effects?.some(({ run }) => run.includes('ended')) ?? false;
  if (isOpen(order.state) && (after.state === 'closed' || after.state === 'failed') !== ended)
    yield 'stock is not given back';
  if (isMoved && after.state === 'paid' && !change.effects?.some(({ run }) => run.includes('paid')))
    yield 'nothing is delivered';
  const isListed = mismatch === 'open' || change.raise?.some(({ kind }) => kind === 'amount_mismatch');
  const isOverdue = order.expiresAt <= at(-86_400 - 60);
  const raised = change.raise?.some(({ kind }) => kind === 'order_overdue') ?? false;
  if (isOpen(order.state) && (isOpen(after.state) && isOverdue) !== raised)
    yield 'overdue and not listed, or the other way round';
  const resolved = change.resolve?.some(({ where }) => 'kind' in where && where.kind === 'order_overdue') ?? false;
  if (isOpen(order.state) && !isOpen(after.state) !== resolved) yield 'over and still listed as overdue';
  if (isOpen(after.state) && after.nextCheckAt === null && !isListed) yield 'never asked again, and not listed';
}

test('every state × outcome × fact gives a listed transition, consistent sums and no lost money', (t) => {
  let count = 0;
  const faults = new Map<string, string>();
  for (const [at, order] of orders().entries())
    for (const [turn, [name, outcome]] of OUTCOMES.entries())
      for (const report of meets(order, at, turn) ? heardAs(outcome) : [])
        for (const facts of factsFor(order, report)) {
          count++;
          const decided = decidedOf(order, decideOrder(frozen(order), facts, frozen(report), NOW));
          for (const fault of [
            ...faultsOf(decided, facts),
            ...(facts.owner ? faultsOfAnothers(decided, report.cause) : faultsOfHearing(decided, outcome)),
          ])
            faults.set(fault, `${order.state} × ${name} × ${report.cause} × ${JSON.stringify(facts)}`);
        }
  t.deepEqual([...faults], []);
  t.true(count > 100_000);
  t.log(`${count} combinations of order, outcome and facts`);
});

/** The same outcome as first response, repeated response, query, check and notification. */
function heardAs(outcome: Outcome): OrderReport[] {
  return [
    { outcome, cause: 'place', isFirstResponse: true },
    ...['place', 'query', 'check'].map((cause) => ({ outcome, cause })),
    ...(outcome.kind === 'paid' ? [{ outcome, cause: 'notice' }] : []),
  ];
}

/** A payment of another order raises one exception, changes no money, and an order that is still payable keeps being queried. */
function* faultsOfAnothers({ order, after, change }: Decided, cause: string): Generator<string> {
  const { state, paid, channelTradeNo } = after;
  if (state !== order.state || paid !== order.paid || channelTradeNo !== order.channelTradeNo || change.open)
    yield 'the payment of another order moves this one';
  const listed = change.raise?.filter(({ kind }) => kind === 'payment_of_another_order') ?? [];
  if (listed.length !== 1 || listed[0]?.blocksRefunds) yield 'the payment of another order is not listed once';
  if (isOpen(state) && after.nextCheckAt === null) yield 'an order that is listed is not asked about';
  const isSoon = after.nextCheckAt !== null && after.nextCheckAt <= at(15);
  if (cause === 'notice' && state !== 'paid' && !isSoon) yield 'a claim is not looked into soon';
}

function* faultsOfHearing({ order, after, change }: Decided, outcome: Outcome): Generator<string> {
  const isMoney = outcome.kind === 'paid';
  const isExact = isMoney && outcome.amount.minor === order.amount && outcome.amount.currency === order.currency;
  if (!isExact && after.paid !== order.paid) yield 'money that nobody reported';
  const maybeGoesBack = order.state === 'closing' && order.reverseDoubtAt !== null;
  if (isExact && order.paid === 0n && !maybeGoesBack && after.paid !== order.amount)
    yield 'money that came is not written';
  if (isMoney && !isExact && after.state === 'paid' && order.state !== 'paid') yield 'another amount paid the order';
  if (
    ['unknown', 'absent', 'pending', 'approved'].includes(outcome.kind) &&
    !isOpen(after.state) &&
    isOpen(order.state)
  )
    yield 'an answer that says nothing ended the order';
  const isLateRefund = change.open !== undefined;
  if (isLateRefund && (change.open.row.amount !== order.amount || after.state === 'paid'))
    yield 'a late refund of another sum';
  if (after.paid > 0n && order.paid === 0n && after.state !== 'paid' && !isLateRefund)
    yield 'money is kept for an ended order';
  const other =
    isMoney && order.paid > 0n && order.channelTradeNo !== null && outcome.channelNo !== order.channelTradeNo;
  if (other && !change.raise?.some(({ kind }) => kind === 'double_paid')) yield 'a second payment is not listed';
  if (
    outcome.kind === 'pending' &&
    outcome.pay &&
    !['created', 'pending'].includes(order.state) &&
    after.credential !== order.credential
  )
    yield 'a credential after the close';
}

test('every state × command × fact gives a listed transition or a rejection, consistent sums and no lost money', (t) => {
  let count = 0;
  const refused = new Set<string>();
  const faults = new Map<string, string>();
  for (const [at, order] of orders().entries())
    for (const command of WISHES.filter((_, turn) => meets(order, at, turn)))
      for (const facts of factsFor(order, command)) {
        count++;
        const change = decideOrder(frozen(order), facts, frozen(command), NOW);
        if ('refuse' in change) {
          refused.add(`${command.command}: ${change.refuse.code}`);
          continue;
        }
        const decided = decidedOf(order, change);
        for (const fault of [
          ...faultsOf(decided, facts),
          ...(facts.owner ? faultsOfAnothers(decided, command.command) : faultsOfCommand(decided, command)),
        ])
          faults.set(fault, `${order.state} × ${JSON.stringify(command, (_name, value: unknown) => String(value))}`);
      }
  t.deepEqual([...faults], []);
  t.deepEqual([...refused].toSorted(), [
    'abandon: invalid_action',
    'accept: invalid_action',
    'accept: order_already_paid',
    'refund_payment: invalid_action',
  ]);
  t.true(count > 50_000);
  t.log(`${count} combinations of order, wish and facts`);
});

function* faultsOfCommand(decided: Decided, input: OrderCommand): Generator<string> {
  const { order, after, change } = decided;
  const { command } = input;
  const takesMoney = order.state === 'created' || order.state === 'pending';
  const returned = command === 'settle_close' && input.outcome.kind === 'closed' && input.outcome.returned;
  if (returned && !takesMoney && (change.open?.sums.refunded ?? after.refunded) < order.paid - order.refunding)
    yield 'money that went back is not written';
  if (command === 'close' && takesMoney && after.state !== 'closing') yield 'an open order is not closed';
  if (command === 'close' && !takesMoney && after.state !== order.state) yield 'an ended order is closed';
  if (command === 'settle_close' && input.outcome.kind !== 'closed' && after.state !== order.state)
    yield 'closed without a word';
  if (command === 'settle_close' && !returned && order.captureState !== null && after.state !== order.state)
    yield 'closed beside a capture';
  if (command === 'give_up' && order.absentCount < 2 && after.state !== order.state) yield 'given up too early';
  if (command === 'capture' && after.captures > order.captures) {
    if (!takesMoney || order.closeAsked || order.captureState !== null) yield 'a capture that nobody may make';
    if (after.captureState !== 'live' || after.captureLeasedUntil === null) yield 'a capture without a lease';
    if (order.approvalAskedAt !== null) yield 'a second try without another approval';
    if (order.captures > 0 && order.expiresAt <= NOW) yield 'a second try after the expiry';
  }
  if (command === 'approved_again' && takesMoney && order.approvalAskedAt !== null) {
    const isKnown = order.approvalAskedAt.getTime() === input.refusedAt?.getTime();
    if (isKnown && after.approvalAskedAt !== null) yield 'an approval that does not count';
    if (!isKnown && after.approvalAskedAt === null) yield 'the approval that was refused counts again';
  }
  if (command === 'settle_capture') yield* faultsOfRefusal(decided, input);
  if (
    command === 'forget_capture' &&
    order.captureState === 'live' &&
    order.captureLeasedUntil! > NOW &&
    after.captureState === null
  )
    yield 'a capture under way is forgotten';
  const brings = command === 'accept' || returned || (command === 'settle_capture' && input.outcome.kind === 'paid');
  if (!brings && after.paid !== order.paid) yield 'a wish made money';
  if (command === 'accept' && after.paid !== input.received.minor) yield 'another sum was accepted';
  if (command === 'refund_payment' && change.open?.row.amount !== input.received.minor)
    yield 'another sum is given back';
  if (
    command === 'refund_payment' &&
    change.open &&
    (!change.open.row.surplus || Object.keys(change.open.sums).length > 0)
  )
    yield 'money outside the order moves its sums';
}

/** A refused capture takes no money: the payer must act, at most three times, or the order ends. */
function* faultsOfRefusal(
  { order, after, change }: Decided,
  { captures, outcome }: Extract<OrderCommand, { command: 'settle_capture' }>,
): Generator<string> {
  if (outcome.kind !== 'declined' || !outcome.left || order.captures !== captures || !isOpen(order.state)) return;
  const told = (change.emit ?? []).map(({ type }) => type);
  if (after.captureState !== null || after.captureLeasedUntil !== null) yield 'a refused capture is still waited for';
  if (order.state === 'closing') return;
  const mayAct = outcome.left === 'payer' && order.approvalsAsked < 3;
  if (mayAct && (after.state !== order.state || after.approvalAskedAt === null)) yield 'the payer is not asked';
  if (mayAct && after.approvalsAsked !== order.approvalsAsked + 1) yield 'an approval that is not counted';
  if (mayAct && !told.includes('order.payer_action_required')) yield 'the owner is not told that the payer must act';
  if (!mayAct && (after.state !== 'closed' || after.failureCode !== outcome.code))
    yield 'refused for good and still open';
}

test('a payment that waits for the merchant raises one exception per reason until it stops waiting', (t) => {
  const held = (reason: string) =>
    ({ kind: 'pending', capturePending: reason, waitsFor: 'merchant' }) as const satisfies Outcome;
  const hear = (change: Partial<OrderRow>, outcome: Outcome) =>
    decideOrder({ ...orderRow({ state: 'pending' }), ...change }, {}, { outcome, cause: 'check' }, NOW);
  const listed = [{ kind: 'capture_held', dedupe: 'UNILATERAL', detail: { reason: 'UNILATERAL' } }];
  t.deepEqual(hear({}, held('UNILATERAL')).raise, listed as never);
  const waiting = { captureState: 'pending', captureReason: 'UNILATERAL' } as const;
  t.deepEqual(hear(waiting, held('UNILATERAL')).raise ?? [], []);
  t.is(hear(waiting, held('VERIFICATION_REQUIRED')).raise?.[0]?.dedupe, 'VERIFICATION_REQUIRED');
  t.deepEqual(hear({}, { kind: 'pending', capturePending: 'ECHECK' }).raise ?? [], []);
  const paid = { kind: 'paid', channelNo: 'T-1', amount: { minor: 1000n, currency: 'CNY' }, at: NOW } as const;
  for (const outcome of [paid, { kind: 'closed' }, { kind: 'approved' }] as const)
    t.true(
      hear(waiting, outcome).resolve?.some(({ where }) => 'kind' in where && where.kind === 'capture_held'),
      outcome.kind,
    );
  t.like(decideOrder(orderRow({ state: 'pending', ...waiting }), {}, { command: 'abandon' }, NOW), {
    rule: 'close_requested',
  });
});

test('a refused capture is repeated only after a new approval and never after the expiry', (t) => {
  const refused = orderRow({
    state: 'pending',
    channelOrderId: 'C-1',
    captures: 1,
    captureReason: 'CARD',
    approvalsAsked: 1,
    approvalAskedAt: at(-30),
  });
  const approved = { outcome: { kind: 'approved' }, cause: 'check' } as const;
  const claim = (order: OrderRow) => decideOrder(order, {}, { command: 'capture' }, NOW);
  t.is((decideOrder(refused, {}, approved, NOW) as Change).wake, undefined);
  t.deepEqual(claim(refused), { rule: null });
  const agreed = (refusedAt: Date | null) => {
    const change = decideOrder(refused, {}, { command: 'approved_again', refusedAt }, NOW) as Change;
    return { ...refused, ...change.order } as OrderRow;
  };
  for (const earlier of [null, at(-31)])
    t.deepEqual(claim(agreed(earlier)), { rule: null }, 'of the one that was refused');
  const again = agreed(refused.approvalAskedAt);
  t.is((decideOrder(again, {}, approved, NOW) as Change).wake, 'capture');
  t.like(claim(again), { order: { captures: 2, captureReason: null } });
  t.deepEqual(claim({ ...again, expiresAt: NOW }), { rule: null });
  const asksItself = {
    outcome: { kind: 'pending', pay: { type: 'redirect', url: 'https://x' } },
    cause: 'check',
  } as const;
  t.is((decideOrder(refused, {}, asksItself, NOW) as Change & { order: OrderRow }).order.approvalAskedAt, null);
  const first = orderRow({ state: 'pending', channelOrderId: 'C-1', expiresAt: at(-659) });
  t.like(claim(first), { order: { captures: 1 } });
  t.deepEqual(claim({ ...first, expiresAt: at(-660) }), { rule: null });
});

test('a decision is the same for the same rows, facts and time', (t) => {
  let count = 0;
  for (const order of orders({ few: true }))
    for (const [, outcome] of OUTCOMES)
      for (const facts of factsFor(order, { outcome, cause: 'check' })) {
        count++;
        const report = { outcome, cause: 'check' };
        t.deepEqual(
          decideOrder(order, facts, report, NOW),
          decideOrder({ ...order }, { ...facts }, { ...report }, new Date(NOW)),
        );
      }
  t.log(`${count} pairs`);
});

test('a close confirmed by the channel ends the order for every close reason', (t) => {
  for (const closeReason of ['merchant', 'admin', 'expired'] as const)
    for (const outcome of CLOSE_OUTCOMES)
      for (const order of orders({ few: true })) {
        if (order.state !== 'closing' || order.captureState !== null) continue;
        const change = decideOrder({ ...order, closeReason }, {}, { command: 'settle_close', outcome }, NOW);
        if ('refuse' in change) return t.fail();
        const after = { ...order, ...change.order, ...change.open?.sums };
        const returned = outcome.kind === 'closed' && outcome.returned;
        t.is(after.nextCheckAt === null, Boolean(returned), 'nothing is left to ask once the money is back');
        t.is((change.rule as string | null) === 'close_confirmed', outcome.kind === 'closed' && !returned);
        if (returned)
          t.like(after, { state: 'closed', paid: 1000n, refunded: 1000n, channelTradeNo: returned.channelNo });
      }
});

test('a code payment refunded by its close is reported as closed, even if a query or notification reports it before the close response', (t) => {
  const amount = { minor: 1000n, currency: 'CNY' };
  const gone = { kind: 'paid', channelNo: 'T-1', amount, at: NOW, refundedTotal: 1000n } as const;
  for (const cause of ['query', 'notice', 'check'])
    for (const scene of ['code', 'qr'] as const) {
      const order = orderRow({ state: 'closing', closeAsked: true, scene });
      const change = decideOrder(order, { sibling: false }, { outcome: gone, cause }, NOW) as Change;
      const told = change.emit?.map(({ type }) => type);
      // In other scenes a close refunds nothing: an earlier payment counts, and its refund needs a lookup.
      t.is(change.rule, scene === 'code' ? 'late_payment' : 'paid_before_close', cause);
      t.deepEqual(told, scene === 'code' ? ['order.paid_late', 'order.closed'] : ['order.paid'], cause);
      t.is(change.open?.row.elsewhere, scene === 'code' ? true : undefined, cause);
    }
});

test('an unpaid order with an unconfirmed report is checked soon in every state, and never later than planned', (t) => {
  const soon = new Date(NOW.getTime() + 15_000);
  for (const order of orders({ few: true }))
    for (const nextCheckAt of [null, NOW, soon, new Date(NOW.getTime() + 3_600_000)]) {
      const change = decideOrder({ ...order, nextCheckAt }, {}, { command: 'check_soon' }, NOW);
      if ('refuse' in change) return t.fail();
      const after = { ...order, nextCheckAt, ...change.order };
      if (order.state === 'paid') t.deepEqual(change, { rule: null });
      else t.is(after.nextCheckAt?.getTime(), Math.min(soon.getTime(), nextCheckAt?.getTime() ?? Infinity));
    }
});

test('a payment does not count while the close of its code may be refunding it', (t) => {
  let count = 0;
  const doubtful = orders().filter(({ reverseDoubtAt }) => reverseDoubtAt !== null);
  for (const order of doubtful)
    for (const [name, outcome] of OUTCOMES) {
      if (outcome.kind !== 'paid' || outcome.amount.minor !== order.amount || outcome.amount.currency !== 'CNY')
        continue;
      const change = decideOrder(
        order,
        { owner: null, sibling: true, mismatch: 'new', readmitted: true },
        { outcome, cause: 'query' },
        NOW,
      );
      const wentBack = outcome.refundedTotal === order.amount;
      const { state, nextCheckAt } = { ...order, ...change.order } as OrderRow;
      t.is(state, wentBack ? 'closed' : 'closing', name);
      const due = order.reverseDoubtAt! > NOW ? order.reverseDoubtAt : NOW;
      if (!wentBack) t.deepEqual(nextCheckAt, due, name);
      t.is(change.open !== undefined, wentBack, name);
      count += 1;
    }
  t.true(count > 1000, String(count));
});
