import test from 'ava';
import { channelSaying, NOW, order, ref, refund, SELLER_ID, APP_ID } from './fixture.ts';

const ok = { code: '10000', msg: 'Success', out_trade_no: order.orderNo };
const trade = { ...ok, trade_no: '2026030122001', total_amount: '12.34', trade_status: 'WAIT_BUYER_PAY' };
const paidAt = '2026-03-01 11:59:00';
const refusal = (sub_code: string, code = '40004') => ({ code, msg: 'Business Failed', sub_code, sub_msg: 'no' });

test('precreate: a QR text makes the order pending', async (t) => {
  const outcome = await channelSaying({ ...ok, qr_code: 'https://qr.example.test/1' }).place(order);
  t.deepEqual(outcome, { kind: 'pending', pay: { type: 'qr', qrCode: 'https://qr.example.test/1' } });
});

test('precreate: a response about another order or without a QR text is unknown', async (t) => {
  t.like(await channelSaying({ ...ok, out_trade_no: 'other', qr_code: 'x' }).place(order), {
    kind: 'unknown',
    cause: 'mismatch',
  });
  t.like(await channelSaying(ok).place(order), { kind: 'unknown', cause: 'unparsable' });
});

const created: [string, string, object][] = [
  ['ACQ.INVALID_PARAMETER', '40004', { kind: 'declined', definite: true }],
  ['ACQ.SELLER_BEEN_BLOCKED', '40004', { kind: 'declined', definite: true }],
  ['isv.invalid-app-id', '40002', { kind: 'declined', definite: true }],
  ['isv.insufficient-isv-permissions', '40006', { kind: 'declined', definite: true }],
  ['ACQ.TRADE_HAS_SUCCESS', '40004', { kind: 'declined', definite: false, doubt: 'trade_may_exist' }],
  ['ACQ.TRADE_HAS_CLOSE', '40004', { kind: 'declined', definite: false, doubt: 'trade_may_exist' }],
  ['ACQ.CONTEXT_INCONSISTENT', '40004', { kind: 'declined', definite: false, doubt: 'trade_may_exist' }],
  ['ACQ.SOMETHING_NEW', '40004', { kind: 'declined', definite: false, doubt: 'unlisted' }],
  ['aop.invalid-auth-token', '20001', { kind: 'declined', definite: false, doubt: 'unlisted' }],
  ['ACQ.SYSTEM_ERROR', '40004', { kind: 'unknown', cause: 'busy' }],
  ['isp.unknow-error', '20000', { kind: 'unknown', cause: 'busy' }],
  ['isv.invalid-timestamp', '40002', { kind: 'unknown', cause: 'clock_skew' }],
];
test('precreate: a response without a code is unknown', async (t) => {
  t.like(await channelSaying({}).place(order), { kind: 'unknown', cause: 'unparsable' });
});

for (const [subCode, code, expected] of created) {
  test(`precreate refused with ${code} ${subCode} is mapped to its outcome`, async (t) => {
    t.like(await channelSaying(refusal(subCode, code)).place(order), expected);
  });
}

test('query: a paid order has its trade number, amount and payment time', async (t) => {
  for (const trade_status of ['TRADE_SUCCESS', 'TRADE_FINISHED']) {
    const outcome = await channelSaying({ ...trade, trade_status, send_pay_date: paidAt, buyer_user_id: '2088' }).query(
      ref,
    );
    const at = new Date('2026-03-01T03:59:00Z');
    t.deepEqual(outcome, { kind: 'paid', channelNo: trade.trade_no, amount: order.amount, at, payer: '2088' });
  }
});

test('query: a success without a readable time is paid, with the time of receipt', async (t) => {
  const outcome = await channelSaying({ ...trade, trade_status: 'TRADE_SUCCESS', send_pay_date: 'soon' }).query(ref);
  t.like(outcome, { kind: 'paid', at: NOW });
});

test('query: a success with another amount keeps that amount, so that the order is not settled as paid', async (t) => {
  const outcome = await channelSaying({ ...trade, trade_status: 'TRADE_SUCCESS', total_amount: '12.33' }).query(ref);
  t.like(outcome, { kind: 'paid', amount: { minor: 1233n, currency: 'CNY' } });
});

test('query: an invalid amount is unknown', async (t) => {
  for (const total_amount of ['', '1e3', '-12.34', 'NaN', '12.345', '\uff11\uff12.34', 12.34, null]) {
    const outcome = await channelSaying({ ...trade, trade_status: 'TRADE_SUCCESS', total_amount }).query(ref);
    t.like(outcome, { kind: 'unknown', cause: 'mismatch' }, String(total_amount));
  }
});

test('query: TRADE_CLOSED with a payment time is paid and fully refunded', async (t) => {
  const closed = { ...trade, trade_status: 'TRADE_CLOSED' };
  t.deepEqual(await channelSaying(closed).query(ref), { kind: 'closed' });
  t.like(await channelSaying({ ...closed, send_pay_date: paidAt }).query(ref), { kind: 'paid', refundsHint: true });
});

test('query: a waiting or unlisted status is pending', async (t) => {
  for (const trade_status of ['WAIT_BUYER_PAY', 'TRADE_PENDING', 'trade_success', '', 'constructor']) {
    t.deepEqual(await channelSaying({ ...trade, trade_status }).query(ref), { kind: 'pending' }, trade_status);
  }
});

const queried: [string, object, object][] = [
  ['TRADE_NOT_EXIST is absent', refusal('ACQ.TRADE_NOT_EXIST'), { kind: 'absent' }],
  [
    'TRADE_NOT_EXIST under another code is unknown',
    refusal('ACQ.TRADE_NOT_EXIST', '20000'),
    { kind: 'unknown', cause: 'busy' },
  ],
  ['busy', refusal('ACQ.SYSTEM_ERROR'), { kind: 'unknown', cause: 'busy' }],
  ['an unlisted refusal', refusal('ACQ.NEW'), { kind: 'unknown', cause: 'rejected' }],
  ['a wrong configuration', refusal('isv.invalid-app-id', '40002'), { kind: 'unknown', cause: 'misconfigured' }],
  ['in progress', { code: '10003' }, { kind: 'unknown', cause: 'in_progress' }],
  ['another order', { ...trade, out_trade_no: 'other' }, { kind: 'unknown', cause: 'mismatch' }],
  ['no status', { ...trade, trade_status: undefined }, { kind: 'unknown', cause: 'unparsable' }],
  [
    'no trade number',
    { ...trade, trade_status: 'TRADE_SUCCESS', trade_no: '' },
    { kind: 'unknown', cause: 'unparsable' },
  ],
  ['unpaid with another amount', { ...trade, total_amount: '1.00' }, { kind: 'unknown', cause: 'mismatch' }],
  [
    'closed with another amount',
    { ...trade, trade_status: 'TRADE_CLOSED', total_amount: '1' },
    { kind: 'unknown', cause: 'mismatch' },
  ],
  ['an empty response', {}, { kind: 'unknown', cause: 'rejected' }],
];
for (const [name, content, expected] of queried) {
  test(`query: ${name}`, async (t) => t.like(await channelSaying(content).query(ref), expected));
}

test('query: a trade of another seller is unknown', async (t) => {
  const fields = { appId: APP_ID, sellerId: SELLER_ID };
  const content = { ...trade, trade_status: 'TRADE_SUCCESS', seller_id: '2088000000000002' };
  t.like(await channelSaying(content, {}, fields).query(ref), { kind: 'unknown', cause: 'mismatch' });
});

const closed: [string, object, object][] = [
  ['done', ok, { kind: 'closed' }],
  ['another order', { ...ok, out_trade_no: 'other' }, { kind: 'unknown', cause: 'mismatch' }],
  ['no such trade', refusal('ACQ.TRADE_NOT_EXIST'), { kind: 'absent' }],
  ['wrong state', refusal('ACQ.TRADE_STATUS_ERROR'), { kind: 'refused', code: 'ACQ.TRADE_STATUS_ERROR' }],
  ['unlisted', refusal('ACQ.NEW'), { kind: 'refused', code: 'ACQ.NEW' }],
  ['busy', refusal('ACQ.SYSTEM_ERROR'), { kind: 'unknown', cause: 'busy' }],
];
for (const [name, content, expected] of closed) {
  test(`close: ${name}`, async (t) => t.like(await channelSaying(content).close(ref), expected));
}

const till = { ...order, scene: 'code' as const, payCode: '280000000000000001' };
const paidByCode = {
  ...ok,
  trade_no: trade.trade_no,
  total_amount: '12.34',
  gmt_payment: paidAt,
  buyer_user_id: '2088',
};
const byCode: [string, object, object][] = [
  [
    'paid',
    paidByCode,
    {
      kind: 'paid',
      channelNo: trade.trade_no,
      amount: order.amount,
      at: new Date('2026-03-01T03:59:00Z'),
      payer: '2088',
    },
  ],
  ['paid another amount', { ...paidByCode, total_amount: '12.35' }, { amount: { minor: 1235n, currency: 'CNY' } }],
  ['paid without a time', { ...paidByCode, gmt_payment: undefined }, { kind: 'paid', at: NOW }],
  ['paid without an amount', { ...paidByCode, total_amount: undefined }, { kind: 'unknown', cause: 'mismatch' }],
  ['paid without a number', { ...paidByCode, trade_no: '' }, { kind: 'unknown', cause: 'unparsable' }],
  ['about another order', { ...paidByCode, out_trade_no: 'x' }, { kind: 'unknown', cause: 'mismatch' }],
  ['the payer enters the password', { ...ok, code: '10003' }, { kind: 'pending' }],
  [
    'another payer enters the password',
    { ...ok, code: '10003', out_trade_no: 'x' },
    { kind: 'unknown', cause: 'mismatch' },
  ],
  ['an unknown error', refusal('isp.unknow-error', '20000'), { kind: 'unknown', cause: 'busy' }],
  ['an old code', refusal('ACQ.PAYMENT_AUTH_CODE_INVALID'), { kind: 'declined', definite: true }],
  ['the cashier did not open', refusal('ACQ.PULL_MOBILE_CASHIER_FAIL'), { kind: 'declined', definite: false }],
];
for (const [name, content, expected] of byCode) {
  test(`a payer's code: ${name}`, async (t) => t.like(await channelSaying(content).place(till), expected));
}

const cancelled: [string, object, object][] = [
  ['unpaid', { ...ok, retry_flag: 'N', action: 'close' }, { kind: 'closed' }],
  [
    'paid',
    { ...ok, trade_no: '1', retry_flag: 'N', action: 'refund', gmt_refund_pay: paidAt },
    { kind: 'closed', returned: { channelNo: '1', at: new Date('2026-03-01T03:59:00Z') } },
  ],
  [
    'paid, without a number or time',
    { ...ok, action: 'refund' },
    { kind: 'closed', returned: { channelNo: null, at: NOW } },
  ],
  ['no such trade', { ...ok, retry_flag: 'N' }, { kind: 'absent' }],
  ['to be repeated', { ...ok, retry_flag: 'Y', action: 'close' }, { kind: 'unknown', cause: 'busy' }],
  ['an unlisted action', { ...ok, retry_flag: 'N', action: 'wait' }, { kind: 'unknown', cause: 'unparsable' }],
  ['another order', { ...ok, out_trade_no: 'x', action: 'close' }, { kind: 'unknown', cause: 'mismatch' }],
  ['busy, spelled AQC. as in the list', refusal('AQC.SYSTEM_ERROR'), { kind: 'unknown', cause: 'busy' }],
  ['too late', refusal('ACQ.TRADE_CANCEL_TIME_OUT'), { kind: 'refused', code: 'ACQ.TRADE_CANCEL_TIME_OUT' }],
];
for (const [name, content, expected] of cancelled) {
  test(`a code payment is cancelled: ${name}`, async (t) =>
    t.like(await channelSaying(content).close({ ...ref, scene: 'code' }), expected));
}

const refundOk = { ...ok, trade_no: trade.trade_no, fund_change: 'Y', refund_fee: '2.34' };
const refunded: [string, object, object][] = [
  [
    'done',
    { ...refundOk, gmt_refund_pay: paidAt },
    { kind: 'succeeded', amount: refund.refundAmount, at: new Date('2026-03-01T03:59:00Z') },
  ],
  [
    'done after other refunds: the sum is not the amount',
    { ...refundOk, refund_fee: '10.00' },
    { kind: 'succeeded', amount: refund.refundAmount },
  ],
  ['a sum below this refund', { ...refundOk, refund_fee: '2.33' }, { kind: 'unknown', cause: 'mismatch' }],
  ['a sum above the order', { ...refundOk, refund_fee: '12.35' }, { kind: 'unknown', cause: 'mismatch' }],
  [
    'no change of funds',
    { ...refundOk, fund_change: 'N', refund_fee: '0.00' },
    { kind: 'unknown', cause: 'in_progress' },
  ],
  [
    'no change of funds, with all members of a completed refund',
    { ...refundOk, fund_change: 'N', gmt_refund_pay: paidAt },
    { kind: 'unknown', cause: 'in_progress' },
  ],
  ['no fund_change', { ...refundOk, fund_change: undefined }, { kind: 'unknown', cause: 'in_progress' }],
  ['another order', { ...refundOk, out_trade_no: 'other' }, { kind: 'unknown', cause: 'mismatch' }],
  ['same number, other facts', refusal('ACQ.DISCORDANT_REPEAT_REQUEST'), { kind: 'unknown', cause: 'mismatch' }],
  ['no balance', refusal('ACQ.SELLER_BALANCE_NOT_ENOUGH'), { kind: 'refused', code: 'ACQ.SELLER_BALANCE_NOT_ENOUGH' }],
  ['finished', refusal('ACQ.TRADE_HAS_FINISHED'), { kind: 'refused' }],
  ['an unlisted business code', refusal('ACQ.NEW'), { kind: 'refused', code: 'ACQ.NEW' }],
  ['an unlisted code without ACQ.', refusal('NEW'), { kind: 'unknown', cause: 'rejected' }],
  ['a business code under another code', refusal('ACQ.NEW', '40005'), { kind: 'unknown', cause: 'rejected' }],
  ['busy', refusal('ACQ.SYSTEM_ERROR'), { kind: 'unknown', cause: 'busy' }],
];
for (const [name, content, expected] of refunded) {
  test(`refund: ${name}`, async (t) => t.like(await channelSaying(content).refund(refund), expected));
}

const found = {
  ...ok,
  out_request_no: refund.refundNo,
  refund_amount: '2.34',
  total_amount: '12.34',
  refund_status: 'REFUND_SUCCESS',
};
const refundQueried: [string, object, object][] = [
  [
    'success with a time',
    { ...found, gmt_refund_pay: paidAt },
    { kind: 'succeeded', amount: refund.refundAmount, at: new Date('2026-03-01T03:59:00Z') },
  ],
  ['success without a time', found, { kind: 'succeeded', amount: refund.refundAmount, at: NOW }],
  [
    'another amount',
    { ...found, refund_amount: '2.00' },
    { kind: 'succeeded', amount: { minor: 200n, currency: 'CNY' } },
  ],
  ['no status, no amount', { ...ok, out_request_no: refund.refundNo }, { kind: 'absent' }],
  ['an amount without a status', { ...found, refund_status: undefined }, { kind: 'absent' }],
  ['an unlisted status', { ...found, refund_status: 'REFUND_NEW' }, { kind: 'pending' }],
  ['no such trade', refusal('ACQ.TRADE_NOT_EXIST'), { kind: 'absent' }],
  ['no such trade, without its prefix', refusal('TRADE_NOT_EXIST'), { kind: 'absent' }],
  ['success without a refund number', { ...found, out_request_no: undefined }, { kind: 'unknown', cause: 'mismatch' }],
  ['another refund', { ...found, out_request_no: 'R2' }, { kind: 'unknown', cause: 'mismatch' }],
  ['an empty response about another refund', { ...ok, out_request_no: 'R2' }, { kind: 'unknown', cause: 'mismatch' }],
  ['another total', { ...found, total_amount: '99.00' }, { kind: 'unknown', cause: 'mismatch' }],
  ['an unreadable amount', { ...found, refund_amount: 'x' }, { kind: 'unknown', cause: 'mismatch' }],
];
for (const [name, content, expected] of refundQueried) {
  test(`refund query: ${name}`, async (t) => t.like(await channelSaying(content).queryRefund(refund), expected));
}
