import { createVerify, X509Certificate } from 'node:crypto';
import test from 'ava';
import { TransportFailed, type RefundRef } from '../../../../server/payments/channel.ts';
import {
  APP_ID,
  channelWith,
  MCHID,
  MERCHANT,
  NOW,
  OTHER_PLATFORM,
  orderRef,
  placeOrder,
  PUBLIC,
  publicKeyInput,
  refunded,
  refundOrder,
  signed,
  trade,
  unsigned,
  type Answering,
} from './fake.ts';

const refundRef: RefundRef = { ...refundOrder(), channelRefundNo: null };
const merchantKey = new X509Certificate(MERCHANT.pem).publicKey;

const place = (answering: Answering, order = placeOrder()) => channelWith(answering).channel.place(order);
const query = (answering: Answering) => channelWith(answering).channel.query(orderRef());
const close = (answering: Answering) => channelWith(answering).channel.close(orderRef());
const refund = (answering: Answering) => channelWith(answering).channel.refund(refundOrder());
const queryRefund = (answering: Answering) => channelWith(answering).channel.queryRefund(refundRef);

test('a native order is pending with its code_url', async (t) => {
  const outcome = await place(() => signed(200, { code_url: 'weixin://wxpay/bizpayurl?pr=1' }));
  t.deepEqual(outcome, { kind: 'pending', pay: { type: 'qr', qrCode: 'weixin://wxpay/bizpayurl?pr=1' } });
});

test('an h5 order returns the payer to the return address', async (t) => {
  const answer = () => signed(200, { h5_url: 'https://wx.tenpay.com/cgi-bin/mmpayweb-bin/checkmweb?prepay_id=1' });
  const outcome = await place(answer, placeOrder({ scene: 'h5', clientIp: '192.0.2.7' }));
  const url = new URL((outcome.kind === 'pending' && outcome.pay?.url) || '');
  t.is(url.searchParams.get('prepay_id'), '1');
  t.is(url.searchParams.get('redirect_url'), 'https://pay.example.com/return/wechat/ORDER00001');
  t.is(outcome.kind === 'pending' && outcome.paySeconds, 240);
});

test('a jsapi order has parameters signed with the merchant key', async (t) => {
  const outcome = await place(() => signed(200, { prepay_id: 'wx1' }), placeOrder({ scene: 'jsapi', openId: 'o1' }));
  const { timeStamp, nonceStr, paySign, ...rest } = (outcome.kind === 'pending' && outcome.pay?.params) || {};
  t.deepEqual(rest, { appId: APP_ID, package: 'prepay_id=wx1', signType: 'RSA' });
  const text = `${APP_ID}\n${timeStamp}\n${nonceStr}\nprepay_id=wx1\n`;
  t.true(
    createVerify('RSA-SHA256')
      .update(text)
      .verify(merchantKey, paySign ?? '', 'base64'),
  );
});

test('an app order has parameters signed with the merchant key', async (t) => {
  const outcome = await place(() => signed(200, { prepay_id: 'wx1' }), placeOrder({ scene: 'app' }));
  const { timestamp, noncestr, sign, ...rest } = (outcome.kind === 'pending' && outcome.pay?.params) || {};
  t.deepEqual(rest, { appid: APP_ID, partnerid: MCHID, prepayid: 'wx1', package: 'Sign=WXPay' });
  const text = `${APP_ID}\n${timestamp}\n${noncestr}\nwx1\n`;
  t.true(
    createVerify('RSA-SHA256')
      .update(text)
      .verify(merchantKey, sign ?? '', 'base64'),
  );
});

for (const [code, status, isSigned, expected] of [
  ['PARAM_ERROR', 400, true, { kind: 'declined', code: 'PARAM_ERROR', definite: true }],
  ['PARAM_ERROR', 400, false, { kind: 'declined', code: 'PARAM_ERROR', definite: false }],
  ['PARAMERROR', 400, true, { kind: 'declined', code: 'PARAM_ERROR', definite: true }],
  ['NO_AUTH', 403, true, { kind: 'declined', code: 'NO_AUTH', definite: true }],
  [
    'OUT_TRADE_NO_USED',
    403,
    true,
    { kind: 'declined', code: 'OUT_TRADE_NO_USED', definite: false, doubt: 'trade_may_exist' },
  ],
  ['ORDERPAID', 400, true, { kind: 'declined', code: 'ORDER_PAID', definite: false, doubt: 'trade_may_exist' }],
  ['ORDER_CLOSED', 400, true, { kind: 'declined', code: 'ORDER_CLOSED', definite: false, doubt: 'trade_may_exist' }],
  ['A_NEW_CODE', 400, true, { kind: 'declined', code: 'A_NEW_CODE', definite: false, doubt: 'unlisted' }],
  ['SIGN_ERROR', 401, false, { kind: 'declined', code: 'SIGN_ERROR', definite: false }],
  ['FREQUENCY_LIMITED', 429, true, { kind: 'unknown', cause: 'busy' }],
  ['SYSTEMERROR', 500, true, { kind: 'unknown', cause: 'http_status' }],
] as const) {
  test(`a create refused with ${status} ${code} (${isSigned ? 'signed' : 'unsigned'}) is ${JSON.stringify(expected)}`, async (t) => {
    const outcome = await place(() => (isSigned ? signed : unsigned)(status, { code, message: 'no' }));
    t.like(outcome, expected);
  });
}

test('a paid trade is paid with the number, amount, time and payer from WeChat Pay', async (t) => {
  t.deepEqual(await query(() => signed(200, trade())), {
    kind: 'paid',
    channelNo: '4200001234202603040000000001',
    amount: { minor: 1234n, currency: 'CNY' },
    at: new Date('2026-03-04T05:05:00Z'),
    payer: 'openid-1',
  });
});

test('REFUND is paid, with a hint to query the refunds', async (t) => {
  t.like(await query(() => signed(200, trade({ trade_state: 'REFUND' }))), { kind: 'paid', refundsHint: true });
});

test('a paid trade of another amount keeps that amount, for settling to refuse', async (t) => {
  const outcome = await query(() => signed(200, trade({ amount: { total: 1, currency: 'CNY' } })));
  t.deepEqual(outcome.kind === 'paid' && outcome.amount, { minor: 1n, currency: 'CNY' });
});

for (const [what, change, cause] of [
  ['mchid', { mchid: '1900000999' }, 'mismatch'],
  ['appid', { appid: 'wx0000000000000002' }, 'mismatch'],
  ['out_trade_no', { out_trade_no: 'ORDER00002' }, 'mismatch'],
  ['amount of an unpaid trade', { trade_state: 'NOTPAY', amount: { total: 1 } }, 'mismatch'],
  ['amount that is not an integer', { amount: { total: 12.5 } }, 'unparsable'],
  ['missing transaction_id', { transaction_id: undefined }, 'unparsable'],
] as const) {
  test(`a trade with another ${what} is ${cause}`, async (t) => {
    t.like(await query(() => signed(200, trade(change))), { kind: 'unknown', cause });
  });
}

for (const [word, kind] of [
  ['NOTPAY', 'pending'],
  ['USERPAYING', 'pending'],
  ['PAYERROR', 'pending'],
  ['CLOSED', 'closed'],
  ['REVOKED', 'closed'],
  ['A_NEW_WORD', 'pending'],
  ['constructor', 'pending'],
] as const) {
  test(`trade_state ${word} is ${kind}`, async (t) => {
    const unpaid = trade({ trade_state: word, transaction_id: undefined, success_time: undefined, amount: undefined });
    t.is((await query(() => signed(200, unpaid))).kind, kind);
  });
}

test('a missing trade is absent only with an error code of the application', async (t) => {
  t.deepEqual(await query(() => signed(404, { code: 'ORDER_NOT_EXIST', message: '' })), { kind: 'absent' });
  t.deepEqual(await query(() => unsigned(404, { code: 'ORDERNOTEXIST', message: '' })), { kind: 'absent' });
  t.like(await query(() => unsigned(404)), { kind: 'unknown', cause: 'http_status' });
  t.like(await query(() => signed(404, { code: 'MCH_NOT_EXISTS', message: '' })), {
    kind: 'unknown',
    cause: 'misconfigured',
  });
  t.like(await query(() => signed(400, { code: 'ORDER_NOT_EXIST', message: '' })), {
    kind: 'unknown',
    cause: 'rejected',
  });
});

const faults: Record<string, [cause: string, answering: Answering]> = {
  'a timeout': ['timeout', () => Promise.reject(new TransportFailed('timeout', 'late'))],
  'a broken connection': ['network', () => Promise.reject(new TransportFailed('network', 'reset'))],
  'an endless response': ['too_large', () => Promise.reject(new TransportFailed('too_large', 'big'))],
  'a redirect': ['redirected', () => unsigned(302)],
  'a 502': ['http_status', () => unsigned(502, '<html>')],
  'a 202': ['in_progress', () => signed(202, {})],
  'an HTML page': ['unparsable', () => unsigned(200, '<html>')],
  'a truncated body': [
    'unparsable',
    () => ({ ...signed(200, trade()), body: Buffer.from(JSON.stringify(trade()).slice(0, 40)) }),
  ],
  'no signature': ['unsigned', () => unsigned(200, trade())],
  'one header missing': [
    'unsigned',
    () => {
      const answer = signed(200, trade());
      delete answer.headers['wechatpay-nonce'];
      return answer;
    },
  ],
  'a key of another signer': [
    'signature_invalid',
    () => signed(200, trade(), { signer: { ...OTHER_PLATFORM, serial: signed(200, '').headers['wechatpay-serial']! } }),
  ],
  'a SIGNTEST probe': [
    'signature_invalid',
    () => {
      const answer = signed(200, trade());
      answer.headers['wechatpay-signature'] = `WECHATPAY/SIGNTEST/${answer.headers['wechatpay-signature']}`;
      return answer;
    },
  ],
  'a changed body': [
    'signature_invalid',
    () => ({ ...signed(200, trade()), body: Buffer.from(JSON.stringify(trade({ transaction_id: '1' }))) }),
  ],
  're-serialised JSON': [
    'signature_invalid',
    () => ({ ...signed(200, trade()), body: Buffer.from(JSON.stringify(trade(), null, 1)) }),
  ],
  'an unknown serial': [
    'serial_unknown',
    ({ url }) => (url.endsWith('/v3/certificates') ? unsigned(404) : signed(200, trade(), { signer: OTHER_PLATFORM })),
  ],
  'a public key id in platform mode': ['serial_unknown', () => signed(200, trade(), { signer: PUBLIC })],
  'a clock 10 minutes ahead': ['clock_skew', () => signed(200, trade(), { at: new Date(NOW.getTime() + 600_000) })],
  'a clock 10 minutes behind': ['clock_skew', () => signed(200, trade(), { at: new Date(NOW.getTime() - 600_000) })],
  'a repeated member': [
    'duplicate_key',
    () => signed(200, JSON.stringify(trade()).replace(/}$/, ',"trade_state":"SUCCESS"}')),
  ],
  'a refused credential': ['misconfigured', () => unsigned(401, { code: 'SIGN_ERROR', message: '签名错误' })],
  'a refused clock': [
    'clock_skew',
    () =>
      unsigned(401, { code: 'SIGN_ERROR', message: 'Http头Authorization中的timestamp与发起请求的时间不得超过5分钟' }),
  ],
  'a 4xx with a forged signature': [
    'signature_invalid',
    () => ({ ...signed(404, { code: 'X' }), body: Buffer.from('{"code":"ORDER_NOT_EXIST"}') }),
  ],
};
for (const [what, [cause, answering]] of Object.entries(faults)) {
  test(`${what}: every call is unknown (${cause})`, async (t) => {
    t.like(await query(answering), { kind: 'unknown', cause });
    t.like(await close(answering), { kind: 'unknown', cause });
    t.like(await refund(answering), { kind: 'unknown', cause });
    t.like(await queryRefund(answering), { kind: 'unknown', cause });
    const placed = await place(answering);
    if (placed.kind === 'declined') t.false(placed.definite);
    else t.like(placed, { kind: 'unknown', cause });
  });
}

test('only a signed 204 closes an order', async (t) => {
  t.deepEqual(await close(() => signed(204, '')), { kind: 'closed' });
  t.like(await close(() => unsigned(204)), { kind: 'unknown', cause: 'unsigned' });
  t.like(await close(() => signed(200, {})), { kind: 'unknown', cause: 'http_status' });
});

test('a refused close determines the next step', async (t) => {
  t.deepEqual(await close(() => unsigned(400, { code: 'ORDERPAID', message: '' })), { kind: 'paid' });
  t.deepEqual(await close(() => signed(400, { code: 'ORDER_CLOSED', message: '' })), { kind: 'closed' });
  t.like(await close(() => unsigned(400, { code: 'ORDER_CLOSED', message: '' })), {
    kind: 'refused',
    code: 'ORDER_CLOSED',
  });
  t.deepEqual(await close(() => signed(404, { code: 'ORDER_NOT_EXIST', message: '' })), { kind: 'absent' });
  t.like(await close(() => signed(403, { code: 'TRADE_ERROR', message: 'x' })), {
    kind: 'refused',
    code: 'TRADE_ERROR',
  });
});

for (const [word, expected] of [
  ['PROCESSING', { kind: 'pending', channelRefundNo: '50300001234202603040000000001' }],
  ['SUCCESS', { kind: 'succeeded', amount: { minor: 100n, currency: 'CNY' }, at: NOW }],
  ['CLOSED', { kind: 'failed', code: 'CLOSED' }],
  ['ABNORMAL', { kind: 'abnormal', channelRefundNo: '50300001234202603040000000001' }],
  ['A_NEW_WORD', { kind: 'pending' }],
] as const) {
  test(`refund status ${word} is ${expected.kind}, in a query and in a refund response`, async (t) => {
    t.like(await refund(() => signed(200, refunded({ status: word }))), expected);
    t.like(await queryRefund(() => signed(200, refunded({ status: word }))), expected);
  });
}

test('a refund response about another refund, order or amount is a mismatch', async (t) => {
  for (const change of [
    { out_refund_no: 'REFUND0002' },
    { out_trade_no: 'ORDER00002' },
    { amount: { total: 1, refund: 100 } },
    { amount: { total: 1234, refund: 99 } },
    { amount: { total: 1234, refund: 100, currency: 'USD' } },
  ]) {
    t.like(
      await refund(() => signed(200, refunded(change))),
      { kind: 'unknown', cause: 'mismatch' },
      JSON.stringify(change),
    );
  }
});

test('a completed refund of another amount keeps that amount, for settling to refuse', async (t) => {
  const done = refunded({ status: 'SUCCESS', amount: { total: 1234, refund: 99 } });
  t.like(await queryRefund(() => signed(200, done)), { kind: 'succeeded', amount: { minor: 99n, currency: 'CNY' } });
});

test('a refused refund is refused with the documented code, never failed', async (t) => {
  t.like(await refund(() => signed(403, { code: 'NOTENOUGH', message: 'x' })), { kind: 'refused', code: 'NOT_ENOUGH' });
  t.like(await refund(() => unsigned(404, { code: 'RESOURCE_NOT_EXISTS', message: 'x' })), { kind: 'refused' });
  t.like(await refund(() => signed(429, { code: 'RATELIMIT_EXCEEDED', message: 'x' })), {
    kind: 'unknown',
    cause: 'busy',
  });
  t.deepEqual(await queryRefund(() => signed(404, { code: 'RESOURCE_NOT_EXISTS', message: 'x' })), { kind: 'absent' });
  t.like(await queryRefund(() => signed(400, { code: 'PARAM_ERROR', message: 'x' })), {
    kind: 'unknown',
    cause: 'rejected',
  });
});

test('only an abnormal refund is retried, and any other is only reported', async (t) => {
  const abnormal = channelWith(({ method }) =>
    signed(200, refunded({ status: method === 'GET' ? 'ABNORMAL' : 'PROCESSING' })),
  );
  t.like(await abnormal.channel.retryAbnormalRefund!(refundRef), { kind: 'pending' });
  t.is(abnormal.sent.length, 2);
  const done = channelWith(() => signed(200, refunded({ status: 'SUCCESS' })));
  t.is((await done.channel.retryAbnormalRefund!(refundRef)).kind, 'succeeded');
  t.is(done.sent.length, 1);
});

test('public keys and platform certificates verify at the same time', async (t) => {
  const { fields, pems } = publicKeyInput();
  const { channel } = channelWith(() => signed(200, trade(), { signer: PUBLIC }), { fields, pems });
  t.is((await channel.query(orderRef())).kind, 'paid');
  const lower = channelWith(() =>
    signed(200, trade(), { serial: `00${signed(200, '').headers['wechatpay-serial']?.toLowerCase()}` }),
  );
  t.is((await lower.channel.query(orderRef())).kind, 'paid');
});
