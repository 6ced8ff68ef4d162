import test from 'ava';
import { refundSituation } from '../../../server/payments/explain/situations.ts';

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
