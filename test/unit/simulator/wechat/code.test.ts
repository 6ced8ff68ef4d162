import { randomInt } from 'node:crypto';
import test from 'ava';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../world.ts';
import { call, configOf, newNo, startWechat, type Raw } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const newPayCode = () => `10${String(randomInt(1e8, 1e9))}${String(randomInt(1e6, 1e7))}`;
const bodyOf = ({ body }: Raw) => JSON.parse(body) as Record<string, unknown>;
const pathOf = (orderNo: string) => `/v3/pay/transactions/out-trade-no/${orderNo}`;
const query = async (orderNo: string) =>
  bodyOf(await call(world, config, 'GET', `${pathOf(orderNo)}?mchid=${config.fields.mchid}`));

/** Charges a payment code for 12.34. */
function charge(orderNo: string, changes: object = {}): Promise<Raw> {
  return call(world, config, 'POST', '/v3/pay/transactions/codepay', {
    appid: config.fields.appId,
    mchid: config.fields.mchid,
    description: 'A cup of tea',
    out_trade_no: orderNo,
    payer: { auth_code: newPayCode() },
    amount: { total: 1234, currency: 'CNY' },
    scene_info: { device_ip: '192.0.2.9' },
    ...changes,
  });
}

function reverse(orderNo: string, changes: object = {}): Promise<Raw> {
  const { appId: appid, mchid } = config.fields;
  return call(world, config, 'POST', `${pathOf(orderNo)}/reverse`, { appid, mchid, ...changes });
}

test('the payer enters the password, and then the order is paid without a notification', async (t) => {
  const orderNo = newNo();
  const answer = await charge(orderNo, { attach: 'a' });
  t.is(answer.status, 202);
  t.truthy(answer.headers['wechatpay-signature']);
  t.like(bodyOf(answer), { trade_state: 'USERPAYING', out_trade_no: orderNo, attach: 'a' });
  await world.post('/sim/pay', { payWay: 'wechat', orderNo });
  t.like(await query(orderNo), { trade_state: 'SUCCESS', trade_type: 'MICROPAY', amount: { total: 1234 } });
  t.deepEqual(await world.deliveries(orderNo), []);
});

test('a self-paying amount is paid in the response, and 0.02 is refused', async (t) => {
  const [paid, refused] = [newNo(), newNo()];
  const answer = await charge(paid, { amount: { total: 1 } });
  t.is(answer.status, 200);
  t.like(bodyOf(answer), { trade_state: 'SUCCESS', payer: { openid: 'oSimulatedPayer' } });
  t.is((await charge(refused, { amount: { total: 2 } })).code, 'NOT_ENOUGH');
});

test('a declined code payment is PAYERROR', async (t) => {
  const orderNo = newNo();
  await charge(orderNo);
  await world.post('/sim/decline', { payWay: 'wechat', orderNo });
  t.is((await query(orderNo)).trade_state, 'PAYERROR');
});

test('a code and an order number each work only once', async (t) => {
  const [first, second] = [newNo(), newNo()];
  const payer = { auth_code: newPayCode() };
  t.is((await charge(first, { payer })).status, 202);
  t.is((await charge(second, { payer })).code, 'AUTH_CODE_INVALID');
  t.is((await charge(first, { payer })).code, 'OUT_TRADE_NO_USED');
  await world.post('/sim/pay', { payWay: 'wechat', orderNo: first });
  t.is((await charge(first)).code, 'ORDERPAID');
});

for (const [what, changes] of Object.entries({
  'a notification address': { notify_url: 'https://shop.example/n' },
  'an expiry': { time_expire: '2030-01-01T00:00:00+08:00' },
  'no code': { payer: {} },
  'a code of 17 digits': { payer: { auth_code: '13006109882800940' } },
  'a code of another wallet': { payer: { auth_code: '286061098828009406' } },
  'no scene': { scene_info: undefined },
  'no till address': { scene_info: { device_id: 'D1' } },
  'a shop without an id': { scene_info: { device_ip: '192.0.2.9', store_info: {} } },
  'a non-numeric shop id': { scene_info: { device_ip: '192.0.2.9', store_info: { id: 'S1' } } },
  "another merchant's number": { mchid: '1900000999' },
})) {
  test(`${what}: 400 PARAM_ERROR and no trade`, async (t) => {
    const orderNo = newNo();
    const answer = await charge(orderNo, changes);
    t.is(answer.status, 400);
    t.is(answer.code, 'PARAM_ERROR');
    t.is((await world.ledger(orderNo)).entries.length, 0);
  });
}

test('a reverse ends an unpaid order, and its repeat returns the same', async (t) => {
  const orderNo = newNo();
  await charge(orderNo);
  for (let round = 0; round < 2; round += 1) {
    const answer = await reverse(orderNo);
    t.is(answer.status, 200);
    t.deepEqual(bodyOf(answer), {
      appid: config.fields.appId,
      mchid: config.fields.mchid,
      out_trade_no: orderNo,
    });
  }
  const { trade_state, transaction_id: number } = await query(orderNo);
  t.deepEqual([trade_state, number], ['REVOKED', undefined]);
  t.like(await world.post('/sim/pay', { payWay: 'wechat', orderNo }), { error: { code: 'closed' } });
  t.like((await world.ledger(orderNo)).orders[0], { paid: 0, refunded: 0 });
});

test('a reverse refunds a paid order once', async (t) => {
  const orderNo = newNo();
  await charge(orderNo);
  await world.post('/sim/pay', { payWay: 'wechat', orderNo });
  t.is((await reverse(orderNo)).status, 200);
  t.is((await reverse(orderNo)).status, 200);
  t.like(await query(orderNo), { trade_state: 'REVOKED', amount: { total: 1234 } });
  t.like((await world.ledger(orderNo)).orders[0], { paid: 1234, refunded: 1234, refunds: 1 });
});

test('an order that cannot be reversed is refused', async (t) => {
  const orderNo = newNo();
  t.is((await reverse(orderNo)).code, 'ORDER_NOT_EXIST');
  await charge(orderNo);
  t.is((await reverse(orderNo, { appid: 'wx0000000000000000' })).code, 'INVALID_REQUEST');
  t.is((await reverse(orderNo, { mchid: '1900000999' })).code, 'PARAM_ERROR');
  await world.post('/sim/pay', { payWay: 'wechat', orderNo });
  await world.post('/sim/refund-elsewhere', { orderNo, amount: '1.00' });
  t.is((await reverse(orderNo)).code, 'INVALID_REQUEST');
});
