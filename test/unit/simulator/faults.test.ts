import test from 'ava';
import { FAULTS, createFaults, stageOf } from '../../../server/simulator/faults.ts';
import { clientFor, order, type Client } from './alipay/client.ts';
import { startWorld, until, type World } from './world.ts';

let world: World;
let client: Client;
test.before(async () => {
  world = await startWorld();
  client = await clientFor(world);
});
test.after.always(() => world?.close());

const create = (orderNo: string) => client.call('alipay.trade.precreate', order(orderNo));
const created = async (orderNo: string) => (await world.ledger(orderNo)).entries.length > 0;
const fault = (name: string, orderNo: string, more: object = {}) =>
  world.post('/sim/faults', { payWay: 'alipay', call: 'create', fault: name, orderNo, ...more });

for (const [name, happens] of [
  ['timeout', false],
  ['commit-then-timeout', true],
] as const) {
  test(`${name}: the caller gets no response, and the order ${happens ? 'exists' : 'does not exist'}`, async (t) => {
    const orderNo = name.replaceAll('-', '_');
    await fault(name, orderNo, { delayMs: 50 });
    await t.throwsAsync(create(orderNo));
    t.is(await created(orderNo), happens);
    t.is((await create(orderNo)).content['code'], '10000');
  });
}

test('timeout-then-commit: the caller gets no response, and the effect follows later', async (t) => {
  const own = await startWorld();
  t.teardown(() => own.close());
  const isThere = async () => (await own.ledger('LATE')).entries.length > 0;
  const late = { payWay: 'alipay', call: 'create', fault: 'timeout-then-commit', orderNo: 'LATE', delayMs: 600_000 };
  await own.post('/sim/faults', late);
  const hangUp = new AbortController();
  const params = await (await clientFor(own)).sign('alipay.trade.precreate', order('LATE'));
  const call = fetch(`${own.url}/alipay/gateway.do`, {
    method: 'POST',
    body: new URLSearchParams(params),
    signal: hangUp.signal,
  });
  const gone = t.throwsAsync(call, { name: 'AbortError' });
  await until(async () => (await own.get<{ faults: { hits: number }[] }>('/sim/faults')).faults[0]?.hits === 1);
  hangUp.abort();
  await gone;
  t.false(await isThere());
  await own.post('/sim/clock', { advanceSeconds: 600 });
  t.true(await until(isThere));
});

for (const [name, status, happens] of [
  ['502', 502, false],
  ['redirect', 302, false],
  ['500-after-commit', 500, true],
  ['html', 200, true],
] as const) {
  test(`${name}: the response is not the channel's, and the order ${happens ? 'exists' : 'does not exist'}`, async (t) => {
    const orderNo = `F_${name.replaceAll('-', '_')}`;
    await fault(name, orderNo);
    const params = await client.sign('alipay.trade.precreate', order(orderNo));
    const answer = await fetch(`${world.url}/alipay/gateway.do`, {
      method: 'POST',
      body: new URLSearchParams(params),
      redirect: 'manual',
    });
    t.is(answer.status, status);
    t.false((await answer.text()).includes('"code"'));
    t.is(await created(orderNo), happens);
  });
}

test('half-body: the body is shorter than its stated length', async (t) => {
  await fault('half-body', 'HALF');
  await t.throwsAsync(create('HALF'));
  t.true(await created('HALF'));
});

for (const [name, signed] of [
  ['tampered', 'wrong'],
  ['wrong-key', 'wrong'],
  ['signtest', 'wrong'],
  ['no-signature', 'none'],
] as const) {
  test(`${name}: the signature of the response is ${signed}`, async (t) => {
    const orderNo = `S_${name.replaceAll('-', '_')}`;
    await fault(name, orderNo);
    t.is((await create(orderNo)).signed, signed);
    t.true(await created(orderNo));
  });
}

test('duplicate-key: the response member occurs twice', async (t) => {
  await fault('duplicate-key', 'TWICE');
  const params = await client.sign('alipay.trade.precreate', order('TWICE'));
  const answer = await fetch(`${world.url}/alipay/gateway.do`, { method: 'POST', body: new URLSearchParams(params) });
  t.is((await answer.text()).split('"alipay_trade_precreate_response"').length, 3);
});

test('wrong-amount: the query returns another amount with a genuine signature', async (t) => {
  await create('WRONG');
  await world.post('/sim/pay', { orderNo: 'WRONG' });
  await world.post('/sim/faults', { payWay: 'alipay', call: 'query', fault: 'wrong-amount', orderNo: 'WRONG' });
  const { content, signed } = await client.call('alipay.trade.query', { out_trade_no: 'WRONG' });
  t.is(content['total_amount'], '12.31');
  t.is(signed, 'genuine');
});

test('query-lag: a paid trade is reported as waiting once', async (t) => {
  await create('LAG');
  await world.post('/sim/pay', { orderNo: 'LAG' });
  await world.post('/sim/faults', { payWay: 'alipay', call: 'query', fault: 'query-lag', orderNo: 'LAG' });
  const status = async () => (await client.call('alipay.trade.query', { out_trade_no: 'LAG' })).content['trade_status'];
  t.is(await status(), 'WAIT_BUYER_PAY');
  t.is(await status(), 'TRADE_SUCCESS');
});

test('a rule strikes as often as set, only for its own call, channel, account and order', (t) => {
  const faults = createFaults();
  faults.set({ payWay: 'alipay', call: 'refund', fault: 'timeout', times: 2, account: 'a', orderNo: 'N' });
  const target = { payWay: 'alipay', account: 'a', call: 'refund', orderNo: 'N' } as const;
  for (const other of [{ payWay: 'wechat' }, { account: 'b' }, { call: 'query' }, { orderNo: 'M' }] as const) {
    t.is(faults.draw({ ...target, ...other }), undefined);
  }
  t.deepEqual(
    [1, 2, 3].map(() => faults.draw(target)?.name),
    ['timeout', 'timeout', undefined],
  );
});

test('a rule with a probability strikes at random and does not expire', (t) => {
  const dice = [0.1, 0.9, 0.2];
  const faults = createFaults(() => dice.shift() ?? 1);
  faults.set({ payWay: 'paypal', fault: 'delay', probability: 0.5 });
  const target = { payWay: 'paypal', account: 'default', call: 'create' } as const;
  t.deepEqual(
    [1, 2, 3].map(() => faults.draw(target)?.name),
    ['delay', undefined, 'delay'],
  );
  t.is(faults.draw({ ...target, call: 'notice' }), undefined);
});

test('notification faults apply to notifications for any call, and every fault has a stage', (t) => {
  const faults = createFaults();
  t.is(faults.set({ payWay: 'wechat', call: 'create', fault: 'drop-notify' }).call, 'notice');
  t.is(faults.set({ payWay: 'wechat', call: 'place', fault: 'timeout' }).call, 'create');
  t.throws(() => faults.set({ payWay: 'wechat', call: 'nonsense', fault: 'timeout' }), {
    message: /call must be one of/,
  });
  t.is(new Set(FAULTS).size, FAULTS.length);
  t.is(stageOf('commit-then-timeout'), 'after');
});
