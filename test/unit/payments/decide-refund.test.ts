import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import { type Change, MOVED_OF_REFUND, REFUND_TRANSITIONS } from '../../../server/payments/core/transitions.ts';
import {
  decideForeignRefund,
  decideNewRefund,
  decideRefund,
  isOwnPayment,
} from '../../../server/payments/core/decide-refund.ts';
import { isReversal, mayBeOutdated, type RefundReport } from '../../../server/payments/core/apply-refund-outcome.ts';
import { isListed } from '../../../server/payments/ledger.ts';
import { nextRefundStep } from '../../../server/payments/core/plan.ts';
import { LIMITS, pairs, REFUND_FACTS, REFUND_HEARD, REFUND_WISHES } from './core-refunds.ts';
import { at, frozen, NOW, orderRow, refundRow } from '../../support/core-rows.ts';

interface Pair {
  order: OrderRow;
  refund: RefundRow;
}

const isReserved = ({ state }: RefundRow) => state === 'pending' || state === 'processing' || state === 'abnormal';
const isWaiting = ({ state }: RefundRow) => state === 'pending' || state === 'processing';
const isOld = ({ sentAt, createdAt }: RefundRow) => (sentAt ?? createdAt) <= at(-3 * 86_400);
const isFinal = ({ state }: RefundRow) => state === 'succeeded' || state === 'failed';

/** Yields the faults of any change to a refund and its order sums. */
function* faultsOf({ order, refund }: Pair, change: Change): Generator<string> {
  const after = { ...refund, ...change.refund } as RefundRow;
  const sums = { ...order, ...change.order } as OrderRow;
  if (change.rule === null) {
    for (const member of MOVED_OF_REFUND)
      if (change.refund && member in change.refund) yield `${member} without a rule`;
  } else if (!isListed(REFUND_TRANSITIONS, change.rule, refund.state, after.state)) yield 'a move that no table has';
  if (after.amount !== refund.amount) yield 'the amount changed';
  if (sums.paid !== order.paid || sums.state !== order.state) yield 'a refund moved its order';
  // The sums follow the refund exactly; a surplus payment never changes them.
  const own = refund.surplus ? 0n : refund.amount;
  const reserved = own * (BigInt(isReserved(after)) - BigInt(isReserved(refund)));
  const done = own * (BigInt(after.state === 'succeeded') - BigInt(refund.state === 'succeeded'));
  if (sums.refunding - order.refunding !== reserved) yield 'the reservation does not follow the refund';
  if (sums.refunded - order.refunded !== done) yield 'the refunded sum does not follow the refund';
  if (sums.refunded + sums.refunding > sums.paid + sums.overrun) yield 'more goes back than came';
  if (sums.overrun < order.overrun) yield 'an overrun shrinks';
  const told = change.emit?.some(({ type }) => type === `refund.${after.state}`) ?? false;
  const isNews = after.state !== refund.state && ['succeeded', 'failed', 'abnormal'].includes(after.state);
  if (isNews !== told) yield 'the owner is not told';
  if (change.emit?.some(({ each }) => !each)) yield 'a move that can come again is told once only';
  const waits = after.state === 'pending' || after.state === 'processing';
  if (waits && after.nextCheckAt === null) yield 'never asked again';
  if (after.state === 'abnormal' && refund.state !== 'abnormal' && !change.raise?.length)
    yield 'abnormal and not listed';
  if (isFinal(after) && after.state !== refund.state && after.finishedAt === null) yield 'ended without a time';
}

function* faultsOfHearing({ refund }: Pair, { outcome }: RefundReport, change: Change): Generator<string> {
  const after = { ...refund, ...change.refund } as RefundRow;
  const isExact = outcome.kind === 'succeeded' && outcome.amount.minor === 400n && outcome.amount.currency === 'CNY';
  if (isExact && after.state !== 'succeeded') yield 'money that went back is not written';
  if (!isExact && after.state === 'succeeded' && refund.state !== 'succeeded') yield 'succeeded without a fact';
  if (outcome.kind === 'abnormal' && after.state !== 'abnormal') yield 'money that is on neither side is not written';
  const isBack = refund.state === 'failed' && after.state !== 'failed';
  if (isBack && !change.effects?.some(({ run, mayRefuse }) => run.includes('refundReserved') && !mayRefuse))
    yield 'a refund that was given up and comes back holds neither coins nor content';
  if (outcome.kind === 'succeeded' && outcome.toMerchant && refund.state !== 'succeeded') {
    if (!after.elsewhere) yield 'money that the merchant got counts as the payer’s';
    if (!change.raise?.some(({ kind }) => kind === 'refund_elsewhere')) yield 'nobody is told to pay the payer';
  }
  const saysNothing = ['unknown', 'absent', 'refused'].includes(outcome.kind);
  const waited = refund.refusedAt !== null || outcome.kind === 'refused';
  const couldLand = refund.unknownAt !== null && refund.unknownAt > at(-600);
  const absent = refund.absentCount + (outcome.kind === 'absent' ? 1 : 0);
  const isDefinite = outcome.kind === 'refused' && outcome.definite === true;
  const isSystemRefund = refund.origin === 'late' || refund.origin === 'surplus';
  const isOver = isDefinite && isWaiting(refund) && !couldLand && !refund.accepted && !isSystemRefund;
  if (isOver && after.state !== 'failed') yield 'refused for good and still waited for';
  if (saysNothing && after.state === 'failed' && refund.state !== 'failed') {
    if (!waited || couldLand || (absent < 2 && !isDefinite) || refund.accepted)
      yield 'failed though it may have happened';
    if (isSystemRefund) yield 'money that is owed was given up';
  }
  if (outcome.kind === 'pending' && !after.accepted && !isFinal(after) && refund.state !== 'abnormal')
    yield 'an accepted refund is not known as such';
  if (isWaiting(after) && isOld(after) && !change.raise?.some(({ kind }) => kind === 'refund_overdue'))
    yield 'silent for days and not listed';
  if (
    !isWaiting(after) &&
    isWaiting(refund) &&
    !change.resolve?.some(({ where }) => 'kind' in where && where.kind === 'refund_overdue')
  )
    yield 'over and still listed as overdue';
}

test('every state × outcome gives a listed transition, matching sums and no lost money', (t) => {
  let count = 0;
  const faults = new Map<string, string>();
  for (const pair of pairs())
    for (const report of REFUND_HEARD) {
      count++;
      const change = decideRefund(frozen(pair.order), frozen(pair.refund), frozen(report), NOW);
      for (const fault of [...faultsOf(pair, change), ...faultsOfHearing(pair, report, change)])
        faults.set(fault, `${pair.refund.origin} ${pair.refund.state} × ${report.outcome.kind}`);
    }
  t.deepEqual([...faults], []);
  t.true(count > 70_000);
  t.log(`${count} combinations of order, refund and outcome`);
});

test('every state × command × fact gives a listed transition or a rejection, and matching sums', (t) => {
  let count = 0;
  const faults = new Map<string, string>();
  const refused = new Set<string>();
  for (const pair of pairs())
    for (const command of REFUND_WISHES) {
      count++;
      const decided = decideRefund(frozen(pair.order), frozen(pair.refund), frozen(command), NOW);
      const { state, surplus, origin } = pair.refund;
      if ('refuse' in decided) {
        refused.add(`${command.command}: ${decided.refuse.code}`);
        continue;
      }
      for (const fault of faultsOf(pair, decided)) faults.set(fault, `${state} × ${command.command}`);
      const isSilent = isWaiting(pair.refund) && isOld(pair.refund);
      if (command.command === 'retry' && state !== 'failed' && !isSilent)
        faults.set('a retry of what did not fail', state);
      if (command.command === 'retry' && state === 'failed' && pair.refund.accepted && decided.refund?.attempt !== 2)
        faults.set('a number that the channel ended is used again', origin);
      if (command.command === 'retry' && isSilent && decided.refund?.attempt !== undefined)
        faults.set('another number while the first may be done', origin);
      if (command.command === 'retry' && !surplus && decided.rule === 'refund_resumed') {
        const left = pair.order.paid - pair.order.refunded - pair.order.refunding;
        if (pair.refund.amount > left) faults.set('a retry of more than is left', origin);
      }
      const listed = 'listed' in command && command.listed && isWaiting(pair.refund);
      if (command.command === 'reopen' && state !== 'abnormal') faults.set('opened though not abnormal', state);
      if ('listed' in command && state !== 'abnormal' && !listed && !isSilent)
        faults.set('an end by hand of what needs nobody', state);
    }
  t.deepEqual([...faults], []);
  t.deepEqual([...refused].toSorted(), [
    'failed_at_channel: refund_not_abnormal',
    'paid_elsewhere: refund_not_abnormal',
    'release: refund_not_abnormal',
    'reopen: refund_not_abnormal',
    'retry: order_not_paid',
    'retry: refund_exceeds_refundable',
    'retry: refund_not_retryable',
    'retry: refunds_blocked',
  ]);
  t.true(count > 20_000);
  t.log(`${count} combinations of order, refund, wish and facts`);
});

test('a new refund needs a paid order, no blocking exception, enough remaining amount, the channel limits and a free slot', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, paidAt: at(-3600) });
  const asked = {
    refundNo: 'R-2',
    amount: 400n,
    origin: 'merchant' as const,
    reason: null,
    merchantRefundNo: null,
    actor: 'app:1',
    cause: 'refund',
    mayRepeat: true,
  };
  const [limits] = LIMITS;
  const free = { blockedBy: null, limits: limits!, earlier: [] };
  const codeOf = (decided: object) => ('refuse' in decided ? (decided.refuse as { code: string }).code : undefined);
  const decide = (one: Partial<OrderRow>, facts: object = {}, also: object = {}) =>
    decideNewRefund({ ...order, ...one }, { ...free, ...facts }, { ...asked, ...also }, NOW);
  t.is(codeOf(decide({ state: 'pending', paid: 0n })), 'order_not_paid');
  t.is(codeOf(decide({ state: 'closed' })), 'order_not_paid');
  t.is(codeOf(decide({}, { blockedBy: 'amount_mismatch' })), 'refunds_blocked');
  t.is(codeOf(decide({ refunded: 601n })), 'refund_exceeds_refundable');
  t.is(codeOf(decide({ refunding: 601n })), 'refund_exceeds_refundable');
  const old = refundRow({ createdAt: at(-3), sentAt: at(-3) });
  t.is(codeOf(decide({}, { earlier: [old] })), 'refund_in_progress');
  t.is(codeOf(decide({}, { earlier: [old] }, { mayRepeat: false })), undefined);
  t.is(codeOf(decide({}, { earlier: [{ ...old, state: 'failed' }] })), undefined);
  t.is(
    codeOf(decide({}, { limits: { ...limits, maxRefundsPerOrder: 1 }, earlier: [{ ...old, state: 'succeeded' }] })),
    'refund_limit_reached',
  );
  t.is(codeOf(decide({ paidAt: at(-366 * 86_400) })), 'refund_window_over');
  const opened = decide({}, { earlier: [{ ...old, state: 'succeeded' }] });
  if ('refuse' in opened) return t.fail();
  t.is(opened.open?.rule, 'refund_requested');
  t.deepEqual(opened.open?.sums, { refunding: 400n });
  t.deepEqual(opened.open?.row.sentAt, at(57), 'a minute after the earlier one was sent');
  t.is(REFUND_FACTS.length, 4);
});

for (const origin of ['channel', 'dispute'] as const)
  test(`a refund made elsewhere (${origin}) is never sent, even if the channel keeps reporting it absent`, (t) => {
    const order = orderRow({ state: 'paid', paid: 1000n, refunding: 400n });
    const asked = { state: 'processing', origin, accepted: true, absentCount: 1, absentFirstAt: at(-61) } as const;
    const change = decideRefund(order, refundRow(asked), { outcome: { kind: 'absent' } }, NOW);
    if ('refuse' in change) return t.fail();
    const after = { ...refundRow(asked), ...change.refund };
    t.true(after.accepted);
    t.not(nextRefundStep(after, NOW), 'send');
    t.not(nextRefundStep(after, NOW), 'ask_if_known');
    const facts = { blockedBy: null, limits: LIMITS[0]! };
    for (const state of ['failed', 'processing'] as const) {
      const old = refundRow({ ...asked, state, createdAt: at(-9 * 86_400), sentAt: null });
      t.like(decideRefund(order, old, { command: 'retry', facts }, NOW), { refuse: { code: 'refund_not_retryable' } });
    }
  });

test('a refund that succeeds after a reversal resolves the reversal exception', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, refunding: 400n });
  const outcome = { kind: 'succeeded', amount: { minor: 400n, currency: 'CNY' }, at: NOW } as const;
  const change = decideRefund(order, refundRow({ state: 'abnormal', accepted: true }), { outcome }, NOW);
  if ('refuse' in change) return t.fail();
  t.true(change.resolve?.some(({ where }) => 'kind' in where && where.kind === 'refund_reversed'));
});

const DONE = {
  kind: 'succeeded',
  amount: { minor: 400n, currency: 'CNY' },
  at: at(-1),
  channelRefundNo: 'CR-1',
} as const;
const FAILED = { kind: 'failed', code: 'CLOSED', reason: 'closed' } as const;
const BY_PERSON = { state: 'succeeded', elsewhere: true, failureCode: 'CLOSED', failureMessage: 'by bank' } as const;

test('a report that may be outdated is queried again, and only a reversal counts immediately', (t) => {
  const kinds = (judge: typeof mayBeOutdated, change: Partial<RefundRow>) =>
    REFUND_HEARD.filter(({ sent }) => !sent)
      .filter(({ outcome }) => judge(refundRow(change), outcome))
      .map(({ outcome }) => outcome.kind);
  const done = ['succeeded', 'succeeded', 'succeeded', 'succeeded'];
  t.deepEqual(kinds(mayBeOutdated, { state: 'failed' }), ['pending', ...done]);
  t.deepEqual(kinds(mayBeOutdated, { state: 'abnormal' }), done);
  t.deepEqual(kinds(mayBeOutdated, BY_PERSON), done);
  for (const state of ['pending', 'processing', 'succeeded'] as const) t.deepEqual(kinds(mayBeOutdated, { state }), []);
  t.deepEqual(kinds(isReversal, { state: 'succeeded' }), ['failed', 'abnormal']);
  t.deepEqual(kinds(isReversal, BY_PERSON), [], 'the payer has it by another way');
  for (const state of ['pending', 'processing', 'failed', 'abnormal'] as const)
    t.deepEqual(kinds(isReversal, { state }), []);
});

test('a refund paid elsewhere by an operator and also by the channel counts as the channel refund and raises an exception', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, refunded: 400n });
  const hear = (change: Partial<RefundRow>, outcome: RefundReport['outcome']) =>
    decideRefund(order, refundRow({ ...BY_PERSON, ...change }), { outcome }, NOW);
  const twice = hear({}, DONE);
  t.like(twice.refund, { elsewhere: false, failureCode: null, failureMessage: null, channelRefundNo: 'CR-1' });
  t.like(twice.raise?.[0], { kind: 'refund_elsewhere', detail: { paidTwice: true, reason: 'by bank' }, again: true });
  t.is(hear({ origin: 'channel' }, DONE).refund?.elsewhere, true, 'nobody here made it');
  const less = hear({}, { ...DONE, amount: { minor: 399n, currency: 'CNY' } });
  t.is(less.refund, undefined, 'another amount is listed and counts as little as before');
  t.like(less.raise?.[0], { kind: 'refund_elsewhere', received: { minor: 399n } });
  t.is(hear({}, { ...DONE, toMerchant: true }).raise, undefined, 'the merchant has it, and the payer has the other');
  t.is(hear({}, FAILED).rule, null);
  t.is(hear({}, { ...FAILED, kind: 'abnormal' }).raise, undefined);
});

test('a refund made elsewhere cannot be released, because the channel does not know our number for it', (t) => {
  const order = orderRow({ state: 'paid', paid: 1000n, refunding: 400n });
  const asked = { reason: 'x', actor: 'admin:1', listed: true };
  for (const origin of ['channel', 'dispute'] as const) {
    const refund = refundRow({ origin, state: 'abnormal' });
    const released = decideRefund(order, refund, { command: 'release', ...asked }, NOW);
    t.like(released, { refuse: { code: 'refund_not_released' } });
    t.like(decideRefund(order, refund, { command: 'failed_at_channel', ...asked }, NOW), { rule: 'refund_decided' });
  }
});

test('a refund of a surplus payment leaves the order sums alone, and resolves the exception once fully refunded', (t) => {
  const amount = { minor: 600n, currency: 'CNY' };
  const payment = { channelNo: 'T-2', amount: { minor: 1000n, currency: 'CNY' } };
  const outcome = { kind: 'succeeded', amount, at: NOW, channelRefundNo: 'CR-2', payment } as const;
  const also = { refundNo: 'R-2', channelRefundNo: 'CR-2', number: 'CR-2', actor: 'x', cause: 'notice' };
  const paid = orderRow({ state: 'paid', paid: 1000n, channelTradeNo: 'T-1' });
  const unpaid = orderRow({ state: 'pending', paid: 0n, channelTradeNo: 'T-2' });
  for (const order of [paid, unpaid])
    for (const [back, isWhole] of [
      [0n, false],
      [399n, false],
      [400n, true],
    ] as const) {
      t.false(isOwnPayment(order, payment));
      const ofOther = { ...payment, owner: null, back, isListed: order === unpaid };
      const change = decideForeignRefund(order, { isKnown: false, ofOther }, outcome, also, NOW);
      t.like(change.open?.row, { surplus: true, paymentNo: 'T-2', amount: 600n, state: 'succeeded', elsewhere: true });
      t.deepEqual(change.open?.sums, {});
      t.deepEqual(change.open?.raise, []);
      t.deepEqual(
        change.raise?.map(({ kind, dedupe, received }) => ({ kind, dedupe, received })),
        order === paid ? [{ kind: 'double_paid', dedupe: 'T-2', received: payment.amount }] : [],
      );
      const ended = change.resolve?.map(({ where }) => ('kind' in where ? where.kind : undefined));
      const own = isWhole ? ['double_paid', 'amount_mismatch'] : [];
      t.deepEqual(ended, [...own, 'duplicate_payment']);
      t.deepEqual(
        change.order,
        order === unpaid ? { nextCheckAt: NOW, leasedUntil: null } : undefined,
        'open: asked about',
      );
    }
  const ofOther = { ...payment, owner: 'P-OTHER', back: 0n, isListed: false };
  const anothers = decideForeignRefund(paid, { isKnown: false, ofOther }, outcome, also, NOW);
  t.is(anothers.open, undefined, 'the payment of another order is not given back here');
  const listed = { kind: 'payment_of_another_order', dedupe: 'T-2', detail: { owner: 'P-OTHER' } };
  t.like(anothers.raise?.[0], { ...listed, received: payment.amount }, 'all that was paid, not what went back');
});

test('a refund without a payment number, or with the payment number of the order, counts in the order sums', (t) => {
  const payment = { channelNo: 'T-1', amount: { minor: 1000n, currency: 'CNY' } };
  t.true(isOwnPayment(orderRow({ state: 'paid', paid: 1000n, channelTradeNo: 'T-1' }), payment));
  t.true(isOwnPayment(orderRow({ state: 'paid', paid: 1000n, channelTradeNo: 'T-1' }), undefined));
  t.true(isOwnPayment(orderRow({ state: 'closed', paid: 1000n, channelTradeNo: null }), payment));
});
