import test from 'ava';
import { noteHealth } from '../../../server/db/queries/credentials.ts';
import { AppError } from '../../../server/errors.ts';
import type { PlaceOrder } from '../../../server/payments/channel.ts';
import { setStage, type MadeChannel } from './stage.ts';

const codeOf = (error: unknown) => (error instanceof AppError ? error.code : error);
const refusal = async (t: { throwsAsync(p: Promise<unknown>): Promise<unknown> }, asked: Promise<unknown>) =>
  codeOf(await t.throwsAsync(asked));
const pinned = { project: 'default', payWay: 'alipay', mode: 'live', account: 'app-1', configVersion: 1 } as const;

test('an unconfigured channel is refused, and a configured one is built once per version', async (t) => {
  const { channels, write, made } = await setStage(t);
  t.is(await refusal(t, channels.forNew('default', 'alipay')), 'channel_not_configured');
  await write({});
  const active = await channels.forNew('default', 'alipay');
  t.like(active, { mode: 'live', account: 'app-1', configVersion: 1 });
  await Promise.all([channels.forNew('default', 'alipay'), channels.forOrder(pinned)]);
  t.is(made.length, 1);
  t.is(made[0]?.input.fields.apiKey, 'first-key');
});

test('a project does not inherit the channels of another', async (t) => {
  const { channels, write } = await setStage(t);
  await write({});
  t.is(await refusal(t, channels.forNew('other', 'alipay')), 'channel_not_configured');
  t.deepEqual(await channels.forNotifications('other', 'alipay'), []);
});

test('notifications and orders of a project reach only its own accounts, even with equal account numbers', async (t) => {
  const { channels, write } = await setStage(t);
  await write({});
  await write({ project: 'other', account: 'app-2' });
  for (const [project, account] of [
    ['default', 'app-1'],
    ['other', 'app-2'],
  ] as const) {
    const candidates = await channels.forNotifications(project, 'alipay');
    t.deepEqual(
      candidates.map((candidate) => candidate.account),
      [account],
    );
  }
  t.is(await refusal(t, channels.forOrder({ ...pinned, project: 'other' })), 'channel_not_configured');
});

test('a configuration change reaches every replica at its next call', async (t) => {
  const { channels, replica, write, made } = await setStage(t);
  const other = replica();
  await write({});
  await Promise.all([channels.forNew('default', 'alipay'), other.forNew('default', 'alipay')]);
  await write({ secrets: { apiKey: 'second-key' } });
  await Promise.all([channels.forNew('default', 'alipay'), other.forNew('default', 'alipay')]);
  t.deepEqual(
    made.map(({ input }) => input.fields.apiKey),
    ['first-key', 'first-key', 'second-key', 'second-key'],
  );
});

test('a disabled channel refuses only new orders', async (t) => {
  const { channels, write, store } = await setStage(t);
  await write({});
  await store.transaction((tx) => tx.channelStates.update({ project: 'default' }, { enabled: false }));
  t.is(await refusal(t, channels.forNew('default', 'alipay')), 'channel_disabled');
  t.is((await channels.forOrder(pinned)).account, 'app-1');
  t.is((await channels.forNotifications('default', 'alipay')).length, 1);
});

test('an order in flight uses the newest keys of its own account, never another account', async (t) => {
  const { channels, write, made } = await setStage(t);
  await write({});
  await write({ secrets: { apiKey: 'second-key' } });
  await write({ account: 'app-2', secrets: { apiKey: 'other-key' } });
  const channel = await channels.forOrder(pinned);
  t.is(channel.account, 'app-1');
  t.is(made.at(-1)?.input.fields.apiKey, 'second-key');
  t.is(await refusal(t, channels.forOrder({ ...pinned, account: 'app-3' })), 'channel_not_configured');
  t.is(await refusal(t, channels.forOrder({ ...pinned, mode: 'sandbox' })), 'channel_not_configured');
});

test('an order falls back to its own configuration version if the newest keys are unusable', async (t) => {
  const { channels, write, made } = await setStage(t);
  await write({});
  await write({ secrets: { apiKey: 'unusable' } });
  t.is(await refusal(t, channels.forNew('default', 'alipay')), 'channel_not_configured');
  await channels.forOrder(pinned);
  t.deepEqual(
    made.map(({ input }) => input.fields.apiKey),
    ['first-key'],
  );
});

test('notifications are tried with the current account first, then with earlier ones within their late notification period', async (t) => {
  const { channels, write, clock } = await setStage(t);
  await write({});
  await write({ secrets: { apiKey: 'second-key' } });
  clock.now = new Date('2030-02-01T00:00:00Z');
  await write({ account: 'app-2' });
  const accounts = async () => (await channels.forNotifications('default', 'alipay')).map(({ account }) => account);
  t.deepEqual(await accounts(), ['app-2', 'app-1']);
  clock.now = new Date('2031-01-31T00:00:00Z');
  t.deepEqual(await accounts(), ['app-2', 'app-1']);
  clock.now = new Date('2031-03-31T00:00:00Z');
  t.deepEqual(await accounts(), ['app-2']);
});

test('simulator configurations and orders are ignored without Debug', async (t) => {
  const { channels, replica, write } = await setStage(t);
  await write({ mode: 'simulator' });
  t.is(await refusal(t, channels.forNew('default', 'alipay')), 'channel_not_configured');
  t.is(await refusal(t, channels.forOrder({ ...pinned, mode: 'simulator' })), 'channel_not_configured');
  t.deepEqual(await channels.forNotifications('default', 'alipay'), []);
  const debug = replica({ simulated: true });
  t.is((await debug.forNew('default', 'alipay')).mode, 'simulator');
  t.is((await debug.forNotifications('default', 'alipay')).length, 1);
});

test('a flipped byte breaks only that configuration, and writing it again repairs it', async (t) => {
  const { channels, write, store, logged } = await setStage(t);
  const row = await write({});
  await write({ project: 'other' });
  const encrypted = row.encrypted ?? '';
  const flipped = encrypted.slice(0, -3) + (encrypted.at(-3) === 'A' ? 'B' : 'A') + encrypted.slice(-2);
  await store.transaction((tx) => tx.channelConfigs.update({ id: row.id }, { encrypted: flipped }));
  const error = await t.throwsAsync(channels.forNew('default', 'alipay'), { instanceOf: AppError });
  t.is(error?.code, 'configuration_broken');
  t.is(error?.status, 503);
  t.regex(error?.message ?? '', /alipay configuration of project default/);
  t.true(logged.some((line) => line.includes(row.id)));
  t.is((await channels.forNew('other', 'alipay')).account, 'app-1');
  t.deepEqual(await channels.forNotifications('default', 'alipay'), []);
  await write({});
  t.is((await channels.forNew('default', 'alipay')).configVersion, 2);
});

test('swapped rows are detected: secrets of one project cannot be decrypted in another', async (t) => {
  const { channels, write, store } = await setStage(t);
  const [one, two] = [await write({}), await write({ project: 'other', secrets: { apiKey: 'other-key' } })];
  await store.transaction(async (tx) => {
    await tx.channelConfigs.update({ id: one.id }, { encrypted: two.encrypted });
    await tx.channelConfigs.update({ id: two.id }, { encrypted: one.encrypted });
  });
  for (const project of ['default', 'other'])
    t.is(await refusal(t, channels.forNew(project, 'alipay')), 'configuration_broken');
});

test('the health of a channel is stored rarely and as one word', async (t) => {
  const { channels, write, store, clock } = await setStage(t);
  await write({});
  const { channel } = await channels.forNew('default', 'alipay');
  const order = {} as PlaceOrder;
  await channel.place(order);
  await channel.query({} as Parameters<MadeChannel['query']>[0]);
  await channels.idle();
  const first = clock.now;
  t.like(await store.read((tx) => tx.channelStates.find({ project: 'default' })), {
    lastSuccessAt: first,
    lastFailureAt: first,
    lastFailure: 'timeout',
  });
  clock.now = new Date(first.getTime() + 4000);
  await channel.place(order);
  await channels.idle();
  t.deepEqual((await store.read((tx) => tx.channelStates.find({ project: 'default' })))?.lastSuccessAt, first);
  clock.now = new Date(first.getTime() + 5000);
  await channel.place(order);
  await channels.idle();
  t.deepEqual((await store.read((tx) => tx.channelStates.find({ project: 'default' })))?.lastSuccessAt, clock.now);
  // The failure of another replica, whose call ended before it: an older failure does not replace a newer one.
  const version = 1;
  const failed = (at: Date, failure: string) =>
    store.transaction((tx) => noteHealth(tx, { project: 'default', payWay: 'alipay', version, at, failure }));
  await failed(clock.now, 'signature_invalid');
  await failed(first, 'timeout');
  t.like(await store.read((tx) => tx.channelStates.find({ project: 'default' })), {
    lastFailureAt: clock.now,
    lastFailure: 'signature_invalid',
  });
});
