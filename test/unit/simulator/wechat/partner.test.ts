import test from 'ava';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../world.ts';
import { call, configOf, nativeOrder, newNo, startWechat, type Raw } from './merchant.ts';

const TRADES = '/v3/pay/partner/transactions';
const REFUNDS = '/v3/refund/domestic/refunds';
const COMPLAINTS = '/v3/merchant-service/complaints-v2';

let world: World;
let direct: SimulatedChannelConfig;
let partner: SimulatedChannelConfig;
/** The same partner with another sub-merchant. */
let sibling: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  direct = await configOf(world);
  partner = await configOf(world, 'partner', { partner: true, subApp: true });
  const rotate = { payWay: 'wechat', account: 'partner', what: 'sub-merchant' };
  sibling = (await world.post<Record<string, SimulatedChannelConfig>>('/sim/rotate', rotate)).wechat!;
});
test.after.always(() => world.close());

const mchidsOf = ({ fields }: SimulatedChannelConfig) => ({ sp_mchid: fields.mchid, sub_mchid: fields.subMchId });
const bodyOf = ({ body }: Raw) => JSON.parse(body) as Record<string, unknown>;

function orderOf(config: SimulatedChannelConfig, changes: object = {}) {
  const { appid: _app, mchid: _mchid, ...order } = nativeOrder(config);
  return { sp_appid: config.fields.appId, ...mchidsOf(config), ...order, ...changes };
}

const create = (config: SimulatedChannelConfig, changes: object = {}, product = 'native') =>
  call(world, config, 'POST', `${TRADES}/${product}`, orderOf(config, changes));

function query(config: SimulatedChannelConfig, orderNo: string, changes: object = {}): Promise<Raw> {
  const search = new URLSearchParams({ ...mchidsOf(config), ...changes } as Record<string, string>);
  return call(world, config, 'GET', `${TRADES}/out-trade-no/${orderNo}?${search.toString()}`);
}

async function paid(config: SimulatedChannelConfig): Promise<string> {
  const orderNo = newNo();
  await create(config, { out_trade_no: orderNo });
  await world.post('/sim/pay', { orderNo });
  return orderNo;
}

function refund(config: SimulatedChannelConfig, orderNo: string, changes: object = {}): Promise<Raw> {
  return call(world, config, 'POST', REFUNDS, {
    sub_mchid: config.fields.subMchId,
    out_trade_no: orderNo,
    out_refund_no: newNo(),
    amount: { refund: 100, total: 1234, currency: 'CNY' },
    ...changes,
  });
}

test('a partner takes no payments of its own, and a direct merchant has no sub-merchants', async (t) => {
  const own = await call(world, partner, 'POST', '/v3/pay/transactions/native', nativeOrder(partner));
  t.is(own.code, 'PARAM_ERROR');
  t.regex(own.body, /受理机构必须传入sub_mch_id/);
  const path = `/v3/pay/transactions/out-trade-no/${newNo()}`;
  t.is((await call(world, partner, 'GET', `${path}?mchid=${partner.fields.mchid}`)).code, 'PARAM_ERROR');
  const borrowed = await create(direct, { sub_mchid: partner.fields.subMchId });
  t.is(borrowed.code, 'PARAM_ERROR');
  t.regex(borrowed.body, /普通商户不允许传sub_mch_id/);
  t.is((await refund(direct, newNo(), { sub_mchid: partner.fields.subMchId })).code, 'PARAM_ERROR');
  t.is((await refund(partner, newNo(), { sub_mchid: undefined })).code, 'PARAM_ERROR');
});

for (const [what, changes, code] of [
  ['the members of a direct merchant', { sp_appid: undefined, sp_mchid: undefined }, 'PARAM_ERROR'],
  ['no sub-merchant', { sub_mchid: undefined }, 'PARAM_ERROR'],
  ['another partner', { sp_mchid: '1900000999' }, 'PARAM_ERROR'],
  ['a merchant of another partner', { sub_mchid: '1900000999' }, 'NO_AUTH'],
  ['an app of another partner', { sp_appid: 'wx9999999999999999' }, 'APPID_MCHID_NOT_MATCH'],
  ['an app of another sub-merchant', { sub_appid: 'wx9999999999999999' }, 'APPID_MCHID_NOT_MATCH'],
] as const) {
  test(`${what}: ${code}`, async (t) => {
    t.is((await create(partner, changes)).code, code);
  });
}

test("a payer is identified for the partner's app or for the named app of the sub-merchant", async (t) => {
  const { subAppId: sub_appid } = partner.fields;
  const pay = async (changes: object) => (await create(partner, changes, 'jsapi')).code;
  t.is(await pay({}), 'PARAM_ERROR');
  t.is(await pay({ payer: {} }), 'PARAM_ERROR');
  t.is(await pay({ payer: { openid: 'o1' } }), 'PARAM_ERROR');
  t.is(await pay({ payer: { sub_openid: 'o2' } }), 'PARAM_ERROR');
  t.is(await pay({ sub_appid, payer: { sub_openid: 'o2' } }), '');
  t.is(await pay({ payer: { sp_openid: 'o3' } }), '');
  t.is(await pay({ payer: { sp_openid: 'o2' } }), 'PARAM_ERROR', 'an openid of the other app');
  t.is(await pay({ sub_appid, payer: { sub_openid: 'o3' } }), 'PARAM_ERROR');
});

test('an app of one sub-merchant is refused for another', async (t) => {
  t.is((await create(sibling, { sub_appid: partner.fields.subAppId })).code, 'APPID_MCHID_NOT_MATCH');
});

test('a sub-merchant cannot query, close or refund an order of another one', async (t) => {
  const orderNo = await paid(partner);
  t.like(bodyOf(await query(partner, orderNo)), { ...mchidsOf(partner), trade_state: 'SUCCESS' });
  t.is((await query(sibling, orderNo)).code, 'ORDER_NOT_EXIST');
  t.is((await query(partner, orderNo, { sub_mchid: '1900000999' })).code, 'NO_AUTH');
  t.is((await query(partner, orderNo, { sp_mchid: '1900000999' })).code, 'PARAM_ERROR');
  const path = `${TRADES}/out-trade-no/${orderNo}/close`;
  t.is((await call(world, sibling, 'POST', path, mchidsOf(sibling))).code, 'ORDER_NOT_EXIST');
  t.is((await refund(sibling, orderNo)).code, 'RESOURCE_NOT_EXISTS');
  t.is((await create(sibling, { out_trade_no: orderNo })).code, 'ORDERPAID', 'a number is used once under a partner');

  const refundNo = newNo();
  t.is((await refund(partner, orderNo, { out_refund_no: refundNo })).status, 200);
  const find = ({ fields }: SimulatedChannelConfig) =>
    call(world, partner, 'GET', `${REFUNDS}/${refundNo}?sub_mchid=${fields.subMchId}`);
  t.is((await find(partner)).status, 200);
  t.is((await find(sibling)).code, 'RESOURCE_NOT_EXISTS');
  t.is((await call(world, partner, 'GET', `${REFUNDS}/${refundNo}`)).code, 'PARAM_ERROR');
});

test('a complaint belongs to its sub-merchant, and the list can be filtered by it', async (t) => {
  const ids: string[] = [];
  for (const config of [partner, sibling]) {
    const orderNo = await paid(config);
    ids.push((await world.post<{ id: string }>('/sim/dispute', { orderNo, act: 'open' })).id);
  }
  const [day] = new Date(Date.now() + 8 * 3_600_000).toISOString().split('T');
  const listed = async (more: string) => {
    const path = `${COMPLAINTS}?begin_date=${day}&end_date=${day}${more}`;
    const { data } = bodyOf(await call(world, partner, 'GET', path)) as { data: Record<string, unknown>[] };
    return data.map((one) => [one.complaint_id, one.complainted_mchid]);
  };
  const all = [
    [ids[0], partner.fields.subMchId],
    [ids[1], sibling.fields.subMchId],
  ];
  t.deepEqual(await listed(''), all);
  t.deepEqual(await listed(`&complainted_mchid=${sibling.fields.subMchId}`), all.slice(1));
  const finish = (complainted_mchid: string | undefined) =>
    call(world, partner, 'POST', `${COMPLAINTS}/${ids[0]}/complete`, { complainted_mchid });
  t.is((await finish(partner.fields.mchid)).status, 404);
  t.is((await finish(sibling.fields.subMchId)).status, 404);
  t.is((await finish(partner.fields.subMchId)).status, 204);
});

test('only a partner can rotate sub-merchants and their apps', async (t) => {
  for (const what of ['sub-merchant', 'sub-app-id', 'sub-app-id-jsapi', 'sub-app-id-mini', 'sub-app-id-app'])
    t.like(await world.post('/sim/rotate', { payWay: 'wechat', what }), { error: { code: 'no_partner' } }, what);
});
