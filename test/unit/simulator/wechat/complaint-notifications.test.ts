import test from 'ava';
import { createTransport } from '../../../../server/channels/transport.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import type { ChannelInput, ProbeResult } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { startReceiver, until, type World } from '../world.ts';
import { call, configOf, newNo, startWechat } from './merchant.ts';

const PATH = '/v3/merchant-service/complaint-notifications';
const HERE = 'https://pay.example/notify/wechat/default';

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

function inputOf({ fields, pems }: SimulatedChannelConfig, change: Partial<ChannelInput> = {}): ChannelInput {
  const send = createTransport({ timeoutMs: 120_000 });
  const base = { mode: 'simulator', simulatorUrl: world.url, notifyUrl: HERE, send, now: () => new Date() } as const;
  return { ...base, fields, pems, ...change };
}
const register = (config: SimulatedChannelConfig, change: Partial<ChannelInput> = {}) =>
  wechatKind.registerNotifications!(inputOf(config, change));
const urlOf = async (config: SimulatedChannelConfig) =>
  (JSON.parse((await call(world, config, 'GET', PATH)).body) as { url?: string }).url;

test('the complaint notification URL is created, found and updated for this service, and a foreign one is kept', async (t) => {
  const config = await configOf(world, 'register');
  t.deepEqual(await register(config), { ok: true, fields: {} });
  t.is(await urlOf(config), HERE);
  t.deepEqual(await register(config), { ok: true, fields: {} });
  const notifyUrl = 'https://pay.example/notify/wechat/other';
  t.deepEqual(await register(config, { notifyUrl }), { ok: true, fields: {} });
  t.is(await urlOf(config), notifyUrl);
  const stranger = 'https://shop.example/complaints';
  await call(world, config, 'PUT', PATH, { url: stranger });
  t.like(await register(config), { ok: false, code: 'complaint_url' });
  t.is(await urlOf(config), stranger);
  t.like(await register(config, { notifyUrl: undefined }), { ok: false, code: 'no_notify_url' });
});

test('a probe reports a complaint notification URL that is not ours', async (t) => {
  const config = await configOf(world, 'probe');
  const probe = (change: Partial<ChannelInput> = {}) => wechatKind.create(inputOf(config, change)).probe();
  const address = async (change?: Partial<ChannelInput>) => {
    const { ok, note, checks } = (await probe(change)) as Extract<ProbeResult, { ok: true }>;
    const check = checks?.find(({ about }) => about === 'notifications');
    return { ok, code: note?.code, status: check?.status };
  };
  const good = { ok: true, code: undefined };
  t.deepEqual(await address(), { ...good, status: 'ok' });
  await call(world, config, 'POST', PATH, { url: 'https://shop.example/complaints' });
  t.deepEqual(await address(), { ok: true, code: 'complaint_url', status: 'lacking' });
  await call(world, config, 'PUT', PATH, { url: HERE });
  t.deepEqual(await address(), { ...good, status: 'ok' });
  t.deepEqual(await address({ notifyUrl: undefined }), { ...good, status: undefined });
});

test('the simulator stores one https URL and sends complaint notifications to it', async (t) => {
  const config = await configOf(world, 'calls');
  const send = (method: string, body?: object) => call(world, config, method, PATH, body);
  t.like(await send('GET'), { status: 400, code: 'RESOURCE_NOT_EXISTS' });
  t.like(await send('PUT', { url: HERE }), { status: 400, code: 'RESOURCE_NOT_EXISTS' });
  t.like(await send('POST', { url: 'http://shop.example/complaints' }), { status: 400, code: 'PARAM_ERROR' });
  const receiver = await startReceiver('');
  t.teardown(() => receiver.close());
  t.is((await send('POST', { url: receiver.url })).status, 200);
  t.like(await send('POST', { url: HERE }), { status: 400, code: 'INVALID_REQUEST' });
  const orderNo = newNo();
  const { mchid, appId: appid } = config.fields;
  const order = { appid, mchid, description: '茶', out_trade_no: orderNo, notify_url: 'http://127.0.0.1:9/notify' };
  await call(world, config, 'POST', '/v3/pay/transactions/native', { ...order, amount: { total: 100 } });
  await world.post('/sim/pay', { orderNo });
  await world.post('/sim/dispute', { orderNo, act: 'open' });
  await until(() => receiver.received.length > 0);
  const told = JSON.parse(receiver.received[0]!.body.toString()) as { event_type: string };
  t.is(told.event_type, 'COMPLAINT.CREATE');
  t.is((await send('DELETE')).status, 204);
  t.is((await send('GET')).code, 'RESOURCE_NOT_EXISTS');
});
