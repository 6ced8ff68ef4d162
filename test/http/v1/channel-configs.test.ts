import test from 'ava';
import { alipay, fixture, paypal, publicOf } from '../../unit/credentials/material.ts';
import { startService } from '../../unit/credentials/service.ts';
import { CONSOLE, sendAs, withAnotherKey } from '../../support/own-credentials.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

type Row = Record<string, unknown>;

const base = '/api/v1/payment/config';

/** A project for one test with the simulator's configurations, as they exist after a start. */
async function projectWithChannels(): Promise<string> {
  const project = await file.project();
  await file.service.app.prepare();
  return project;
}

test.serial('without any configuration there is one entry for each channel', async (t) => {
  const { call } = await startService(t);
  const { status, body } = await call('GET', `${base}/list`);
  t.is(status, 200);
  t.deepEqual(
    body.data.map(({ payWay, configured, enabled, status: word }: Record<string, unknown>) => [
      payWay,
      configured,
      enabled,
      word,
    ]),
    [
      ['alipay', false, false, 'unconfigured'],
      ['wechat', false, false, 'unconfigured'],
      ['paypal', false, false, 'unconfigured'],
    ],
  );
  t.deepEqual(body.page, { nextCursor: null, hasMore: false });
});

test.serial('the schema lists the required fields and certificates of each mode', async (t) => {
  const { call } = await startService(t);
  const { body } = await call('GET', `${base}/wechat/schema`);
  t.deepEqual(body.data.modes, ['simulator', 'live']);
  t.deepEqual(body.data.needed.live, ['mchid', 'appId', 'apiV3Key', 'wechat_merchant_key', 'wechat_merchant_cert']);
  const [key] = body.data.fields.filter(({ name }: { name: string }) => name === 'apiV3Key');
  t.like(key, { secret: true, requiredIn: ['simulator', 'live'] });
  t.is((await call('GET', `${base}/nobody/schema`)).status, 404);
});

test.serial(
  'the fee rate of a channel is validated when it is written, and an invalid one is rejected with the reason',
  async (t) => {
    const { call, channels } = await startService(t);
    t.is((await call('POST', `${base}/alipay`, { body: { ...alipay, feeRate: 0.6 } })).status, 200);
    t.is((await call('GET', `${base}/alipay`)).body.data.fields.feeRate, '0.6');
    const bad = await call('POST', `${base}/alipay`, { body: { feeRate: '0.6 + 0.10 CNY' } });
    t.is(bad.status, 400, bad.text);
    t.is(bad.body.errors[0].pointer, '/feeRate');
    t.true(bad.text.includes('this channel has no fixed fee per payment'), bad.text);
    t.is((await call('POST', `${base}/paypal`, { body: { ...paypal, feeRate: '3.49% + 0.49 USD' } })).status, 200);
    const { channel } = await channels.forNew('default', 'paypal');
    t.deepEqual(channel.bills?.rate, { share: '0.0349', fixed: 49n, fixedCurrency: 'USD' });
  },
);

test.serial(
  'secrets are written and never returned; an omitted or *** secret is unchanged, and null clears it',
  async (t) => {
    const { call, channels } = await startService(t);
    const first = await call('POST', `${base}/alipay`, { body: alipay });
    t.is(first.status, 200, first.text);
    t.like(first.body.data, {
      configured: true,
      enabled: true,
      mode: 'sandbox',
      account: alipay.appId,
      version: 1,
      missing: [],
    });
    t.deepEqual(first.body.data.fields, { appId: alipay.appId, appAuthToken: '***' });
    t.regex(first.body.data.fingerprints.appAuthToken, /^[0-9a-f]{8}…3210$/);
    const second = await call('POST', `${base}/alipay`, {
      body: { appAuthToken: '***', sellerId: '2088000000000001' },
    });
    t.like(second.body.data, { version: 2, mode: 'sandbox', account: alipay.appId });
    t.is(second.body.data.fingerprints.appAuthToken, first.body.data.fingerprints.appAuthToken);
    const third = await call('POST', `${base}/alipay`, { body: { appAuthToken: null, sellerId: null } });
    t.deepEqual(third.body.data.fields, { appId: alipay.appId });
    for (const { text } of [
      first,
      second,
      third,
      await call('GET', `${base}/alipay`),
      await call('GET', `${base}/list`),
    ]) {
      t.false(text.includes(alipay.appAuthToken));
      t.false(text.includes('PRIVATE'));
    }
    t.is((await channels.forNew('default', 'alipay')).configVersion, 3);
  },
);

test.serial('a 400 names every invalid field, and nothing is written', async (t) => {
  const { call, store } = await startService(t);
  const refusals: [object, string[]][] = [
    [{ ...paypal, mode: undefined }, ['/mode']],
    [{ ...paypal, clientId: 'x', webhookId: ['8PT597110X687430L'] }, ['/clientId', '/webhookId']],
    [{ mode: 'sandbox', clientId: paypal.clientId }, ['/clientSecret']],
    [{ ...paypal, clientSecret: '' }, ['/clientSecret']],
    [{ ...paypal, clientSecret: { $ne: '' } }, ['/clientSecret']],
    [{ ...paypal, paypal_simulator_ca: 'no certificate' }, ['/paypal_simulator_ca']],
  ];
  for (const [body, pointers] of refusals) {
    const answer = await call('POST', `${base}/paypal`, { body });
    t.is(answer.status, 400, JSON.stringify(body));
    t.deepEqual(
      answer.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      pointers,
      answer.text,
    );
  }
  t.is((await call('POST', `${base}/wechat`, { body: { mode: 'sandbox' } })).body.errors[0].pointer, '/mode');
  const own = { ...alipay, alipay_public_key: publicOf(alipay.alipay_app_key) };
  const answer = await call('POST', `${base}/alipay`, { body: own });
  t.deepEqual(
    answer.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/alipay_public_key'],
    answer.text,
  );
  t.is(await store.read((tx) => tx.channelConfigs.count({})), 0);
  t.is(await store.read((tx) => tx.certs.count({})), 0);
});

test.serial('a PEM becomes a certificate, and without it the configuration is stored and not usable', async (t) => {
  const { call } = await startService(t);
  const bare = await call('POST', `${base}/alipay`, { body: { mode: 'sandbox', appId: alipay.appId } });
  t.like(bare.body.data, {
    configured: false,
    missing: ['alipay_app_key', 'alipay_public_key'],
    status: 'unconfigured',
  });
  t.is((await call('PUT', `${base}/alipay/toggle`, { body: { enabled: true } })).status, 409);
  t.is((await call('POST', `${base}/alipay/test`)).body.code, 'channel_not_configured');
  const key = await call('POST', '/api/v1/certs/upload', {
    body: { payWay: 'alipay', kind: 'alipay_app_key', content: fixture('app.key') },
  });
  t.is(key.status, 201, key.text);
  const done = await call('POST', `${base}/alipay`, { body: { alipay_public_key: alipay.alipay_public_key } });
  t.like(done.body.data, { configured: true, missing: [] });
  t.deepEqual(
    done.body.data.certificates.map(({ kind }: { kind: string }) => kind),
    ['alipay_app_key', 'alipay_public_key'],
  );
  const gone = await call('POST', `${base}/alipay`, { body: { alipay_app_key: null } });
  t.is(gone.status, 400);
  t.is(gone.body.errors[0].pointer, '/alipay_app_key');
});

test.serial('toggling an unconfigured channel is 409, and toggling without a body inverts the state', async (t) => {
  const { call, channels } = await startService(t);
  t.is((await call('PUT', `${base}/paypal/toggle`, { body: { enabled: false } })).body.code, 'channel_not_configured');
  await call('POST', `${base}/paypal`, { body: paypal });
  t.like((await call('PUT', `${base}/paypal/toggle`, { body: { enabled: false } })).body.data, {
    enabled: false,
    status: 'disabled',
  });
  await t.throwsAsync(channels.forNew('default', 'paypal'), { message: /disabled/ });
  t.like((await call('PUT', `${base}/paypal/toggle`)).body.data, { enabled: true });
  t.is((await channels.forNew('default', 'paypal')).mode, 'sandbox');
});

test.serial(
  'live configurations are refused beside Debug, and simulator configurations are unusable without it',
  async (t) => {
    const { call } = await startService(t, { debug: true, simulatorUrl: 'http://127.0.0.1:9' });
    const live = await call('POST', `${base}/paypal`, { body: { ...paypal, mode: 'live' } });
    t.is(live.status, 409);
    t.is(live.body.code, 'debug_refuses_live');
    const other = await startService(t);
    const simulated = await other.call('POST', `${base}/alipay`, { body: { ...alipay, mode: 'simulator' } });
    t.like(simulated.body.data, { mode: 'simulator', configured: false, status: 'unconfigured' });
    t.is((await other.call('POST', `${base}/alipay/test`)).status, 409);
  },
);

test.serial('viewers may read and not write, and no route is open', async (t) => {
  const { call } = await startService(t);
  t.is((await call('GET', `${base}/list`, { token: '' })).status, 401);
  t.is((await call('GET', `${base}/list`, { token: 'viewer' })).status, 200);
  t.is((await call('POST', `${base}/paypal`, { token: 'viewer', body: paypal })).status, 403);
});

test.serial('every change is in the audit log, without secrets', async (t) => {
  const { call, store } = await startService(t);
  await call('POST', `${base}/paypal`, { body: paypal });
  await call('PUT', `${base}/paypal/toggle`, { body: { enabled: false } });
  await call('POST', '/api/v2/payment/config/paypal', { token: 'app:other:config:write', body: paypal });
  const lines = await store.read((tx) => tx.audit.list({}, { orderBy: { id: 'asc' } }));
  t.deepEqual(
    lines.map(({ actorKind, actor, action, target }) => [actorKind, actor, action, target]),
    [
      ['admin', 'root', 'channel-config.write', 'default/paypal'],
      ['admin', 'root', 'channel-config.toggle', 'default/paypal'],
      ['app', 'app_other', 'channel-config.write', 'other/paypal'],
    ],
  );
  t.like(lines[0]?.after, { version: 1, mode: 'sandbox', account: paypal.clientId });
  t.false(
    JSON.stringify(lines, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).includes(
      paypal.clientSecret,
    ),
  );
});

test.serial('a test makes one harmless call to the channel and reports its success', async (t) => {
  await file.admin('POST', '/api/v1/console/payment/pay', { subject: 'Tea', amount: 1, payWay: 'alipay' });
  const { status, body } = await file.admin('POST', `${base}/alipay/test`);
  t.is(status, 200);
  t.is(body.data.ok, true);
});

test.serial('secrets that the master key cannot decrypt are reported and not used', async (t) => {
  const before = await startService(t);
  await sendAs(before, CONSOLE)('POST', `${base}/alipay`, alipay);
  const send = sendAs(await withAnotherKey(t, before), CONSOLE);
  refused(t, await send('POST', `${base}/alipay/test`), 503, 'configuration_broken');
  refused(t, await send('POST', `${base}/alipay`, { sellerId: '2088000000000001' }), 503, 'configuration_broken');
  for (const { body } of [await send('GET', `${base}/alipay`), await listed(send)]) {
    t.like(body.data, { enabled: true, configured: false, status: 'down' });
    t.regex(body.data.fault, /^channel_configs \S+ cannot be decrypted: its master key is not configured/);
  }
  const { body } = await send('PUT', `${base}/alipay/toggle`, { enabled: false });
  t.like(body.data, { enabled: false, configured: false, status: 'disabled' });
});

async function listed(send: ReturnType<typeof sendAs>) {
  const { body } = await send('GET', `${base}/list`);
  return { body: { data: body.data.find(({ payWay }: { payWay: string }) => payWay === 'alipay') } };
}

test.serial('a certificate key that the master key cannot decrypt is reported, too', async (t) => {
  const service = await startService(t);
  const send = sendAs(service, CONSOLE);
  await send('POST', `${base}/alipay`, alipay);
  t.is((await send('GET', `${base}/alipay`)).body.data.fault, null);
  const broken = await service.store.transaction(
    (tx) => tx.sql`update certs set encrypted = encrypted || 'A' where encrypted is not null returning id`,
  );
  t.true(broken.length > 0);
  const { body } = await send('GET', `${base}/alipay`);
  t.like(body.data, { configured: false, status: 'down' });
  t.regex(body.data.fault, /^certs \S+ cannot be decrypted/);
});

test.serial("PayPal's webhook is registered once, and its id is stored in the configuration", async (t) => {
  const { admin } = file;
  const at = `?project=${await projectWithChannels()}`;
  const read = async () => (await admin('GET', `${base}/paypal${at}`)).body.data;
  t.like((await admin('POST', `${base}/paypal/test${at}`)).body.data, { ok: true });
  const before = await read();
  const answer = await admin('POST', `${base}/paypal/notices${at}`);
  t.is(answer.status, 200, JSON.stringify(answer.body));
  t.deepEqual(answer.body.data, { ok: true, field: null, code: null, message: null });
  const after = await read();
  t.is(after.version, before.version + 1);
  t.not(after.fields.webhookId, before.fields.webhookId);
  t.like((await admin('POST', `${base}/paypal/notices${at}`)).body.data, { ok: true });
  t.is((await read()).version, after.version, 'the registration is unchanged');
  t.like((await admin('POST', `${base}/paypal/test${at}`)).body.data, { ok: true });
  refused(t, await admin('POST', `${base}/alipay/notices${at}`), 400, 'invalid_request');
});

test.serial("WeChat Pay's complaint address is registered once, and a test of the channel compares it", async (t) => {
  const { admin } = file;
  const at = `?project=${await projectWithChannels()}`;
  const post = async (path: string) => (await admin('POST', `${base}/wechat/${path}${at}`)).body.data;
  const version = async () => (await admin('GET', `${base}/wechat${at}`)).body.data.version;
  t.like(await post('test'), { ok: true, code: null }, 'the simulator tells without an address, too');
  const before = await version();
  t.deepEqual(await post('notices'), { ok: true, field: null, code: null, message: null });
  t.like(await post('notices'), { ok: true });
  t.is(await version(), before, 'nothing of it is part of the configuration');
  t.like(await post('test'), { ok: true, code: null });
});

test.serial(
  'the platform certificates of WeChat Pay are downloaded once and trusted by the requesting administrator',
  async (t) => {
    const { admin, service } = file;
    const project = await projectWithChannels();
    const at = `?project=${project}`;
    const download = async () => (await admin('POST', `${base}/wechat/certificates${at}`)).body.data;
    const first = await download();
    t.like(first, { ok: true, field: null, code: null, message: null });
    t.deepEqual(
      first.certificates.map(({ isNew, trust }: Row) => [isNew, trust]),
      [[false, 'trusted']],
    );
    t.regex(first.byHand, /renew it in the merchant platform/);
    await service.sim('/sim/rotate', { payWay: 'wechat', account: project, what: 'platform-certificate' });
    const second = await download();
    const [fresh] = second.certificates.filter(({ isNew }: Row) => isNew);
    t.like(fresh, { kind: 'wechat_platform_cert', trust: 'trusted' });
    t.true(fresh.daysLeft > 0);
    const { body } = await admin('GET', `${base}/wechat${at}`);
    t.true(
      body.data.certificates.some(({ id }: Row) => id === fresh.id),
      'the configuration has it',
    );
    const distrusted = await admin('POST', `/api/v1/certs/${fresh.id}/distrust`);
    t.is(distrusted.status, 200, JSON.stringify(distrusted.body));
    const third = (await download()).certificates.find(({ id }: Row) => id === fresh.id);
    t.true(third === undefined || third.trust === 'distrusted', 'a download does not trust a distrusted certificate');
    t.false((await admin('GET', `${base}/wechat${at}`)).body.data.certificates.some(({ id }: Row) => id === fresh.id));
    refused(t, await admin('POST', `${base}/paypal/certificates${at}`), 400, 'invalid_request');
  },
);

test.serial(
  'a download with a wrong APIv3 key reports it and stores nothing; without a configuration it is refused',
  async (t) => {
    const { admin } = file;
    const at = `?project=${await projectWithChannels()}`;
    t.is((await admin('POST', `${base}/wechat${at}`, { apiV3Key: 'x'.repeat(32) })).status, 200);
    const { data } = (await admin('POST', `${base}/wechat/certificates${at}`)).body;
    t.like(data, { ok: false, field: 'apiV3Key', code: 'SEAL_NOT_OPENED', certificates: [] });
    const send = sendAs(await startService(t), CONSOLE);
    refused(t, await send('POST', `${base}/wechat/certificates`), 409, 'channel_not_configured');
  },
);

test.serial('Alipay in key mode has nothing to download, and the answer describes the manual step', async (t) => {
  const { admin } = file;
  const at = `?project=${await projectWithChannels()}`;
  const { data } = (await admin('POST', `${base}/alipay/certificates${at}`)).body;
  t.like(data, { ok: true, certificates: [] });
  t.regex(data.byHand, /copy Alipay.s public key/);
});

test.serial("a test writes no configuration, not even the simulator's, which the first order creates", async (t) => {
  const { admin } = file;
  const at = `?project=${await file.project()}`;
  refused(t, await admin('POST', `${base}/wechat/test${at}`), 409, 'channel_not_configured');
  const { data } = (await admin('GET', `${base}/list${at}`)).body;
  t.deepEqual(
    data.map(({ version }: Row) => version),
    [null, null, null],
  );
});

test.serial('a test of products accepts the scenes of the channel, and rejects other scenes', async (t) => {
  const { admin } = file;
  const { data } = (await admin('POST', `${base}/wechat/test`, { products: ['qr'] })).body;
  t.like(data, { ok: true });
  t.like(data.checks.at(-1), { about: 'product', name: 'Native (qr)', status: 'ok' });
  t.true(data.registrations.some(({ name }: Row) => name === 'H5 payment domain'));
  const strange = await admin('POST', `${base}/wechat/test`, { products: ['page'] });
  refused(t, strange, 400, 'invalid_request');
  t.is(strange.body.errors[0].pointer, '/products/0');
});

test.serial('PayPal may be configured without its webhook id, and is not usable until it is set', async (t) => {
  const { call } = await startService(t);
  const { webhookId, ...without } = paypal;
  const first = await call('POST', `${base}/paypal`, { body: without });
  t.is(first.status, 200, first.text);
  t.like(first.body.data, { configured: false, missing: ['webhookId'] });
  t.is((await call('POST', `${base}/paypal/test`)).body.code, 'channel_not_configured');
  t.like((await call('POST', `${base}/paypal`, { body: { webhookId } })).body.data, { configured: true, missing: [] });
});

const OPERATIONS = [
  ['GET', '', undefined],
  ['GET', '/schema', undefined],
  ['POST', '', paypal],
  ['POST', '/test', undefined],
  ['POST', '/notices', undefined],
  ['POST', '/certificates', undefined],
  ['PUT', '/toggle', {}],
] as const;

test.serial('an unknown channel is 404 at every operation', async (t) => {
  const send = sendAs(await startService(t), CONSOLE);
  for (const [method, path, body] of OPERATIONS)
    refused(t, await send(method, `${base}/cash${path}`, body), 404, 'not_found');
});

test.serial('an unknown project has no configurations', async (t) => {
  const send = sendAs(await startService(t), CONSOLE);
  refused(t, await send('GET', `${base}/list?project=nobody`), 404, 'not_found');
  refused(t, await send('POST', `${base}/paypal?project=nobody`, paypal), 404, 'not_found');
});

test.serial('an invalid project is 400 at every operation', async (t) => {
  const send = sendAs(await startService(t), CONSOLE);
  refused(t, await send('GET', `${base}/list?project=a%20b`), 400, 'invalid_request');
  for (const [method, path, body] of OPERATIONS)
    refused(t, await send(method, `${base}/paypal${path}?project=a%20b`, body), 400, 'invalid_request');
});
