import test from 'ava';
import { CHANNEL_KINDS } from '../../../server/channels/registry.ts';
import { BesideLive, type Purpose, refuseBesideLive, refuseMode } from '../../../server/credentials/live-guard.ts';
import { seedSimulatorConfigs } from '../../../server/credentials/simulator-configs.ts';
import { type AppError, Conflict } from '../../../server/errors.ts';
import { MODES } from '../../../server/payments/channel.ts';
import { startWorld } from '../simulator/world.ts';
import { paypal } from './material.ts';
import { insertOrder, startService } from './service.ts';

test('with Debug every project gets the simulator for its unconfigured channels, once for all replicas', async (t) => {
  const world = await startWorld();
  t.teardown(() => world.close());
  const service = await startService(t, { debug: true, simulatorUrl: world.url });
  const { store, channels, call } = service;
  await call('POST', '/api/v1/payment/config/paypal', { body: paypal });
  const same = { debug: true, simulatorUrl: world.url, on: service.on };
  const replica = await startService(t, { ...same, masterKeys: service.masterKeys });
  await Promise.all([seedSimulatorConfigs(service.ports), seedSimulatorConfigs(replica.ports)]);
  const rows = await store.read((tx) => tx.channelConfigs.list({}));
  t.deepEqual(rows.map(({ project, payWay, mode, version }) => `${project} ${payWay} ${mode} ${version}`).toSorted(), [
    'default alipay simulator 1',
    'default paypal sandbox 1',
    'default wechat simulator 1',
    'other alipay simulator 1',
    'other paypal simulator 1',
    'other wechat simulator 1',
  ]);
  t.is(new Set(rows.map(({ account }) => account)).size, 6, 'projects have accounts of their own');
  for (const payWay of ['alipay', 'wechat'] as const)
    t.like(await channels.probe('default', payWay), { ok: true }, payWay);
  t.like(await channels.probe('other', 'paypal'), { ok: true });
  const lost = await startService(t, same);
  await t.throwsAsync(lost.channels.forNew('other', 'alipay'), { message: /cannot be decrypted/ });
  await seedSimulatorConfigs(lost.ports);
  t.like(await lost.channels.probe('other', 'alipay'), { ok: true }, 'a lost master key is got over');
});

test('a later project gets its simulator with its first order, and rotated keys are updated at the next start', async (t) => {
  const world = await startWorld();
  t.teardown(() => world.close());
  const service = await startService(t, { debug: true, simulatorUrl: world.url });
  const { channels, ports } = service;
  t.like(await channels.forNew('other', 'alipay'), { mode: 'simulator', configVersion: 1 });
  await world.post('/sim/rotate', { payWay: 'alipay', account: 'other', what: 'app-key' });
  t.like(await channels.probe('other', 'alipay'), { ok: false });
  await seedSimulatorConfigs(ports);
  t.is((await channels.forNew('other', 'alipay')).configVersion, 2);
  t.like(await channels.probe('other', 'alipay'), { ok: true });
  await seedSimulatorConfigs(ports);
  for (const payWay of ['wechat', 'paypal'] as const) t.is((await channels.forNew('other', payWay)).configVersion, 1);
  t.is((await channels.forNew('other', 'alipay')).configVersion, 2);
});

test('an unreachable simulator gives a retryable error, not a missing configuration', async (t) => {
  const dark = await startService(t, { debug: true, simulatorUrl: 'http://127.0.0.1:1' });
  const error = await t.throwsAsync<AppError>(dark.channels.forNew('default', 'alipay'));
  t.like(error, { code: 'channel_not_configured', status: 503 });
  const none = await startService(t, { debug: true });
  t.like(await t.throwsAsync(none.channels.forNew('default', 'alipay')), {
    code: 'channel_not_configured',
    status: 422,
  });
});

test('without Debug no simulator is seeded, and earlier simulator configurations are ignored', async (t) => {
  const world = await startWorld();
  t.teardown(() => world.close());
  const debug = await startService(t, { debug: true, simulatorUrl: world.url });
  await seedSimulatorConfigs(debug.ports);
  const service = await startService(t, { on: debug.on, masterKeys: debug.masterKeys });
  await seedSimulatorConfigs(service.ports);
  for (const payWay of CHANNEL_KINDS.keys()) {
    await t.throwsAsync(service.channels.forNew('default', payWay), { message: /not configured/ });
    t.deepEqual(await service.channels.forNotifications('default', payWay), []);
  }
});

test('Debug and staging are refused if live configurations or live orders exist', async (t) => {
  const { store, call } = await startService(t);
  const codes = async () => {
    const found: (string | undefined)[] = [];
    for (const purpose of purposes) found.push(await refuseBesideLive(store, purpose).then(() => undefined, codeOf));
    return found;
  };
  const refused = ['debug_beside_live', 'staging_beside_live', undefined, undefined];
  await call('POST', '/api/v1/payment/config/paypal', { body: paypal });
  t.deepEqual(await codes(), [undefined, undefined, undefined, undefined]);
  await insertOrder(store, { mode: 'live', state: 'paid', nextCheckAt: null });
  t.deepEqual(await codes(), refused);
  await store.transaction((tx) => tx.orders.delete({ orderNo: 'P1' }));
  await call('POST', '/api/v1/payment/config/paypal?project=other', { body: { ...paypal, mode: 'live' } });
  t.deepEqual(await codes(), refused);
});

const purposes: readonly Purpose[] = [
  { debug: true, environment: 'development' },
  { debug: false, environment: 'staging' },
  { debug: false, environment: 'development' },
  { debug: false, environment: 'production' },
];

function codeOf(error: unknown): string {
  if (!(error instanceof BesideLive)) throw error;
  return error.code;
}

test('the writable modes follow from the purpose of the service', (t) => {
  const refused = purposes.map((purpose) =>
    MODES.filter((mode) => {
      try {
        refuseMode(purpose, mode);
        return false;
      } catch (error) {
        t.true(error instanceof Conflict);
        return true;
      }
    }),
  );
  t.deepEqual(refused, [['live'], ['live'], [], ['simulator']]);
});

test('staging uses the configured simulator with all its channels for every project', async (t) => {
  const world = await startWorld();
  t.teardown(() => world.close());
  const service = await startService(t, { environment: 'staging', simulatorUrl: world.url });
  t.like(await service.channels.forNew('default', 'wechat'), { mode: 'simulator', configVersion: 1 });
  const { body } = await service.call('POST', '/api/v1/payment/config/paypal', { body: { ...paypal, mode: 'live' } });
  t.is(body.code, 'staging_refuses_live');
  const alone = await startService(t, { environment: 'staging', on: service.on, masterKeys: service.masterKeys });
  await t.throwsAsync(alone.channels.forNew('default', 'wechat'), { message: /not configured/ });
});
