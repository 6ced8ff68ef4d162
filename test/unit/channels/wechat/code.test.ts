import test from 'ava';
import {
  channelWith,
  orderRef,
  PLATFORM,
  platformInput,
  placeOrder,
  PUBLIC,
  publicKeyInput,
  signed,
  trade,
  unsigned,
} from './fake.ts';

const PAY_CODE = '130061098828009406';
const order = placeOrder({ scene: 'code', payCode: PAY_CODE, clientIp: '192.0.2.9' });
const ref = orderRef({ scene: 'code' });
const unpaid = (trade_state: string) =>
  trade({ trade_state, transaction_id: undefined, success_time: undefined, amount: undefined });

for (const [mode, { fields, pems }, signer] of [
  ['platform-certificate', platformInput(), PLATFORM],
  ['public-key', publicKeyInput(), PUBLIC],
] as const) {
  test(`${mode}: a code payment is paid immediately, or pending while the payer enters the password`, async (t) => {
    const paid = channelWith(() => signed(200, trade(), { signer }), { fields, pems });
    t.like(await paid.channel.place(order), { kind: 'paid', amount: { minor: 1234n } });
    t.is(new URL(paid.sent[0]!.url).pathname, '/v3/pay/transactions/codepay');
    const typing = channelWith(() => signed(202, unpaid('USERPAYING'), { signer }), { fields, pems });
    t.deepEqual(await typing.channel.place(order), { kind: 'pending' });
    t.deepEqual(await typing.channel.query(ref), { kind: 'pending' });
  });
}

test('a code payment has no expiry and no notification address', async (t) => {
  const { channel, sent } = channelWith(() => unsigned(500));
  await channel.place(order);
  const { time_expire, notify_url, payer, scene_info } = JSON.parse(sent[0]?.body ?? '');
  t.deepEqual([time_expire, notify_url], [undefined, undefined]);
  t.deepEqual(payer, { auth_code: PAY_CODE });
  t.deepEqual(scene_info, { device_ip: '192.0.2.9' });
  for (const lacking of [{ payCode: null }, { clientIp: null }])
    t.like(await channel.place({ ...order, ...lacking }), { kind: 'declined', definite: true });
  t.is(sent.length, 1);
});

test('a response about another order, app or merchant does not count as paid', async (t) => {
  for (const change of [{ out_trade_no: 'ORDER00002' }, { appid: 'wx0000000000000002' }, { mchid: '1900000999' }])
    t.like(await channelWith(() => signed(200, trade(change))).channel.place(order), {
      kind: 'unknown',
      cause: 'mismatch',
    });
});

for (const [status, code, expected] of [
  [400, 'AUTHCODEEXPIRE', { kind: 'declined', code: 'AUTH_CODE_EXPIRE', definite: true }],
  [400, 'AUTH_CODE_INVALID', { kind: 'declined', definite: true }],
  [400, 'AUTH_CODE_ERROR', { kind: 'declined', definite: true }],
  [403, 'NOTENOUGH', { kind: 'declined', code: 'NOT_ENOUGH', definite: true }],
  [403, 'NOT_SUPPORT_CARD', { kind: 'declined', definite: true }],
  [400, 'PARAM_ERROR', { kind: 'declined', definite: true }],
  [403, 'OUT_TRADE_NO_USED', { kind: 'declined', definite: false, doubt: 'trade_may_exist' }],
  [403, 'TRADE_ERROR', { kind: 'declined', definite: false, doubt: 'trade_may_exist' }],
  [400, 'USERPAYING', { kind: 'pending' }],
  [429, 'FREQUENCY_LIMITED', { kind: 'unknown', cause: 'busy' }],
  [500, 'BANK_ERROR', { kind: 'unknown', cause: 'http_status' }],
  [202, '', { kind: 'unknown', cause: 'in_progress' }],
] as const) {
  test(`a code refused with ${status} ${code} is ${JSON.stringify(expected)}`, async (t) => {
    t.like(await channelWith(() => signed(status, { code, message: 'no' })).channel.place(order), expected);
  });
}

test('an unsigned refusal does not end a code payment', async (t) => {
  const answer = await channelWith(() => unsigned(400, { code: 'AUTH_CODE_EXPIRE', message: '' })).channel.place(order);
  t.like(answer, { kind: 'declined', definite: false });
});

/** A channel with these query responses in order and a successful reverse. */
function closing(...queries: Parameters<typeof signed>[1][]) {
  return channelWith(({ method }) =>
    method === 'GET' ? signed(200, queries.shift() ?? {}) : signed(200, { out_trade_no: 'ORDER00001' }),
  );
}

test('an unpaid code payment is reversed', async (t) => {
  const { channel, sent } = closing(unpaid('USERPAYING'), unpaid('REVOKED'));
  t.deepEqual(await channel.close(ref), { kind: 'closed' });
  t.deepEqual(
    sent.map(({ method, url }) => `${method} ${new URL(url).pathname.split('/').at(-1)}`),
    ['GET ORDER00001', 'POST reverse', 'GET ORDER00001'],
  );
  t.deepEqual(Object.keys(JSON.parse(sent[1]!.body!)), ['appid', 'mchid']);
});

test('a paid code payment is reported as paid and not reversed', async (t) => {
  const { channel, sent } = closing(trade());
  t.deepEqual(await channel.close(ref), { kind: 'paid' });
  t.is(sent.length, 1);
});

const payment = { channelNo: '4200001234202603040000000001', at: new Date('2026-03-04T05:05:00Z') };

test('a payment between the query and the reverse is refunded, in any trade state afterwards', async (t) => {
  for (const trade_state of ['REVOKED', 'REFUND', 'SUCCESS'])
    t.deepEqual(await closing(unpaid('USERPAYING'), trade({ trade_state })).channel.close(ref), {
      kind: 'closed',
      returned: payment,
    });
});

test('a reverse with a lost response is found by the next close, with the refunded payment', async (t) => {
  t.deepEqual(await closing(unpaid('REVOKED')).channel.close(ref), { kind: 'closed' });
  t.deepEqual(await closing(trade({ trade_state: 'REVOKED' })).channel.close(ref), {
    kind: 'closed',
    returned: payment,
  });
  const silent = channelWith(({ method }) => (method === 'GET' ? signed(200, unpaid('USERPAYING')) : unsigned(502)));
  t.like(await silent.channel.close(ref), { kind: 'unknown', cause: 'http_status' });
});

test('a reverse response counts only if it names the order', async (t) => {
  const { channel } = channelWith(({ method }) =>
    signed(200, method === 'GET' ? unpaid('USERPAYING') : { out_trade_no: 'ORDER00002' }),
  );
  t.like(await channel.close(ref), { kind: 'unknown', cause: 'mismatch' });
});
