import test from 'ava';
import { createPrivateKey } from 'node:crypto';
import { serviceOfFile } from '../../support/file-service.ts';
import {
  MERCHANT,
  ownProject,
  sendAs,
  trustWaiting,
  withAnotherKey,
  type Send,
} from '../../support/own-credentials.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { alipay, certificateFor, fixture, keyOf, publicOf } from '../../unit/credentials/material.ts';
import { insertOrder, type Service, startService } from '../../unit/credentials/service.ts';

const file = await serviceOfFile(import.meta.filename);
const credentials = await startService(file);
coverRoutes(test, file, {
  certificate_unusable: 'a pair that fits and is parsed works in every configuration: test/unit/credentials',
});

const base = '/api/v2/certs';
const NOBODYS = '00000000-0000-4000-8000-000000000000';
const appCert = { payWay: 'alipay', kind: 'alipay_app_cert', content: fixture('app.crt') };
const nextKey = { payWay: 'alipay', kind: 'alipay_public_key', content: publicOf(fixture('alipay2.key')) };

/** The project's own configuration, with a verify key that an administrator trusts. */
async function configure(send: Send, project: string, service: Service = credentials): Promise<void> {
  await send('POST', '/api/v2/payment/config/alipay', alipay);
  await trustWaiting(service, project);
}

test.serial('a certificate is uploaded and shown with its parsed content', async (t) => {
  const { send, project } = await ownProject(credentials);
  const { status, body } = await send('POST', `${base}/upload`, { ...appCert, name: 'our app' });
  t.is(status, 201);
  t.like(body.data, {
    project,
    payWay: 'alipay',
    kind: 'alipay_app_cert',
    name: 'our app',
    isDefault: true,
  });
  t.true(body.data.daysLeft > 30_000);
});

test.serial('a certificate is uploaded as a file, too', async (t) => {
  const { send } = await ownProject(credentials);
  const form = new FormData();
  form.append('payWay', 'alipay');
  form.append('kind', 'alipay_app_cert');
  form.append('file', new Blob([fixture('app.crt')]), 'app.crt');
  const { status, body } = await send('POST', `${base}/upload`, form);
  t.is(status, 201);
  t.like(body.data, { kind: 'alipay_app_cert', isDefault: true });
});

test.serial('a repeated upload of a certificate is rejected, and the answer names the first one', async (t) => {
  const { send } = await ownProject(credentials);
  const first = await send('POST', `${base}/upload`, appCert);
  const answer = await send('POST', `${base}/upload`, appCert);
  refused(t, answer, 409, 'certificate_exists');
  t.is(answer.body.id, first.body.data.id);
});

test.serial('a file that is not a certificate is rejected, and the answer contains nothing of it', async (t) => {
  const { send } = await ownProject(credentials);
  const answer = await send('POST', `${base}/upload`, { ...appCert, content: fixture('app.key') });
  refused(t, answer, 400, 'invalid_request');
  t.deepEqual([answer.body.errors[0].pointer, answer.body.errors[0].code], ['/content', 'private_key_unexpected']);
  t.false(answer.text.includes('MII'));
});

test.serial('certificates are listed newest first, by channel and kind', async (t) => {
  const { send } = await ownProject(credentials);
  await send('POST', `${base}/upload`, appCert);
  await send('POST', `${base}/upload`, nextKey);
  const kinds = async (filter: object) =>
    (await send('POST', `${base}/list`, filter)).body.data.map(({ kind }: { kind: string }) => kind);
  t.deepEqual(await kinds({}), ['alipay_public_key', 'alipay_app_cert']);
  t.deepEqual(await kinds({ payWay: 'alipay', kind: 'alipay_app_cert' }), ['alipay_app_cert']);
  t.deepEqual(await kinds({ payWay: 'wechat' }), []);
  refused(t, await send('POST', `${base}/list`, { payWay: 'cash' }), 400, 'invalid_request');
});

test.serial(
  'a verify key is shown with its fingerprint, and verifies nothing until an administrator trusts it',
  async (t) => {
    const { send, project } = await ownProject(credentials);
    await configure(send, project);
    const { status, body } = await send('POST', `${base}/upload`, nextKey);
    t.is(status, 201);
    t.like(body.data, { isDefault: false, trust: 'waiting', trustedAt: null, trustedBy: null });
    t.regex(body.data.fingerprint, /^[0-9a-f]{64}$/);
    const { data } = (await send('GET', '/api/v2/payment/config/alipay')).body;
    t.like(data, { configured: true, status: 'degraded' });
    t.deepEqual(
      data.untrusted.map(({ id, fingerprint }: Record<string, string>) => [id, fingerprint]),
      [[body.data.id, body.data.fingerprint]],
    );
    t.false(data.certificates.some(({ id }: { id: string }) => id === body.data.id));
    for (const verb of ['trust', 'distrust'])
      refused(t, await send('POST', `/api/v1/certs/${body.data.id}/${verb}`), 401, 'unauthenticated');
  },
);

test.serial('another key is made the default, once an administrator trusts it', async (t) => {
  const { send, project } = await ownProject(credentials);
  await configure(send, project);
  const { id } = (await send('POST', `${base}/upload`, nextKey)).body.data;
  refused(t, await send('POST', `${base}/${id}/default`), 409, 'certificate_not_trusted');
  await trustWaiting(credentials, project);
  const { status, body } = await send('POST', `${base}/${id}/default`);
  t.is(status, 200);
  t.like(body.data, { id, isDefault: true });
});

test.serial('a certificate or key without its other half cannot be the default', async (t) => {
  const { send } = await ownProject(credentials);
  const upload = (kind: string, content: string) => send('POST', `${base}/upload`, { payWay: 'wechat', kind, content });
  await upload('wechat_merchant_key', fixture('app.key'));
  await upload('wechat_merchant_cert', fixture('app.crt'));
  const { id } = (await upload('wechat_merchant_cert', certificateFor(keyOf('alipay2.key')))).body.data;
  refused(t, await send('POST', `${base}/${id}/default`), 409, 'certificate_pair_mismatch');
});

test.serial('an unused key is deleted', async (t) => {
  const { send, project } = await ownProject(credentials);
  await configure(send, project);
  const { id } = (await send('POST', `${base}/upload`, nextKey)).body.data;
  t.is((await send('POST', `${base}/${id}/delete`)).status, 200);
  refused(t, await send('POST', `${base}/${id}/delete`), 404, 'not_found');
});

test.serial('a signing key is not deleted while orders in flight need it; a verify key always is', async (t) => {
  const service = await startService(t);
  const send = sendAs(service, MERCHANT);
  await configure(send, 'default', service);
  await insertOrder(service.store, { orderNo: 'P1', configVersion: 2 });
  const list = await send('POST', `${base}/list`, {});
  const idOf = (kind: string) => list.body.data.find((one: { kind: string }) => one.kind === kind).id;
  refused(t, await send('POST', `${base}/${idOf('alipay_app_key')}/delete`), 409, 'in_use');
  t.is((await send('POST', `${base}/${idOf('alipay_public_key')}/delete`)).status, 200);
  const { data } = (await send('GET', '/api/v2/payment/config/alipay')).body;
  t.like(data, { configured: false, missing: ['alipay_public_key'], status: 'unconfigured' });
});

test.serial('a download of a private key has only its public half', async (t) => {
  const { send } = await ownProject(credentials);
  const key = { payWay: 'alipay', kind: 'alipay_app_key', content: fixture('app.key') };
  const { id } = (await send('POST', `${base}/upload`, key)).body.data;
  const { status, text, headers } = await send('POST', `${base}/${id}/download`);
  t.is(status, 200);
  t.is(text, publicOf(fixture('app.key')));
  t.throws(() => createPrivateKey(text));
  t.is(headers.get('content-type'), 'application/x-pem-file');
});

test.serial('a change of certificates is rejected when the configuration cannot be decrypted', async (t) => {
  const before = await startService(t);
  const first = sendAs(before, MERCHANT);
  await configure(first, 'default', before);
  const { id } = (await first('POST', `${base}/upload`, nextKey)).body.data;
  const appKey = { payWay: 'alipay', kind: 'alipay_app_key', content: fixture('alipay2.key') };
  const other = (await first('POST', `${base}/upload`, appKey)).body.data.id;
  const send = sendAs(await withAnotherKey(t, before), MERCHANT);
  const root = { payWay: 'alipay', kind: 'alipay_app_cert', content: certificateFor(keyOf('app.key')) };
  refused(t, await send('POST', `${base}/upload`, root), 503, 'configuration_broken');
  refused(t, await send('POST', `${base}/${other}/default`), 503, 'configuration_broken');
  t.is((await send('POST', `${base}/${id}/delete`)).status, 200, 'a verify key can always be deleted');
});

test.serial('a certificate of another project is the same 404 as a missing one', async (t) => {
  const service = await startService(t);
  const other = sendAs(service, { ...MERCHANT, token: 'app:other:cert:manage' });
  const { id, project } = (await other('POST', `${base}/upload`, appCert)).body.data;
  t.is(project, 'other');
  const send = sendAs(service, MERCHANT);
  for (const verb of ['default', 'delete', 'download']) {
    const theirs = await send('POST', `${base}/${id}/${verb}`);
    const nobodys = await send('POST', `${base}/${NOBODYS}/${verb}`);
    refused(t, theirs, 404, 'not_found');
    t.is(theirs.body.detail, nobodys.body.detail);
  }
  t.deepEqual((await send('POST', `${base}/list`, {})).body.data, []);
});

test.serial('a token may not name a project', async (t) => {
  const { send } = await ownProject(credentials);
  refused(t, await send('POST', `${base}/upload?project=other`, appCert), 400, 'invalid_request');
  refused(t, await send('POST', `${base}/upload`, { ...appCert, project: 'other' }), 400, 'invalid_request');
  refused(t, await send('POST', `${base}/list?project=other`, {}), 400, 'invalid_request');
  refused(t, await send('POST', `${base}/list`, { project: 'other' }), 400, 'invalid_request');
  for (const verb of ['default', 'delete', 'download'])
    refused(t, await send('POST', `${base}/${NOBODYS}/${verb}?project=other`), 400, 'invalid_request');
});
