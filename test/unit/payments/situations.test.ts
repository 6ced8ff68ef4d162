import test from 'ava';
import { paidTwice, refundSituation } from '../../../server/payments/explain/refund-situations.ts';
import { situationOf, wordsFor } from '../../../server/payments/explain/situations.ts';

const REFUND = {
  refundNo: 'R1',
  state: 'failed',
  origin: 'merchant',
  approval: null,
  elsewhere: false,
  failureCode: 'BALANCE',
} as unknown as Parameters<typeof refundSituation>[0];

const now = new Date('2026-11-21T06:05:00.000Z');

for (const [failureMessage, en, zh] of [
  ['The balance is too low.', 'The balance is too low', 'The balance is too low'],
  ['余额不足。', '余额不足', '余额不足'],
  ['no balance', 'no balance', 'no balance'],
] as const)
  test(`a refusal is explained with one full stop: ${failureMessage}`, (t) => {
    t.deepEqual(refundSituation({ ...REFUND, failureMessage }, now, false).reason, {
      en: `The channel refused the refund: BALANCE ${en}.`,
      zh: `渠道拒绝了该退款：BALANCE ${zh}。`,
    });
    t.deepEqual(refundSituation({ ...REFUND, failureMessage, approval: 'rejected' }, now, false).reason, {
      en: `An administrator rejected the refund: ${en}.`,
      zh: `管理员驳回了该退款：${zh}。`,
    });
  });

test('a merchant reads nothing about other orders, administrators or commands', (t) => {
  const waiting = { ...REFUND, state: 'pending', approval: 'waiting', actor: 'admin:17' } as typeof REFUND;
  const exception = { id: 'x-1', state: 'open', detail: { owner: 'P-OF-ANOTHER', reason: 'wired on Monday' } };
  const order = { mode: 'live', state: 'pending', paid: 0n } as Parameters<typeof situationOf>[0]['order'];
  const exceptions = [{ ...exception, kind: 'payment_of_another_order', dedupe: '2026112122' }] as never;
  const situations = [
    refundSituation(waiting, now, false),
    paidTwice(exception as never),
    situationOf({ order, exceptions, now, simulated: true, sibling: false }),
    situationOf({ order: { ...order, mode: 'simulator' }, exceptions, now, simulated: false, sibling: false }),
  ];
  for (const situation of situations)
    for (const language of ['en', 'zh'] as const) {
      const told = JSON.stringify(wordsFor('merchant', situation, language));
      t.notRegex(told, /admin:17|P-OF-ANOTHER|2026112122|wired|payctl|Debug/, situation.code);
      const full = JSON.stringify(wordsFor('administrator', situation, language));
      t.regex(full, /admin:17|P-OF-ANOTHER|wired|Debug/, situation.code);
    }
});

test('a merchant repeats a failed refund by its own number', (t) => {
  const fix = (merchantRefundNo: string | null, language: 'en' | 'zh') =>
    wordsFor('merchant', refundSituation({ ...REFUND, merchantRefundNo, failureMessage: 'no' }, now, true), language)
      .fix;
  t.is(fix('m-1', 'en'), 'repeat the refund request with the merchantRefundNo m-1');
  t.is(fix(null, 'zh'), '重新发起退款');
  const once = refundSituation({ ...REFUND, failureMessage: 'no' }, now, false);
  t.is(wordsFor('merchant', once, 'en').fix, null, 'it cannot be retried');
});
