import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { MERCHANT, ownProject, sendAs, trustWaiting, withAnotherKey } from '../../support/own-credentials.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { alipay, fixture, paypal, publicOf } from '../../unit/credentials/material.ts';
import { startService } from '../../unit/credentials/service.ts';

const file = await serviceOfFile(import.meta.filename);
const credentials = await startService(file);
coverRoutes(test, file);

const base = '/api/v2/payment/config';

test.serial('there is one entry for each channel, configured or not', async (t) => {
  const { send } = await ownProject(credentials);
  const { status, body } = await send('GET', `${base}/list`);
  t.is(status, 200);
  t.deepEqual(
    body.data.map(({ payWay, configured, status: word }: Record<string, unknown>) => [payWay, configured, word]),
    [
      ['alipay', false, 'unconfigured'],
      ['wechat', false, 'unconfigured'],
      ['paypal', false, 'unconfigured'],
    ],
  );
});

test.serial('a configuration is written, and its secrets are never returned', async (t) => {
  const { send } = await ownProject(credentials);
  const written = await send('POST', `${base}/paypal`, paypal);
  t.is(written.status, 200);
  t.like(written.body.data, { payWay: 'paypal', configured: true, version: 1, mode: 'sandbox' });
  const read = await send('GET', `${base}/paypal`);
  t.is(read.status, 200);
  t.is(read.body.data.fields.clientSecret, '***');
  for (const { text } of [written, read]) t.false(text.includes(paypal.clientSecret));
});

test.serial('the schema lists the required fields of each mode', async (t) => {
  const { send } = await ownProject(credentials);
  const { status, body } = await send('GET', `${base}/wechat/schema`);
  t.is(status, 200);
  t.deepEqual(body.data.modes, ['simulator', 'live']);
  t.deepEqual(body.data.needed.live, ['mchid', 'appId', 'apiV3Key', 'wechat_merchant_key', 'wechat_merchant_cert']);
});

test.serial('a channel is switched off and on, and a switch without a body inverts the state', async (t) => {
  const { send } = await ownProject(credentials);
  await send('POST', `${base}/paypal`, paypal);
  const off = await send('PUT', `${base}/paypal/toggle`, { enabled: false });
  t.is(off.status, 200);
  t.like(off.body.data, { enabled: false, status: 'disabled' });
  t.like((await send('PUT', `${base}/paypal/toggle`)).body.data, { enabled: true });
});

test.serial('a test makes one harmless call to the channel and reports its success', async (t) => {
  const shop = await file.shop({ scopes: ['config:write', 'payment:write'] });
  await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: 1, payWay: 'alipay' });
  const { status, body } = await shop.call('POST', `${base}/alipay/test`);
  t.is(status, 200);
  t.is(body.data.ok, true);
});

test.serial('an application registers the notification address at PayPal', async (t) => {
  const shop = await file.shop({ scopes: ['config:write', 'config:read', 'payment:write'] });
  await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: 1, payWay: 'paypal' });
  t.like((await shop.call('POST', `${base}/paypal/notices`)).body.data, { ok: true });
  t.like((await shop.call('GET', `${base}/paypal`)).body.data, { configured: true, missing: [] });
});

test.serial("an application's download needs cert:manage and waits for an administrator", async (t) => {
  const project = await file.project();
  const shop = await file.shop({ scopes: ['config:write', 'config:read', 'payment:write', 'cert:manage'], project });
  await shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: 1, payWay: 'wechat' });
  await file.service.sim('/sim/rotate', { payWay: 'wechat', account: project, what: 'platform-certificate' });
  const { data } = (await shop.call('POST', `${base}/wechat/certificates`)).body;
  const fresh = data.certificates.find(({ isNew }: { isNew: boolean }) => isNew);
  t.like(fresh, { kind: 'wechat_platform_cert', trust: 'waiting' });
  const { certificates, untrusted } = (await shop.call('GET', `${base}/wechat`)).body.data;
  const has = (rows: { id: string }[]) => rows.some(({ id }) => id === fresh.id);
  t.deepEqual([has(certificates), has(untrusted)], [false, true]);
  const plain = await file.shop({ scopes: ['config:write'], project });
  refused(t, await plain.call('POST', `${base}/wechat/certificates`), 403, 'insufficient_scope');
});

test.serial('an unconfigured channel can be neither tested nor switched', async (t) => {
  const { send } = await ownProject(credentials);
  refused(t, await send('POST', `${base}/paypal/test`), 409, 'channel_not_configured');
  refused(t, await send('PUT', `${base}/paypal/toggle`, { enabled: false }), 409, 'channel_not_configured');
});

test.serial('a live configuration is rejected beside Debug', async (t) => {
  const send = sendAs(await startService(t, { debug: true, simulatorUrl: 'http://127.0.0.1:9' }), MERCHANT);
  refused(t, await send('POST', `${base}/paypal`, { ...paypal, mode: 'live' }), 409, 'debug_refuses_live');
});

test.serial('secrets that the master key cannot decrypt are reported and not used', async (t) => {
  const before = await startService(t);
  await sendAs(before, MERCHANT)('POST', `${base}/alipay`, alipay);
  await trustWaiting(before);
  const send = sendAs(await withAnotherKey(t, before), MERCHANT);
  refused(t, await send('POST', `${base}/alipay/test`), 503, 'configuration_broken');
  refused(t, await send('POST', `${base}/alipay`, { sellerId: '2088000000000001' }), 503, 'configuration_broken');
  const { body } = await send('GET', `${base}/alipay`);
  t.like(body.data, { configured: false, status: 'down', fault: null }, 'why is for administrators');
});

test.serial('each invalid field is named, and nothing is written', async (t) => {
  const service = await startService(t);
  const answer = await sendAs(service, MERCHANT)('POST', `${base}/paypal`, { ...paypal, clientId: 'x', webhookId: [] });
  refused(t, answer, 400, 'invalid_request');
  t.deepEqual(
    answer.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/clientId', '/webhookId'],
  );
  t.is(await service.store.read((tx) => tx.channelConfigs.count({})), 0);
});

const kindsOf = (list: readonly { kind: string }[]) => list.map(({ kind }) => kind);

test.serial(
  'a certificate in the configuration is stored for the project, and a verify key in it waits for trust',
  async (t) => {
    const { send, project } = await ownProject(credentials);
    const { data: before } = (await send('POST', `${base}/alipay`, alipay)).body;
    t.deepEqual([kindsOf(before.certificates), kindsOf(before.untrusted)], [['alipay_app_key'], ['alipay_public_key']]);
    t.like(before, { configured: false, missing: ['alipay_public_key'] });
    await trustWaiting(credentials, project);
    const { data: after } = (await send('GET', `${base}/alipay`)).body;
    t.deepEqual([kindsOf(after.certificates), after.untrusted], [['alipay_app_key', 'alipay_public_key'], []]);
    t.like(after, { configured: true, missing: [] });
  },
);

test.serial('a verify key in the configuration never replaces a trusted one without an administrator', async (t) => {
  const { send, project } = await ownProject(credentials);
  await send('POST', `${base}/alipay`, alipay);
  await trustWaiting(credentials, project);
  const [first] = (await send('GET', `${base}/alipay`)).body.data.certificates.slice(-1);
  const key = publicOf(fixture('alipay2.key'));
  const { status, body } = await send('POST', `${base}/alipay`, { alipay_public_key: key });
  t.is(status, 200);
  t.like(body.data, { configured: true, status: 'degraded' });
  t.deepEqual(body.data.certificates.slice(-1), [first]);
  t.deepEqual(kindsOf(body.data.untrusted), ['alipay_public_key']);
  const mode = { alipay_app_cert: fixture('app.crt'), alipay_public_cert: fixture('alipay.crt') };
  const toCertificates = await send('POST', `${base}/alipay`, { ...mode, alipay_root_cert: fixture('root.crt') });
  refused(t, toCertificates, 400, 'invalid_request');
  const codes = toCertificates.body.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]);
  t.deepEqual(codes, [
    ['/alipay_public_cert', 'not_trusted'],
    ['/alipay_root_cert', 'not_trusted'],
  ]);
});

test.serial('PEM texts, and null for them, also need the scope for certificates', async (t) => {
  const { project } = await ownProject(credentials);
  const send = sendAs(credentials, { ...MERCHANT, token: `app:${project}:config:read,config:write` });
  refused(t, await send('POST', `${base}/alipay`, alipay), 403, 'insufficient_scope');
  refused(t, await send('POST', `${base}/alipay`, { alipay_public_key: null }), 403, 'insufficient_scope');
  const { alipay_app_key: _, alipay_public_key: __, ...fields } = alipay;
  t.is((await send('POST', `${base}/alipay`, { ...fields, alipay_public_key: '***' })).status, 200);
});

test.serial('an unknown channel is 404 at every operation', async (t) => {
  const { send } = await ownProject(credentials);
  refused(t, await send('GET', `${base}/cash`), 404, 'not_found');
  refused(t, await send('GET', `${base}/cash/schema`), 404, 'not_found');
  refused(t, await send('POST', `${base}/cash`, paypal), 404, 'not_found');
  refused(t, await send('POST', `${base}/cash/test`), 404, 'not_found');
  refused(t, await send('POST', `${base}/cash/notices`), 404, 'not_found');
  refused(t, await send('POST', `${base}/cash/certificates`), 404, 'not_found');
  refused(t, await send('PUT', `${base}/cash/toggle`, {}), 404, 'not_found');
});

test.serial('a token reaches the configuration of its own project only', async (t) => {
  const service = await startService(t);
  const other = sendAs(service, { ...MERCHANT, token: 'app:other:config:read,config:write' });
  t.is((await other('POST', `${base}/paypal`, paypal)).body.data.project, 'other');
  const { body } = await sendAs(service, MERCHANT)('GET', `${base}/paypal`);
  t.like(body.data, { project: 'default', configured: false, version: null });
});

test.serial('a token may not name a project', async (t) => {
  const { send } = await ownProject(credentials);
  for (const [method, path, body] of [
    ['GET', '/list', undefined],
    ['GET', '/paypal', undefined],
    ['GET', '/paypal/schema', undefined],
    ['POST', '/paypal', paypal],
    ['POST', '/paypal/test', undefined],
    ['POST', '/paypal/notices', undefined],
    ['POST', '/wechat/certificates', undefined],
    ['PUT', '/paypal/toggle', {}],
  ] as const)
    refused(t, await send(method, `${base}${path}?project=default`, body), 400, 'invalid_request');
  refused(t, await send('POST', `${base}/paypal`, { ...paypal, project: 'default' }), 400, 'invalid_request');
});

test.serial('a switch accepts only true or false', async (t) => {
  const { send } = await ownProject(credentials);
  refused(t, await send('PUT', `${base}/paypal/toggle`, { enabled: 'no' }), 400, 'invalid_request');
});
