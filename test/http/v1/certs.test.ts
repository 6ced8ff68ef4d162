import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { certSerial, readCertificates, rootCertSerial } from '../../../server/channels/alipay/signature.ts';
import {
  alipay,
  certificateFor,
  ecKey,
  fixture,
  keyOf,
  pemOf,
  publicOf,
  smallKey,
} from '../../unit/credentials/material.ts';
import { insertOrder, startService, type Service } from '../../unit/credentials/service.ts';
import { CONSOLE, MERCHANT, sendAs, withAnotherKey } from '../../support/own-credentials.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

const base = '/api/v1/certs';

function upload({ call }: Service, kind: string, content: string, more: object = {}) {
  return call('POST', `${base}/upload`, { body: { payWay: kind.split('_')[0], kind, content, ...more } });
}

test.serial('a certificate is shown with its parsed content, and its serial as the channel writes it', async (t) => {
  const service = await startService(t);
  const app = await upload(service, 'alipay_app_cert', fixture('app.crt'), { name: 'our app' });
  t.is(app.status, 201, app.text);
  const [certificate] = readCertificates(fixture('app.crt'));
  t.like(app.body.data, {
    project: 'default',
    payWay: 'alipay',
    kind: 'alipay_app_cert',
    name: 'our app',
    serialNumber: certSerial(certificate!),
    notAfter: certificate!.validToDate.toISOString(),
    isDefault: true,
  });
  t.true(app.body.data.daysLeft > 30_000);
  const root = await upload(service, 'alipay_root_cert', fixture('root.crt'));
  t.is(root.body.data.serialNumber, rootCertSerial(readCertificates(fixture('root.crt'))));
  const merchant = await upload(service, 'wechat_merchant_cert', fixture('app.crt'));
  t.is(merchant.body.data.serialNumber, certificate!.serialNumber);
});

test.serial('multipart and JSON, PEM, DER, bare base64 and passphrases are all accepted', async (t) => {
  const service = await startService(t);
  const form = new FormData();
  for (const [name, value] of [
    ['payWay', 'wechat'],
    ['kind', 'wechat_platform_cert'],
  ] as const)
    form.append(name, value);
  form.append('file', new Blob([new Uint8Array(readCertificates(fixture('alipay.crt'))[0]!.raw)]), '../../etc/passwd');
  const der = await service.call('POST', `${base}/upload`, { body: form });
  t.is(der.status, 201, der.text);
  t.is(der.body.data.name, 'Platform certificate');
  const locked = pemOf(keyOf('app.key'), 'open sesame');
  t.is((await upload(service, 'wechat_merchant_key', locked)).body.errors[0].code, 'passphrase_required');
  t.is(
    (await upload(service, 'wechat_merchant_key', locked, { passphrase: 'no' })).body.errors[0].code,
    'passphrase_wrong',
  );
  t.is((await upload(service, 'wechat_merchant_key', locked, { passphrase: 'open sesame' })).status, 201);
  const bare = fixture('app.key').replaceAll(/-----[^-]+-----|\s/g, '');
  t.is((await upload(service, 'alipay_app_key', bare)).status, 201);
  t.is((await upload(service, 'alipay_app_key', fixture('app.key'))).body.code, 'certificate_exists');
});

test.serial('each invalid file is rejected with its own code, and nothing is stored', async (t) => {
  const service = await startService(t);
  const app = fixture('app.crt');
  const key = fixture('app.key');
  const files: [string, string, string][] = [
    ['alipay_app_cert', '', 'file_empty'],
    ['alipay_app_cert', 'not a certificate', 'not_a_certificate'],
    ['alipay_app_cert', app.replace(/MII/, 'MIX'), 'not_a_certificate'],
    ['alipay_app_cert', app.slice(0, 400), 'not_a_certificate'],
    ['alipay_app_cert', key, 'private_key_unexpected'],
    ['alipay_app_cert', app + key, 'private_key_unexpected'],
    ['alipay_app_cert', publicOf(key), 'not_a_certificate'],
    ['alipay_app_cert', certificateFor(keyOf('app.key'), { days: -0.5 }), 'certificate_expired'],
    ['alipay_app_cert', certificateFor(smallKey()), 'key_too_small'],
    ['alipay_app_cert', certificateFor(ecKey()), 'not_rsa'],
    ['alipay_root_cert', certificateFor(ecKey()), 'not_rsa'],
    ['alipay_root_cert', certificateFor(smallKey()), 'key_too_small'],
    ['alipay_app_key', pemOf(smallKey()), 'key_too_small'],
    ['alipay_app_key', pemOf(ecKey()), 'not_rsa'],
    ['alipay_app_key', app, 'not_a_private_key'],
    ['alipay_app_key', key.slice(0, 300), 'not_a_private_key'],
    ['alipay_app_key', publicOf(key), 'not_a_private_key'],
    ['alipay_public_key', key, 'private_key_unexpected'],
    ['alipay_public_key', app, 'not_a_public_key'],
    ['alipay_public_key', publicOf(pemOf(smallKey())), 'key_too_small'],
  ];
  for (const [kind, content, code] of files) {
    const answer = await upload(service, kind, content);
    t.is(answer.status, 400, `${kind} ${code}`);
    t.deepEqual([answer.body.errors[0].pointer, answer.body.errors[0].code], ['/content', code]);
    t.false(answer.text.includes('MII'));
  }
  const binary = new FormData();
  binary.append('payWay', 'alipay');
  binary.append('kind', 'alipay_app_cert');
  binary.append('file', new Blob([Buffer.from('504b03040a0000000000ff', 'hex')]), 'certs.zip');
  const archive = await service.call('POST', `${base}/upload`, { body: binary });
  t.deepEqual([archive.status, archive.body.errors[0].code], [400, 'not_pem']);
  t.is((await upload(service, 'alipay_app_cert', 'x'.repeat(64 * 1024 + 1))).status, 413);
  t.is((await upload(service, 'alipay_other', app)).body.errors[0].pointer, '/kind');
  t.is(
    (await service.call('POST', `${base}/upload`, { body: { payWay: 'alipay', kind: 'alipay_app_key' } })).status,
    400,
  );
  t.is(await service.store.read((tx) => tx.certs.count({})), 0);
});

test.serial('an expired root is accepted, because roots stay in use after their dates', async (t) => {
  const service = await startService(t);
  const root = certificateFor(keyOf('app.key'), { days: -0.5 });
  const { body } = await upload(service, 'alipay_root_cert', root);
  t.is(body.data.daysLeft, -1);
});

test.serial('a pair is checked once both halves are uploaded, in either order', async (t) => {
  for (const order of [
    ['cert', 'key'],
    ['key', 'cert'],
  ]) {
    const service = await startService(t);
    for (const half of order) {
      const isFirst = half === order[0];
      const kind = half === 'cert' ? 'wechat_merchant_cert' : 'wechat_merchant_key';
      const wrong = half === 'cert' ? fixture('alipay.crt') : fixture('alipay.key');
      const right = half === 'cert' ? fixture('app.crt') : fixture('app.key');
      if (!isFirst) {
        const refused = await upload(service, kind, wrong);
        t.deepEqual([refused.status, refused.body.errors[0].code], [400, 'certificate_pair_mismatch']);
      }
      t.is((await upload(service, kind, right)).status, 201);
    }
    t.is(await service.store.read((tx) => tx.certs.count({ isDefault: true })), 2);
  }
});

test.serial(
  'a default changes together with its other half, and the configuration is updated immediately',
  async (t) => {
    const service = await startService(t);
    const { call, channels } = service;
    const wechat = {
      mode: 'live',
      mchid: '1900000001',
      appId: 'wx0123456789abcdef',
      apiV3Key: '0123456789abcdefghijABCDEFGHIJ!!',
      wechat_merchant_key: fixture('app.key'),
      wechat_merchant_cert: fixture('app.crt'),
    };
    const made = await call('POST', '/api/v1/payment/config/wechat', { body: wechat });
    t.like(made.body.data, { configured: true, version: 1 }, made.text);
    const key = await upload(service, 'wechat_merchant_key', fixture('alipay2.key'));
    t.false(key.body.data.isDefault);
    const early = await call('POST', `${base}/${key.body.data.id}/default`);
    t.deepEqual([early.status, early.body.code], [409, 'certificate_pair_mismatch']);
    const cert = await upload(service, 'wechat_merchant_cert', certificateFor(keyOf('alipay2.key')));
    t.is((await channels.forNew('default', 'wechat')).configVersion, 1);
    t.like((await call('POST', `${base}/${key.body.data.id}/default`)).body.data, { isDefault: true });
    const list = await call('POST', `${base}/list`, { body: { payWay: 'wechat' } });
    const defaults = list.body.data.filter(({ isDefault }: { isDefault: boolean }) => isDefault);
    t.deepEqual(
      defaults.map(({ id }: { id: string }) => id).toSorted(),
      [key.body.data.id, cert.body.data.id].toSorted(),
    );
    t.is((await channels.forNew('default', 'wechat')).configVersion, 2);
    const old = await service.store.read((tx) => tx.channelConfigs.find({ payWay: 'wechat', version: 1 }));
    t.false(old?.certIds.includes(key.body.data.id));
  },
);

test.serial('a change to certificate mode takes effect only when its set is complete', async (t) => {
  const service = await startService(t);
  await service.call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  const version = async () => (await service.channels.forNew('default', 'alipay')).configVersion;
  for (const [kind, file] of [
    ['alipay_app_cert', 'app.crt'],
    ['alipay_public_cert', 'alipay.crt'],
  ] as const) {
    t.is((await upload(service, kind, fixture(file))).status, 201);
    t.is(await version(), 1);
  }
  t.is((await upload(service, 'alipay_root_cert', fixture('root.crt'))).status, 201);
  t.is(await version(), 2);
});

test.serial(
  'a verifying certificate can always be deleted, a signing one not while it is a default or open orders need it',
  async (t) => {
    const service = await startService(t);
    const { call, store } = service;
    await call('POST', '/api/v1/payment/config/alipay', { body: alipay });
    const next = await upload(service, 'alipay_public_key', publicOf(fixture('alipay2.key')));
    const config = await store.read((tx) => tx.channelConfigs.find({ payWay: 'alipay', version: 2 }));
    t.true(config?.certIds.includes(next.body.data.id));
    const list = await call('POST', `${base}/list`, { body: { kind: 'alipay_public_key' } });
    const first = list.body.data.find(({ isDefault }: { isDefault: boolean }) => isDefault);
    const appKey = (await call('POST', `${base}/list`, { body: { kind: 'alipay_app_key' } })).body.data[0];
    refused(t, await call('POST', `${base}/${appKey.id}/delete`), 409, 'in_use');
    const second = await upload(service, 'alipay_app_key', pemOf(newKey()));
    t.is((await call('POST', `${base}/${second.body.data.id}/default`)).status, 200);
    await insertOrder(store, { orderNo: 'P1', configVersion: 2 });
    refused(t, await call('POST', `${base}/${appKey.id}/delete`), 409, 'in_use');
    t.is((await call('POST', `${base}/${first.id}/delete`)).status, 200);
    t.is((await call('POST', `${base}/${first.id}/delete`)).status, 404);
    const rest = (await call('POST', `${base}/list`, { body: { kind: 'alipay_public_key' } })).body.data;
    t.like(rest, [{ id: next.body.data.id, isDefault: true, trust: 'trusted' }]);
    t.is((await service.channels.forNew('default', 'alipay')).configVersion, 4);
    await store.transaction((tx) => tx.orders.update({ orderNo: 'P1' }, { nextCheckAt: null }));
    t.is((await call('POST', `${base}/${appKey.id}/delete`)).status, 200, 'nothing needs it any more');
    const old = {
      project: 'default',
      payWay: 'alipay',
      mode: 'sandbox',
      account: alipay.appId,
      configVersion: 2,
    } as const;
    t.is((await service.channels.forOrder(old)).account, alipay.appId);
  },
);

test.serial('a download has only the public part, under a generated file name', async (t) => {
  const service = await startService(t);
  const key = await upload(service, 'alipay_app_key', fixture('app.key'), { name: 'a"; filename="evil.html' });
  const { status, text, headers } = await service.call('POST', `${base}/${key.body.data.id}/download`);
  t.is(status, 200);
  t.is(text, publicOf(fixture('app.key')));
  t.throws(() => createPrivateKey(text));
  t.regex(headers.get('content-disposition') ?? '', /^attachment; filename="alipay_app_key-[0-9a-f]{8}\.pem"$/);
  t.is(headers.get('content-type'), 'application/x-pem-file');
  t.is(headers.get('x-content-type-options'), 'nosniff');
});

const NOBODYS = '00000000-0000-4000-8000-000000000000';
const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const OTHER_KEY = publicOf(pemOf(newKey()));

test.serial('a change of certificates is rejected when the configuration cannot be decrypted', async (t) => {
  const before = await startService(t);
  await before.call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  const { id } = (await upload(before, 'alipay_public_key', publicOf(fixture('alipay2.key')))).body.data;
  const waiting = { payWay: 'alipay', kind: 'alipay_public_key', content: OTHER_KEY };
  const app = sendAs(before, MERCHANT);
  const brought = (await app('POST', '/api/v2/certs/upload', waiting)).body.data;
  const service = await withAnotherKey(t, before);
  const third = await upload(service, 'alipay_public_key', publicOf(fixture('app.key')));
  refused(t, third, 503, 'configuration_broken');
  const send = sendAs(service, CONSOLE);
  refused(t, await send('POST', `${base}/${id}/default`), 503, 'configuration_broken');
  refused(t, await send('POST', `${base}/${brought.id}/trust`), 503, 'configuration_broken');
  t.is((await send('POST', `${base}/${id}/distrust`)).status, 200, 'a verify key can always be distrusted');
  t.is((await send('POST', `${base}/${id}/delete`)).status, 200, 'and deleted');
});

test.serial(
  "an administrator's upload is trusted immediately, and trusting and distrusting it are both audited",
  async (t) => {
    const service = await startService(t);
    const { call, store } = service;
    const app = sendAs(service, MERCHANT);
    const own = await upload(service, 'alipay_public_key', publicOf(fixture('alipay.key')));
    t.like(own.body.data, { trust: 'trusted', trustedBy: 'root', isDefault: true });
    t.like((await upload(service, 'alipay_app_key', fixture('app.key'))).body.data, { trust: null, trustedAt: null });
    const body = { payWay: 'alipay', kind: 'alipay_public_key', content: OTHER_KEY };
    const { id } = (await app('POST', '/api/v2/certs/upload', body)).body.data;
    refused(t, await call('POST', `${base}/${id}/trust`, { token: 'viewer' }), 403, 'role_insufficient');
    const trusted = await call('POST', `${base}/${id}/trust`);
    t.is(trusted.status, 200, trusted.text);
    t.like(trusted.body.data, { trust: 'trusted', trustedBy: 'root', isDefault: false });
    const again = await call('POST', `${base}/${id}/trust`);
    t.is(again.body.data.trustedAt, trusted.body.data.trustedAt, 'it grows no younger');
    refused(t, await call('POST', `${base}/${id}/distrust`, { token: 'viewer' }), 403, 'role_insufficient');
    const distrusted = await call('POST', `${base}/${id}/distrust`);
    t.like(distrusted.body.data, { trust: 'distrusted', trustedAt: null, trustedBy: 'root' });
    const audit = await store.read((tx) => tx.audit.list({}, { orderBy: { id: 'asc' } }));
    const lines = audit.filter(({ target }) => target.endsWith(id)).map(({ action, actor }) => `${actor} ${action}`);
    t.deepEqual(lines.slice(1), ['root cert.trust', 'root cert.trust', 'root cert.distrust']);
    t.like(audit.at(-1)?.after, { fingerprint: distrusted.body.data.fingerprint, trustedAt: null });
  },
);

test.serial('a certificate removed during a change to certificate mode leaves the others in force', async (t) => {
  const service = await startService(t);
  const { call } = service;
  await call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  const next = (await upload(service, 'alipay_public_key', OTHER_KEY)).body.data;
  const state = async () => (await call('GET', '/api/v1/payment/config/alipay')).body.data;
  const [first] = (await state()).certificates.filter(({ kind }: { kind: string }) => kind === 'alipay_public_key');
  await upload(service, 'alipay_app_cert', fixture('app.crt'));
  t.is((await call('POST', `${base}/${first.id}/distrust`)).status, 200);
  t.like(await state(), { configured: true, missing: [] });
  t.deepEqual(
    (await state()).certificates.map(({ id }: { id: string }) => id).filter((id: string) => id !== first.id),
    (await state()).certificates.map(({ id }: { id: string }) => id),
  );
  t.is((await call('POST', `${base}/${next.id}/delete`)).status, 200);
  t.like(await state(), { configured: false, missing: ['alipay_public_key'] });
});

test.serial('a signing key is neither trusted nor distrusted', async (t) => {
  const service = await startService(t);
  const { id } = (await upload(service, 'alipay_app_key', fixture('app.key'))).body.data;
  for (const verb of ['trust', 'distrust'])
    refused(t, await service.call('POST', `${base}/${id}/${verb}`), 409, 'trust_not_needed');
});

test.serial("Alipay's certificate is trusted only if the pinned root issued it", async (t) => {
  const service = await startService(t);
  const { call } = service;
  await call('POST', '/api/v1/payment/config/alipay', { body: alipay });
  for (const [kind, file] of [
    ['alipay_app_cert', 'app.crt'],
    ['alipay_public_cert', 'alipay.crt'],
    ['alipay_root_cert', 'root.crt'],
  ] as const)
    t.is((await upload(service, kind, fixture(file))).status, 201);
  const stranger = certificateFor(keyOf('alipay2.key'));
  const own = await upload(service, 'alipay_public_cert', stranger);
  t.deepEqual([own.status, own.body.errors[0].code], [400, 'unusable'], own.text);
  const body = { payWay: 'alipay', kind: 'alipay_public_cert', content: stranger };
  const { id } = (await sendAs(service, MERCHANT)('POST', '/api/v2/certs/upload', body)).body.data;
  refused(t, await call('POST', `${base}/${id}/trust`), 409, 'certificate_unusable');
  t.like((await call('GET', '/api/v1/payment/config/alipay')).body.data, { configured: true, version: 2 });
});

test.serial('a certificate that is missing or belongs to another project is 404 at every operation', async (t) => {
  const send = sendAs(await startService(t), CONSOLE);
  for (const verb of ['default', 'delete', 'download', 'trust', 'distrust'])
    refused(t, await send('POST', `${base}/${NOBODYS}/${verb}`), 404, 'not_found');
  const body = { payWay: 'alipay', kind: 'alipay_app_cert', content: fixture('app.crt') };
  const { id } = (await send('POST', `${base}/upload?project=other`, body)).body.data;
  refused(t, await send('POST', `${base}/${id}/download?project=default`), 404, 'not_found');
  t.is((await send('POST', `${base}/${id}/download`)).status, 200);
});

test.serial('an invalid project is 400 at every operation', async (t) => {
  const send = sendAs(await startService(t), CONSOLE);
  for (const path of [
    'upload',
    'list',
    `${NOBODYS}/default`,
    `${NOBODYS}/delete`,
    `${NOBODYS}/download`,
    `${NOBODYS}/trust`,
    `${NOBODYS}/distrust`,
  ])
    refused(t, await send('POST', `${base}/${path}?project=a%20b`, {}), 400, 'invalid_request');
});
