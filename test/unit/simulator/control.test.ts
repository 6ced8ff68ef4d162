import { request } from 'node:http';
import test from 'ava';
import { clientFor, order, type Client } from './alipay/client.ts';
import { startWorld, until, type World } from './world.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

const status = async (orderNo: string) =>
  (await client.call('alipay.trade.query', { out_trade_no: orderNo })).content['trade_status'];

/** fetch does not allow a chosen Host header. */
function statusWithHost(path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(world.url + path, { headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

test.serial('the control API accepts only JSON requests with a loopback Host', async (t) => {
  t.is(await statusWithHost('/sim/config', 'attacker.example'), 403);
  t.is(await statusWithHost('/sim/config', 'localhost:8081'), 200);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
    const answer = await fetch(`${world.url}/sim/pay`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: '{}',
    });
    t.is(answer.status, 415);
  }
});

for (const [path, body, status_, code] of [
  ['/sim/pay', { orderNo: 'NOBODY' }, 404, 'no_such_order'],
  ['/sim/pay', { orderNo: 7 }, 400, 'invalid_request'],
  ['/sim/faults', { payWay: 'alipay', fault: 'meteor' }, 400, 'invalid_request'],
  ['/sim/faults', { payWay: 'alipay', fault: 'timeout', call: 'x' }, 400, 'unknown_call'],
  ['/sim/clock', { advanceSeconds: -1 }, 400, 'invalid_request'],
  ['/sim/accounts', { payWay: 'alipay', name: 'default' }, 409, 'account_exists'],
  ['/sim/rotate', { payWay: 'alipay', what: 'everything' }, 400, 'unknown_rotation'],
] as const) {
  test.serial(`POST ${path} ${JSON.stringify(body)} is ${code}`, async (t) => {
    const answer = await fetch(world.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.is(answer.status, status_);
    t.like(await answer.json(), { error: { code } });
  });
}

test.serial('every channel has a default account with an ordinary configuration', async (t) => {
  const config = await world.config();
  t.deepEqual(Object.keys(config), ['alipay', 'wechat', 'paypal']);
  for (const { fields, pems } of Object.values(config)) {
    t.true(Object.values(fields).every((value) => typeof value === 'string'));
    t.true(
      Object.values(pems).every((texts) => texts.length > 0 && texts.every((text) => text.startsWith('-----BEGIN'))),
    );
  }
});

test.serial('paying twice counts once, and a closed order is not paid', async (t) => {
  await client.call('alipay.trade.precreate', order('ONCE'));
  await world.post('/sim/pay', { orderNo: 'ONCE' });
  await world.post('/sim/pay', { orderNo: 'ONCE' });
  t.like((await world.ledger('ONCE')).orders[0], { paid: 1230, payments: 1 });
  await client.call('alipay.trade.precreate', order('CLOSED'));
  await world.post('/sim/scan', { orderNo: 'CLOSED' });
  await client.call('alipay.trade.close', { out_trade_no: 'CLOSED' });
  t.like(await world.post('/sim/pay', { orderNo: 'CLOSED' }), { error: { code: 'closed' } });
});

test.serial('force simulates a payment that crossed the close', async (t) => {
  await client.call('alipay.trade.precreate', order('CROSSED'));
  await world.post('/sim/scan', { orderNo: 'CROSSED' });
  await client.call('alipay.trade.close', { out_trade_no: 'CROSSED' });
  t.like(await world.post('/sim/pay', { orderNo: 'CROSSED', force: true }), { state: 'paid' });
  t.is(await status('CROSSED'), 'TRADE_SUCCESS');
  t.like((await world.ledger('CROSSED')).orders[0], { paid: 1230, payments: 1 });
});

test.serial('faults are listed and cleared', async (t) => {
  const rule = await world.post<{ id: string }>('/sim/faults', {
    payWay: 'wechat',
    call: 'refund',
    fault: 'timeout',
    times: 3,
  });
  const list = async () =>
    (await world.get<{ faults: { id: string; times: number }[] }>('/sim/faults')).faults.filter(
      ({ id }) => id === rule.id,
    );
  t.like((await list())[0], { times: 3 });
  await fetch(`${world.url}/sim/faults/${rule.id}`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
  });
  t.deepEqual(await list(), []);
});

test.serial('the clock decides the expiry of a code, but not the age of a signature', async (t) => {
  await client.call('alipay.trade.precreate', order('DEAD'));
  await client.call('alipay.trade.precreate', order('SCANNED'));
  await world.post('/sim/scan', { orderNo: 'SCANNED' });
  await world.post('/sim/clock', { advanceSeconds: 2 * 3600 + 1 });
  t.like(await world.post('/sim/pay', { orderNo: 'DEAD' }), { error: { code: 'closed' } });
  t.is(await status('DEAD'), undefined);
  t.is(await status('SCANNED'), 'TRADE_CLOSED');
  t.is((await client.call('alipay.trade.precreate', order('DEAD'))).content['code'], '10000');
});

test.serial(
  '0.01 pays by itself, 0.02 is declined, 0.05 refuses refunds, 0.06 takes effect without a response',
  async (t) => {
    await client.call('alipay.trade.precreate', order('FIX1', '0.01'));
    t.is(await status('FIX1'), 'TRADE_SUCCESS');
    t.is((await client.call('alipay.trade.precreate', order('FIX2', '0.02'))).content['code'], '40004');
    await client.call('alipay.trade.precreate', order('FIX5', '0.05'));
    const refund = { out_trade_no: 'FIX5', out_request_no: 'FIX5R', refund_amount: '0.05' };
    t.is((await client.call('alipay.trade.refund', refund)).content['sub_code'], 'ACQ.SELLER_BALANCE_NOT_ENOUGH');
    const params = await client.sign('alipay.trade.precreate', order('FIX6', '0.06'));
    const hangUp = new AbortController();
    const silent = fetch(`${world.url}/alipay/gateway.do`, {
      method: 'POST',
      body: new URLSearchParams(params),
      signal: hangUp.signal,
    });
    const gone = t.throwsAsync(silent, { name: 'AbortError' });
    await until(async () => (await world.ledger('FIX6')).entries.length > 0);
    hangUp.abort();
    await gone;
    t.is((await client.call('alipay.trade.precreate', order('FIX6', '0.06'))).content['code'], '10000');
  },
);

test.serial('0.03 pays five seconds later', async (t) => {
  await client.call('alipay.trade.precreate', order('FIX3', '0.03'));
  t.is(await status('FIX3'), undefined);
  await world.post('/sim/clock', { advanceSeconds: 6 });
  t.is(await status('FIX3'), 'TRADE_SUCCESS');
});
