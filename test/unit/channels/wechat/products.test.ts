import test from 'ava';
import type { ProbeCheck, Scene } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../../simulator/world.ts';
import { channelOf, configOf, startWechat } from '../../simulator/wechat/merchant.ts';

const EVERY = ['qr', 'h5', 'jsapi', 'mini', 'app', 'code'] as const satisfies readonly Scene[];

let world: World;
test.before(async () => {
  world = await startWechat();
});
test.after.always(() => world.close());

async function checksOf(
  config: SimulatedChannelConfig,
  products: readonly Scene[] = EVERY,
): Promise<readonly ProbeCheck[]> {
  return (await channelOf(world, config).probe({ products })).checks ?? [];
}

const words = (checks: readonly ProbeCheck[]) => checks.map(({ name, status }) => `${name}: ${status}`);
const named = (checks: readonly ProbeCheck[], part: string) => checks.find(({ name }) => name.includes(part));

test('a valid merchant: every credential and product is proven or has a reason', async (t) => {
  const config = await configOf(world, 'good', { mode: 'certificate' });
  const checks = await checksOf(config);
  t.deepEqual(words(checks), [
    'Merchant number: ok',
    'Merchant private key: ok',
    'Serial of the merchant certificate: ok',
    'Platform certificates: ok',
    'APIv3 key: ok',
    `App ID ${config.fields['appId']}: ok`,
    'Native (qr): ok',
    'H5 (h5): ok',
    'JSAPI (jsapi): unproven',
    'JSAPI (mini): unproven',
    'App (app): ok',
    'Payment code (code): unproven',
  ]);
  t.true(checks.every(({ status, message }) => status !== 'unproven' || /harmless|payer/.test(message ?? '')));
});

test('every order of a test is closed immediately, and no payer sees it', async (t) => {
  const config = await configOf(world, 'closing', { mode: 'public-key' });
  await checksOf(config);
  const { orders } = await world.get<{ orders: { orderNo: string }[] }>('/sim/ledger?payWay=wechat&account=closing');
  const trades = await Promise.all(
    Object.values(orders).map(({ orderNo }) => world.get<{ state: string; scene: string }>(`/sim/trades/${orderNo}`)),
  );
  t.deepEqual(trades.map(({ scene, state }) => `${scene} ${state}`).toSorted(), [
    'app closed',
    'h5 closed',
    'native closed',
    'native closed',
  ]);
});

test('with only public keys the APIv3 key is unproven, which is not a failure', async (t) => {
  const result = await channelOf(world, await configOf(world, 'keys', { mode: 'public-key' })).probe();
  t.true(result.ok);
  t.like(named(result.checks ?? [], 'APIv3'), { status: 'unproven' });
  t.like(named(result.checks ?? [], 'WeChat Pay public key'), { status: 'ok' });
});

for (const [scene, product, name] of [
  ['qr', 'native', 'Native'],
  ['h5', 'h5', 'H5'],
  ['app', 'app', 'App (app)'],
  ['jsapi', 'jsapi', 'JSAPI (jsapi)'],
  ['mini', 'jsapi', 'JSAPI (mini)'],
] as const) {
  test(`a merchant without ${product}: the scene ${scene} fails with the code and the support id of WeChat Pay`, async (t) => {
    const products = ['native', 'jsapi', 'h5', 'app', 'codepay'].filter((one) => one !== product);
    const config = await configOf(world, `without-${scene}`, { mode: 'certificate', products });
    const result = await channelOf(world, config).probe({ products: [scene] });
    t.like(result, { ok: false, code: 'NO_AUTH', field: null });
    const check = named(result.checks ?? [], name);
    t.like(check, { about: 'product', status: 'failed', code: 'NO_AUTH' });
    t.regex(check?.message ?? '', /has not opened this product\. Open it in the Product center/);
    t.truthy(check?.supportId);
  });
}

test('an app that is not linked to the merchant is reported with its field', async (t) => {
  const config = await configOf(world, 'apps', { mode: 'certificate' });
  const fields = { ...config.fields, appIdApp: 'wx0000000000000000' };
  const checks = await checksOf({ ...config, fields }, ['qr', 'app']);
  t.like(named(checks, `App ID ${config.fields['appId']}`), { status: 'ok' });
  t.like(named(checks, 'App ID wx0000000000000000'), {
    status: 'failed',
    field: 'appIdApp',
    code: 'APPID_MCHID_NOT_MATCH',
  });
  t.like(named(checks, 'App (app)'), { status: 'failed', field: 'appIdApp' });
});

test('a wrong credential is reported first, and no product is tested with it', async (t) => {
  const config = await configOf(world, 'wrong', { mode: 'certificate' });
  const fields = { ...config.fields, apiV3Key: 'x'.repeat(32) };
  const result = await channelOf(world, { ...config, fields }).probe({ products: ['qr'] });
  t.like(result, { ok: false, field: 'apiV3Key', code: 'SEAL_NOT_OPENED' });
  t.like(named(result.checks ?? [], 'Native'), { status: 'unproven' });
  const { orders } = await world.get<{ orders: object[] }>('/sim/ledger?payWay=wechat&account=wrong');
  t.is(Object.keys(orders).length, 0);
});

test('an order that could not be closed is reported with its expiry', async (t) => {
  const config = await configOf(world, 'unclosed', { mode: 'certificate' });
  await world.post('/sim/faults', { payWay: 'wechat', account: 'unclosed', call: 'close', fault: '502', times: 9 });
  const check = named(await checksOf(config, ['h5']), 'H5');
  t.like(check, { status: 'ok' });
  t.regex(check?.message ?? '', /could not be closed; its code was not given out, and it expires at \d{4}-/);
});
