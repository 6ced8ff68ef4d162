import test from 'ava';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../world.ts';
import { call, configOf, nativeOrder, newNo, startWechat, type Raw } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const create = (changes: object = {}, product = 'native') =>
  call(world, config, 'POST', `/v3/pay/transactions/${product}`, nativeOrder(config, changes));
const pathOf = (orderNo: string) => `/v3/pay/transactions/out-trade-no/${orderNo}`;
const query = (orderNo: string, from = config) =>
  call(world, from, 'GET', `${pathOf(orderNo)}?mchid=${from.fields.mchid}`);
const close = (orderNo: string) =>
  call(world, config, 'POST', `${pathOf(orderNo)}/close`, { mchid: config.fields.mchid });
const pay = (orderNo: string) => world.post('/sim/pay', { payWay: 'wechat', orderNo });
const bodyOf = ({ body }: Raw) => JSON.parse(body) as Record<string, unknown>;

test.serial('a trade exists from its creation', async (t) => {
  const orderNo = newNo();
  t.is(typeof bodyOf(await create({ out_trade_no: orderNo })).code_url, 'string');
  t.like(bodyOf(await query(orderNo)), { trade_state: 'NOTPAY', out_trade_no: orderNo });
});

for (const [product, changes, member] of [
  ['jsapi', { payer: { openid: 'o1' } }, 'prepay_id'],
  ['app', {}, 'prepay_id'],
  ['h5', { scene_info: { payer_client_ip: '192.0.2.7', h5_info: { type: 'Wap' } } }, 'h5_url'],
] as const) {
  test.serial(`${product} answers a ${member}`, async (t) => {
    t.is(typeof bodyOf(await create(changes, product))[member], 'string');
  });
}

test.serial('a paid trade has its amount, number, time and payer', async (t) => {
  const orderNo = newNo();
  await create({ out_trade_no: orderNo, attach: 'a' });
  await pay(orderNo);
  const paid = bodyOf(await query(orderNo));
  t.like(paid, {
    trade_state: 'SUCCESS',
    attach: 'a',
    amount: { total: 1234, currency: 'CNY' },
    mchid: config.fields.mchid,
  });
  t.regex(String(paid.success_time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/);
  const byId = await call(
    world,
    config,
    'GET',
    `/v3/pay/transactions/id/${String(paid.transaction_id)}?mchid=${config.fields.mchid}`,
  );
  t.deepEqual(bodyOf(byId), paid);
});

// A Go time on a machine in UTC, as WeChat Pay's client sends it (wechatpay-apiv3/wechatpay-go@6dbd7ce services/payments/native/models.go).
for (const [name, offset, minutes] of [
  ['UTC', 'Z', 0],
  ['another zone', '-09:30', -570],
] as const) {
  test.serial(`an expiry may be written in ${name}`, async (t) => {
    const orderNo = newNo();
    const at = Math.floor(Date.now() / 1000) * 1000 + 3_600_000;
    const time_expire = `${new Date(at + minutes * 60_000).toISOString().slice(0, 19)}${offset}`;
    t.is((await create({ out_trade_no: orderNo, time_expire })).status, 200);
    t.is((await world.get<{ expiresAt: number }>(`/sim/trades/${orderNo}`)).expiresAt, at);
  });
}

test.serial(
  'an identical create of an unpaid order returns it, and a different one under its number is refused',
  async (t) => {
    const orderNo = newNo();
    const first = await create({ out_trade_no: orderNo });
    t.is((await create({ out_trade_no: orderNo })).body, first.body);
    t.is((await create({ out_trade_no: orderNo, description: 'Coffee' })).code, 'OUT_TRADE_NO_USED');
    t.is((await create({ out_trade_no: orderNo, amount: { total: 1, currency: 'CNY' } })).status, 403);
    t.is((await world.ledger(orderNo)).orders[0]?.created, 1);
  },
);

test.serial('a paid order can be neither created nor closed again', async (t) => {
  const orderNo = newNo();
  await create({ out_trade_no: orderNo });
  await pay(orderNo);
  t.regex((await create({ out_trade_no: orderNo })).code, /^ORDER_?PAID$/);
  t.regex((await close(orderNo)).code, /^ORDER_?PAID$/);
  t.like(bodyOf(await query(orderNo)), { trade_state: 'SUCCESS' });
});

test.serial('a closed order stays closed', async (t) => {
  const orderNo = newNo();
  await create({ out_trade_no: orderNo });
  const closed = await close(orderNo);
  t.is(closed.status, 204);
  t.is(closed.body, '');
  t.truthy(closed.headers['wechatpay-signature']);
  t.like(bodyOf(await query(orderNo)), { trade_state: 'CLOSED' });
  t.is((await close(orderNo)).code, 'ORDER_CLOSED');
  t.is((await create({ out_trade_no: orderNo })).code, 'ORDER_CLOSED');
  t.like(await pay(orderNo), { error: { code: 'closed' } });
});

test.serial('a trade cannot be paid after its time_expire, but stays open until it is closed', async (t) => {
  const orderNo = newNo();
  const { now } = await world.get<{ now: string }>('/sim/clock');
  const expire = `${new Date(Date.parse(now) + 8 * 3_600_000 + 90_000).toISOString().slice(0, 19)}+08:00`;
  t.is((await create({ out_trade_no: orderNo, time_expire: expire })).status, 200);
  await world.post('/sim/clock', { advanceSeconds: 91 });
  t.like(bodyOf(await query(orderNo)), { trade_state: 'NOTPAY' });
  t.like(await pay(orderNo), { error: { code: 'closed' } });
  t.is((await create({ out_trade_no: orderNo, time_expire: expire })).code, 'ORDER_CLOSED');
  t.is((await close(orderNo)).status, 204);
  t.like(bodyOf(await query(orderNo)), { trade_state: 'CLOSED' });
  t.is((await close(orderNo)).code, 'ORDER_CLOSED');
});

for (const [what, changes] of Object.entries({
  'a null member': { attach: null },
  'an empty description': { description: '' },
  'a long description': { description: 'x'.repeat(128) },
  'a short number': { out_trade_no: 'abc' },
  'a number with a space': { out_trade_no: 'abc def' },
  'a notify_url with a query': { notify_url: 'https://a.example/n?x=1' },
  'no notify_url': { notify_url: undefined },
  'an amount as text': { amount: { total: '1234', currency: 'CNY' } },
  'a zero amount': { amount: { total: 0, currency: 'CNY' } },
  'a broken amount': { amount: { total: 1.5, currency: 'CNY' } },
  'another currency': { amount: { total: 1, currency: 'USD' } },
  'a time_expire without offset': { time_expire: '2030-01-01T00:00:00' },
  'a past time_expire': { time_expire: '2020-01-01T00:00:00+08:00' },
  "another merchant's number": { mchid: '1900000999' },
})) {
  test.serial(`${what}: 400 PARAM_ERROR and no trade`, async (t) => {
    const orderNo = newNo();
    const answer = await create({ out_trade_no: orderNo, ...changes });
    t.is(answer.status, 400, answer.body);
    t.is(answer.code, 'PARAM_ERROR');
    t.is((await world.ledger(orderNo)).entries.length, 0);
  });
}

test.serial('jsapi without a payer and h5 without a scene are refused', async (t) => {
  t.is((await create({}, 'jsapi')).code, 'PARAM_ERROR');
  t.is((await create({}, 'h5')).code, 'PARAM_ERROR');
});

test.serial('an app of another merchant is refused', async (t) => {
  t.is((await create({ appid: 'wx9999999999999999' })).code, 'APPID_MCHID_NOT_MATCH');
});

test.serial('an openid belongs to one app of the merchant', async (t) => {
  const { wechat: own } = await world.post<Record<string, SimulatedChannelConfig>>('/sim/accounts', {
    payWay: 'wechat',
    name: 'apps',
  });
  const rotate = { payWay: 'wechat', account: 'apps', what: 'app-id-jsapi' };
  const { wechat: linked } = await world.post<Record<string, SimulatedChannelConfig>>('/sim/rotate', rotate);
  const pay = (appid: string | undefined, openid: string) =>
    call(world, linked!, 'POST', '/v3/pay/transactions/jsapi', nativeOrder(linked!, { appid, payer: { openid } }));
  t.is((await pay(own!.fields.appId, 'ann')).status, 200);
  t.is((await pay(own!.fields.appId, 'ann')).status, 200);
  t.is((await pay(linked!.fields.appIdJsapi, 'bob')).status, 200);
  for (const [appid, openid] of [
    [linked!.fields.appIdJsapi, 'ann'],
    [own!.fields.appId, 'bob'],
  ]) {
    const answer = await pay(appid, openid!);
    t.is(answer.status, 400);
    t.is(answer.code, 'PARAM_ERROR');
  }
});

test.serial('a merchant cannot query orders of another one', async (t) => {
  const orderNo = newNo();
  await create({ out_trade_no: orderNo });
  const other = await configOf(world, 'other');
  t.is((await query(orderNo, other)).code, 'ORDER_NOT_EXIST');
  t.is((await call(world, config, 'GET', `${pathOf(orderNo)}?mchid=${other.fields.mchid}`)).code, 'PARAM_ERROR');
});

test.serial('0.02 is definitely refused, and 0.01 pays by itself', async (t) => {
  const [declined, paid] = [newNo(), newNo()];
  t.is((await create({ out_trade_no: declined, amount: { total: 2 } })).code, 'RULE_LIMIT');
  t.is((await query(declined)).status, 404);
  await create({ out_trade_no: paid, amount: { total: 1 } });
  t.like(bodyOf(await query(paid)), { trade_state: 'SUCCESS' });
});
