import test from 'ava';
import { alipay, fixture, paypal, publicOf } from '../unit/credentials/material.ts';
import { startService } from '../unit/credentials/service.ts';

const base = '/api/v1/payment/config';

test('before anything is configured there is one entry for each channel', async (t) => {
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

test('the schema says which fields and certificates each mode needs', async (t) => {
  const { call } = await startService(t);
  const { body } = await call('GET', `${base}/wechat/schema`);
  t.deepEqual(body.data.modes, ['simulator', 'live']);
  t.deepEqual(body.data.needed.live, ['mchid', 'appId', 'apiV3Key', 'wechat_merchant_key', 'wechat_merchant_cert']);
  const [key] = body.data.fields.filter(({ name }: { name: string }) => name === 'apiV3Key');
  t.like(key, { secret: true, requiredIn: ['simulator', 'live'] });
  t.is((await call('GET', `${base}/nobody/schema`)).status, 404);
});

test('secrets are written and never read; what is left out or *** stays, null clears', async (t) => {
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
  const second = await call('POST', `${base}/alipay`, { body: { appAuthToken: '***', sellerId: '2088000000000001' } });
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
});

test('a 400 names every field at fault, and nothing is written', async (t) => {
  const { call, store } = await startService(t);
  const refusals: [object, string[]][] = [
    [{ ...paypal, mode: undefined }, ['/mode']],
    [{ ...paypal, clientId: 'x', webhookId: ['8PT597110X687430L'] }, ['/clientId', '/webhookId']],
    [{ mode: 'sandbox', clientId: paypal.clientId }, ['/clientSecret', '/webhookId']],
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

test('a PEM becomes a certificate; without it the configuration is there but not usable', async (t) => {
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

test('toggle: an unconfigured channel is 409; without a body it flips', async (t) => {
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

test('modes: no live configuration beside Debug, no use of the simulator without it', async (t) => {
  const { call } = await startService(t, { debug: true, simulatorUrl: 'http://127.0.0.1:9' });
  const live = await call('POST', `${base}/paypal`, { body: { ...paypal, mode: 'live' } });
  t.is(live.status, 409);
  t.is(live.body.code, 'debug_refuses_live');
  const other = await startService(t);
  const simulated = await other.call('POST', `${base}/alipay`, { body: { ...alipay, mode: 'simulator' } });
  t.like(simulated.body.data, { mode: 'simulator', configured: false, status: 'unconfigured' });
  t.is((await other.call('POST', `${base}/alipay/test`)).status, 409);
});

test('who may: viewers look, scopes are needed, and nothing is open', async (t) => {
  const { call } = await startService(t);
  t.is((await call('GET', `${base}/list`, { token: '' })).status, 401);
  t.is((await call('GET', `${base}/list`, { token: 'viewer' })).status, 200);
  t.is((await call('POST', `${base}/paypal`, { token: 'viewer', body: paypal })).status, 403);
  const own = '/api/v2/payment/config';
  t.is((await call('GET', `${own}/list`, { token: 'root' })).status, 401);
  t.is((await call('GET', `${own}/list`, { token: 'app:default:config:write' })).status, 403);
  t.is((await call('POST', `${own}/paypal`, { token: 'app:default:config:read', body: paypal })).status, 403);
  t.is((await call('POST', `${own}/paypal/test`, { token: 'app:default:payment:write' })).status, 403);
});

test('a token reaches its own project only, and may not name one', async (t) => {
  const { call, channels } = await startService(t);
  const own = '/api/v2/payment/config';
  const token = 'app:other:config:read,config:write';
  t.is((await call('POST', `${own}/paypal`, { token, body: paypal })).body.data.project, 'other');
  t.is((await channels.forNew('other', 'paypal')).account, paypal.clientId);
  await t.throwsAsync(channels.forNew('default', 'paypal'), { message: /not configured/ });
  t.like((await call('GET', `${base}/paypal`)).body.data, { configured: false });
  t.like((await call('GET', `${base}/paypal?project=other`)).body.data, { configured: true });
  t.like((await call('GET', `${own}/paypal`, { token: 'app:default:config:read' })).body.data, { version: null });
  for (const [method, path] of [
    ['GET', `${own}/list?project=default`],
    ['GET', `${own}/paypal?project=default`],
    ['GET', `${own}/paypal/schema?project=default`],
    ['POST', `${own}/paypal?project=default`],
    ['POST', `${own}/paypal/test?project=default`],
    ['PUT', `${own}/paypal/toggle?project=default`],
  ] as const)
    t.is((await call(method, path, { token, ...(method !== 'GET' && { body: {} }) })).status, 400, path);
  t.is((await call('POST', `${own}/paypal`, { token, body: { ...paypal, project: 'default' } })).status, 400);
  t.is((await call('GET', `${base}/list?project=nobody`)).status, 404);
  t.is((await call('POST', `${base}/paypal?project=nobody`, { body: paypal })).status, 404);
});

test('every change is in the audit log, without secrets', async (t) => {
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
