import test from 'ava';
import { alice, identityApp } from '../../support/identity-app.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
coverRoutes(test, file, {
  changed_meanwhile: 'needs two changes of one password at the same moment',
  login_busy: 'needs more passwords at once than an instance checks: test/unit/identity/gate.test.ts',
});

test.serial('me returns the account, and nothing else', async (t) => {
  const app = await identityApp(t);
  const { body } = await app.call('GET', '/api/v1/me', { token: await app.login() });
  t.deepEqual(Object.keys(body.data), ['id', 'username', 'role', 'projects', 'secondFactor']);
});

test.serial('a new password ends every session and replaces the old one', async (t) => {
  const app = await identityApp(t);
  const [one, two] = [await app.login(), await app.login()];
  const change = (body: object) => app.call('POST', '/api/v1/me/password', { token: one, body });
  const next = 'ten-brave-little-foxes';
  const wrong = await change({ currentPassword: 'not-the-password', newPassword: next });
  t.is(wrong.body.errors[0].pointer, '/currentPassword');
  const weak = await change({ currentPassword: alice.password, newPassword: 'qwertyuiop123' });
  t.is(weak.body.errors[0].pointer, '/newPassword');
  t.is((await app.call('GET', '/api/v1/me', { token: two })).status, 200);
  const done = await change({ currentPassword: alice.password, newPassword: next });
  t.deepEqual(done.body.data, { sessionsEnded: true });
  for (const token of [one, two]) t.is((await app.call('GET', '/api/v1/me', { token })).status, 401);
  t.is((await app.call('POST', '/api/v1/login', { body: alice })).status, 401);
  t.truthy(await app.login({ username: 'alice', password: next }));
});

test.serial('wrong current passwords count as failed logins', async (t) => {
  const app = await identityApp(t, { loginFailures: 2 });
  const token = await app.login();
  const body = { currentPassword: 'not-the-password', newPassword: 'ten-brave-little-foxes' };
  const seen = [];
  for (let at = 0; at < 3; at += 1) seen.push((await app.call('POST', '/api/v1/me/password', { token, body })).status);
  t.deepEqual(seen, [400, 400, 429]);
});

test.serial('confirming the own password counts for five minutes, with a line in the audit log', async (t) => {
  const { body, status } = await admin('POST', '/api/v1/me/confirm', { password: alice.password });
  t.is(status, 200);
  t.true(Date.parse(body.data.confirmedUntil) > Date.now());
  const { data } = (await admin('GET', '/api/v1/audit-log?action=admin.confirm')).body;
  t.like(data[0], { actor: 'alice', target: 'alice' });
  const wrong = await admin('POST', '/api/v1/me/confirm', { password: 'not-the-password' });
  refused(t, wrong, 400, 'invalid_request');
  t.is(wrong.body.errors[0].pointer, '/password');
});

test.serial(
  'own sessions are listed, newest first, with their address, and those of other accounts are not shown',
  async (t) => {
    const app = await identityApp(t);
    const bob = { username: 'bob', password: 'nine-tidy-green-anchors', role: 'viewer' };
    const token = await app.login();
    await app.call('POST', '/api/v1/admins', { token, body: bob });
    const theirs = await app.login(bob);
    const { data } = await app
      .call('POST', '/api/v1/login', { body: alice, headers: { 'user-agent': 'Test/1 (a phone)' } })
      .then(({ body }) => body);
    const list = async (by: string, query = '') =>
      (await app.call('GET', `/api/v1/me/sessions${query}`, { token: by })).body;
    const [newest, oldest, ...rest] = (await list(token)).data;
    t.deepEqual(rest, []);
    t.like(newest, { current: false, userAgent: 'Test/1 (a phone)', ip: '127.0.0.1' });
    t.like(oldest, { current: true });
    t.true(Date.parse(newest.expiresAt) > Date.parse(newest.createdAt));
    t.true((await list(data.token)).data[0].current);
    t.is((await list(theirs)).data.length, 1);
    const first = await list(token, '?limit=1');
    t.is(first.data[0].id, newest.id);
    t.is((await list(token, `?limit=1&cursor=${first.page.nextCursor}`)).data[0].id, oldest.id);
  },
);

test.serial('an own session is ended once and immediately, and a session of another account is 404', async (t) => {
  const logIn = async (account: { username: string; password: string } = alice) =>
    (await file.nobody('POST', '/api/v1/login', account)).body.data.token as string;
  const use = async (token: string) =>
    (await file.nobody('GET', '/api/v1/me', undefined, { authorization: `Bearer ${token}` })).status;
  const lost = await logIn();
  const { data } = (await admin('GET', '/api/v1/me/sessions')).body;
  const path = `/api/v1/me/sessions/${data[0].id}`;
  refused(t, await file.viewer('DELETE', path), 404, 'not_found');
  t.is(await use(lost), 200);
  const ended = await admin('DELETE', path);
  t.deepEqual([ended.status, ended.body], [204, '']);
  t.is(await use(lost), 401);
  refused(t, await admin('DELETE', path), 404, 'not_found');
  refused(t, await admin('DELETE', '/api/v1/me/sessions/00000000-0000-4000-8000-000000000000'), 404, 'not_found');
  refused(t, await admin('GET', '/api/v1/me/sessions?limit=x'), 400, 'invalid_request');
  const { data: left } = (await admin('GET', '/api/v1/me/sessions')).body;
  t.false(left.some(({ id }: { id: string }) => id === data[0].id));
  t.is((await admin('GET', '/api/v1/me')).status, 200);
});
