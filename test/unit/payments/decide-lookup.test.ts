import test from 'ava';
import type { RefundLookupRow } from '../../../server/db/entities/refunds.ts';
import type { RefundOutcome } from '../../../server/payments/channel.ts';
import { decideLookup, unanswered } from '../../../server/payments/core/decide-refund.ts';
import { explainedBy, unexplainedRefunds } from '../../../server/payments/core/apply-order-outcome.ts';
import { at, NOW } from '../../support/core-rows.ts';

function question(change: Partial<RefundLookupRow> = {}): RefundLookupRow {
  const none = {
    revision: 1,
    total: null,
    nextAt: NOW,
    leasedUntil: null,
    queueKey: 'alipay live acc',
    lastAnswer: null,
    finishedAt: null,
  };
  return { id: 'q', orderNo: 'P1', number: 'portal-1', state: 'open', checks: 0, createdAt: NOW, ...none, ...change };
}

const done: RefundOutcome = { kind: 'succeeded', amount: { minor: 400n, currency: 'CNY' }, at: NOW };
const failed: RefundOutcome = { kind: 'failed', code: 'CLOSED', reason: 'closed' };
const silent: readonly RefundOutcome[] = [
  { kind: 'absent' },
  { kind: 'pending' },
  { kind: 'unknown', cause: 'timeout' },
  { kind: 'abnormal', code: 'ABNORMAL', reason: 'no' },
  { kind: 'refused', code: 'NO', reason: 'no' },
];
const paid = { paid: 1000n, isKnown: false };

test('a succeeded or failed refund answers a refund lookup and resolves its exception, unless the payment is still unknown', (t) => {
  for (const outcome of [done, failed]) {
    const { patch, resolve, raise, settle } = decideLookup(paid, question(), outcome, NOW);
    t.like(patch, { state: 'answered', nextAt: null });
    t.deepEqual(resolve?.[0]?.where, { orderNo: 'P1', kind: 'refund_unexplained', dedupe: 'portal-1' });
    t.is(raise, undefined);
    t.is(settle, outcome.kind === 'succeeded' ? outcome : undefined);
  }
  const early = decideLookup({ paid: 0n, isKnown: false }, question(), done, NOW);
  t.is(early.settle, undefined);
  t.is(early.patch.state, undefined);
  const listed = decideLookup({ paid: 0n, isKnown: false, isOfListed: true }, question(), done, NOW);
  t.is(listed.settle, done, 'of a payment that is listed as another one than the order has');
  t.is(listed.patch.state, 'answered');
});

test('every final outcome answers the lookup of a known refund and settles it', (t) => {
  for (const outcome of [done, failed, silent[3]!]) {
    const { patch, settle } = decideLookup({ paid: 1000n, isKnown: true }, question(), outcome, NOW);
    t.like(patch, { state: 'answered', lastAnswer: outcome.kind });
    t.is(settle, outcome as typeof settle);
  }
});

test('a pending outcome of a known refund is settled and the lookup is repeated', (t) => {
  const pending = { kind: 'pending' } as const;
  const { patch, settle } = decideLookup({ paid: 1000n, isKnown: true }, question(), pending, NOW);
  t.is(settle, pending);
  t.is(patch.state, undefined);
  t.true(patch.nextAt! > NOW);
  t.is(decideLookup(paid, question(), pending, NOW).settle, undefined);
});

test('any other outcome is queried again and raises an exception once the lookup is a day old', (t) => {
  for (const outcome of silent) {
    const young = decideLookup(paid, question({ checks: 6, createdAt: at(-3600) }), outcome, NOW);
    t.deepEqual(young.raise, []);
    t.deepEqual(young.patch, { checks: 7, nextAt: at(86_400 - 3600), leasedUntil: null, lastAnswer: outcome.kind });
    const old = decideLookup(paid, question({ checks: 7, createdAt: at(-86_400) }), outcome, NOW);
    t.like(old.raise?.[0], { kind: 'refund_unexplained', dedupe: 'portal-1', blocksRefunds: true, again: true });
    t.true(old.patch.nextAt! > NOW);
  }
});

test('a refunded total above our refunds raises an unexplained refund, until our refunds add up to it', (t) => {
  const sums = { refunded: 100n, refunding: 200n };
  t.deepEqual(unexplainedRefunds(sums, { refundsHint: true }), []);
  t.deepEqual(unexplainedRefunds(sums, { refundsHint: true, refundedTotal: 300n }), []);
  t.like(unexplainedRefunds(sums, { refundsHint: true, refundedTotal: 700n })[0], { dedupe: 'beyond:400' });
  t.like(unexplainedRefunds({ refunded: 0n, refunding: 0n }, { refundsHint: true })[0], { dedupe: 'once' });
  t.deepEqual(unexplainedRefunds({ refunded: 0n, refunding: 0n }, {}), []);
  const kind = 'refund_unexplained';
  const open = [
    { id: 'total', kind, dedupe: 'beyond:400', detail: { total: '700' } },
    { id: 'hint', kind, dedupe: 'once', detail: null },
    { id: 'number', kind, dedupe: 'portal-1', detail: null },
    { id: 'other', kind: 'late_paid', dedupe: 'once', detail: null },
  ] as const;
  const ended = (refunded: bigint) => explainedBy({ refunded, refunding: 0n }, open).map(({ where }) => where);
  t.deepEqual(ended(0n), []);
  t.deepEqual(ended(699n), [{ id: 'hint' }]);
  t.deepEqual(ended(700n), [{ id: 'total' }, { id: 'hint' }]);
});

test('the exception of a lookup without a usable result has the answer as `said`, the field that the API shows and that forgetting a payer erases', (t) => {
  const answer = { kind: 'refused', code: 'NO', reason: 'no' };
  t.deepEqual(unanswered('portal-1', answer).detail, { number: 'portal-1', said: answer });
});
