import test from 'ava';
import { decideNewRefund, decideRefund } from '../../../../server/payments/core/decide-refund.ts';
import { type GivenBack, needsApproval } from '../../../../server/payments/core/open-refund.ts';
import { isSendable, later, nextRefundStep } from '../../../../server/payments/core/plan.ts';
import { LIMITS } from '../core-refunds.ts';
import { at, NOW, orderRow, refundRow } from '../../../support/core-rows.ts';

const order = orderRow({ state: 'paid', paid: 1000n, paidAt: at(-3600), refunding: 400n });
const facts = { blockedBy: null, limits: LIMITS[0]!, earlier: [] };
const asked = {
  refundNo: 'R-2',
  amount: 400n,
  origin: 'merchant' as const,
  reason: null,
  merchantRefundNo: null,
  actor: 'app:1',
  cause: 'refund',
  mayRepeat: true,
  waits: true,
};

test('a refund that waits for approval is reserved and reported but never sent', (t) => {
  const change = decideNewRefund(order, facts, asked, NOW);
  if ('refuse' in change) return t.fail();
  const { row, sums, emit, wake } = change.open!;
  t.deepEqual(sums, { refunding: 800n });
  t.is(emit?.[0]?.type, 'refund.approval_requested');
  t.false(wake);
  for (const now of [NOW, later(NOW, 40 * 86_400), later(NOW, 1000 * 86_400)]) {
    t.is(nextRefundStep(row, now), 'await_slot');
    t.is(nextRefundStep({ ...row, sentAt: null }, now), 'await_slot');
    t.false(isSendable(row));
    t.deepEqual(decideRefund(order, row, { command: 'send' }, now), { rule: null });
    t.true('refuse' in decideRefund(order, row, { command: 'retry', facts }, now));
  }
});

test('an approved refund becomes due in its turn, and another waiting refund does not delay it', (t) => {
  const waiting = refundRow({ refundNo: 'R-1', approval: 'waiting', tries: 0, sentAt: at(9e9), createdAt: at(-50) });
  const alone = decideRefund(order, waiting, { command: 'approve', facts: { ...facts, earlier: [waiting] } }, NOW);
  t.like(alone, { rule: null, refund: { approval: 'approved', sentAt: NOW, nextCheckAt: later(NOW, 10) } });
  const sent = refundRow({ refundNo: 'R-0', sentAt: at(-10) });
  const after = decideRefund(
    order,
    waiting,
    { command: 'approve', facts: { ...facts, earlier: [waiting, sent] } },
    NOW,
  );
  t.like(after, { refund: { sentAt: at(50), nextCheckAt: at(50) } });
  const other = decideNewRefund(order, { ...facts, earlier: [waiting] }, { ...asked, waits: false, amount: 1n }, NOW);
  t.deepEqual('refuse' in other ? undefined : other.open?.row.sentAt, NOW);
});

test('a rejected refund fails and frees its amount, and only a waiting refund can be approved or rejected', (t) => {
  const waiting = refundRow({ approval: 'waiting', tries: 0 });
  const rejected = decideRefund(order, waiting, { command: 'reject', reason: 'no' }, NOW);
  t.like(rejected, { rule: 'refund_decided', order: { refunding: 0n } });
  t.like(rejected, { refund: { state: 'failed', approval: 'rejected', failureCode: 'approval_rejected' } });
  const after = refundRow({ state: 'failed', approval: 'rejected' });
  t.like(decideRefund(order, after, { command: 'retry', facts }, NOW), { refuse: { code: 'refund_not_retryable' } });
  for (const approval of [null, 'approved', 'rejected'] as const) {
    const one = refundRow({ approval });
    t.deepEqual(decideRefund(order, one, { command: 'approve', facts }, NOW), { rule: null });
    t.deepEqual(decideRefund(order, one, { command: 'reject', reason: 'no' }, NOW), { rule: null });
  }
});

test('the approval limit counts all manual refunds of an order except failed, won and approved ones', (t) => {
  const one = { amount: 300n, origin: 'merchant' as const };
  const earlier = refundRow({ amount: 300n, origin: 'admin' });
  const of = (...refunds: GivenBack['refunds']) => ({ refunds, accepted: [] });
  t.false(needsApproval(of(), { ...one, amount: 500n }, 500n));
  t.true(needsApproval(of(), { ...one, amount: 501n }, 500n));
  t.true(needsApproval(of(earlier), one, 500n));
  t.true(needsApproval(of({ ...earlier, state: 'succeeded' }), one, 500n));
  for (const beside of [
    { state: 'failed' },
    { approval: 'approved' },
    { approval: 'waiting' },
    { origin: 'channel' },
  ] as const)
    t.false(needsApproval(of({ ...earlier, ...beside }), one, 500n), JSON.stringify(beside));
  t.false(needsApproval(of(earlier), { ...one, origin: 'late', amount: 9999n }, 500n));
  const dispute = { amount: 300n, amountLost: 0n, state: 'under_review', approved: false } as const;
  const withDispute = (beside: object) =>
    needsApproval({ refunds: [], accepted: [{ ...dispute, ...beside }] }, one, 500n);
  t.true(withDispute({}));
  t.true(withDispute({ state: 'lost', amountLost: 300n }));
  t.false(withDispute({ state: 'lost' }), 'a refund had paid it');
  for (const beside of [{ state: 'won' }, { approved: true }]) t.false(withDispute(beside), JSON.stringify(beside));
});
