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

test.serial('me says who, and nothing else', async (t) => {
  const app = await identityApp(t);
  const { body } = await app.call('GET', '/api/v1/me', { token: await app.login() });
  t.deepEqual(Object.keys(body.data), ['id', 'username', 'role']);
});

test.serial('a new password ends every session and takes the place of the old one', async (t) => {
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

test.serial('the own password is confirmed for five minutes, with a line in the audit log', async (t) => {
  const { body, status } = await admin('POST', '/api/v1/me/confirm', { password: alice.password });
  t.is(status, 200);
  t.true(Date.parse(body.data.confirmedUntil) > Date.now());
  const { data } = (await admin('GET', '/api/v1/audit-log?action=admin.confirm')).body;
  t.like(data[0], { actor: 'alice', target: 'alice' });
  const wrong = await admin('POST', '/api/v1/me/confirm', { password: 'not-the-password' });
  refused(t, wrong, 400, 'invalid_request');
  t.is(wrong.body.errors[0].pointer, '/password');
});
