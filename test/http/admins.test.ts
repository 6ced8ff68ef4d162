import test from 'ava';
import { alice, identityApp } from '../support/identity-app.ts';

const bob = { username: 'Bob', password: 'nine-tidy-green-anchors', role: 'viewer' };

test('an administrator is created, shown, changed, listed by name and deleted', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const created = await app.call('POST', '/api/v1/admins', { token, body: bob });
  t.is(created.status, 201);
  t.like(created.body.data, { username: 'bob', role: 'viewer', enabled: true, lastLoginAt: null });
  t.false('passwordHash' in created.body.data);
  const { id } = created.body.data;
  t.deepEqual((await app.call('GET', `/api/v1/admins/${id}`, { token })).body.data, created.body.data);
  const listed = await app.call('GET', '/api/v1/admins?limit=1', { token });
  t.is(listed.body.data[0].username, 'bob');
  const next = await app.call('GET', `/api/v1/admins?limit=1&cursor=${listed.body.page.nextCursor}`, { token });
  t.is(next.body.data[0].username, 'alice');
  t.false(next.body.page.hasMore);
  t.is((await app.call('GET', '/api/v1/admins?username=BOB', { token })).body.data.length, 1);
  const changed = await app.call('PUT', `/api/v1/admins/${id}`, { token, body: { role: 'admin', id: 'x' } });
  t.like(changed.body.data, { id, role: 'admin' });
  const gone = await app.call('DELETE', `/api/v1/admins/${id}`, { token });
  t.deepEqual([gone.status, gone.body], [204, '']);
  t.is((await app.call('GET', `/api/v1/admins/${id}`, { token })).status, 404);
});

test('the same name in other letters is taken; bad input names its member', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const create = (body: object) => app.call('POST', '/api/v1/admins', { token, body });
  t.is((await create({ ...bob, username: 'ALICE' })).body.code, 'username_taken');
  const faults: [object, string][] = [
    [{ ...bob, password: 'short' }, '/password'],
    [{ ...bob, password: 'password123456' }, '/password'],
    [{ ...bob, password: 'bobbobbobbob' }, '/password'],
    [{ ...bob, username: 'a b' }, '/username'],
    [{ ...bob, username: { $ne: '' } }, '/username'],
    [{ ...bob, role: 'root' }, '/role'],
  ];
  for (const [body, pointer] of faults) {
    const answer = await create(body);
    t.is(answer.status, 400, pointer);
    t.is(answer.body.errors[0].pointer, pointer);
  }
  t.is((await app.call('GET', '/api/v1/admins', { token })).body.data.length, 1);
});

test('a viewer looks and does not change', async (t) => {
  const app = await identityApp(t);
  const admin = await app.login();
  await app.call('POST', '/api/v1/admins', { token: admin, body: bob });
  const token = await app.login({ username: 'bob', password: bob.password });
  t.is((await app.call('GET', '/api/v1/admins', { token })).status, 200);
  const writes: [string, string][] = [
    ['POST', '/api/v1/admins'],
    ['POST', '/api/v1/api-apps'],
    ['DELETE', `/api/v1/admins/${crypto.randomUUID()}`],
    ['PUT', `/api/v1/admins/${crypto.randomUUID()}/toggle`],
  ];
  for (const [method, path] of writes) {
    const answer = await app.call(method, path, { token, body: {} });
    t.is(answer.body.code, 'role_insufficient', path);
  }
  const change = { currentPassword: bob.password, newPassword: 'another-good-password-7' };
  t.is((await app.call('POST', '/api/v1/me/password', { token, body: change })).status, 200);
});

test('the last enabled administrator can be neither deleted, disabled nor made a viewer', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const { id } = (await app.call('GET', '/api/v1/me', { token })).body.data;
  await app.call('POST', '/api/v1/admins', { token, body: bob });
  const path = `/api/v1/admins/${id}`;
  const attempts = [
    await app.call('DELETE', path, { token }),
    await app.call('PUT', `${path}/toggle`, { token }),
    await app.call('PUT', path, { token, body: { role: 'viewer' } }),
    await app.call('PUT', path, { token, body: { enabled: false } }),
  ];
  for (const { status, body } of attempts) t.deepEqual([status, body.code], [409, 'last_admin']);
  t.like((await app.call('GET', path, { token })).body.data, { role: 'admin', enabled: true });
});

test('disabling and deleting end the sessions with the same answer, enabling does not bring them back', async (t) => {
  const app = await identityApp(t);
  const admin = await app.login();
  const { id } = (await app.call('POST', '/api/v1/admins', { token: admin, body: bob })).body.data;
  const account = { username: 'bob', password: bob.password };
  const token = await app.login(account);
  t.false((await app.call('PUT', `/api/v1/admins/${id}/toggle`, { token: admin })).body.data.enabled);
  t.is((await app.call('GET', '/api/v1/me', { token })).status, 401);
  t.true((await app.call('PUT', `/api/v1/admins/${id}/toggle`, { token: admin })).body.data.enabled);
  t.is((await app.call('GET', '/api/v1/me', { token })).status, 401);
  const fresh = await app.login(account);
  const body = { password: 'yet-another-password-8' };
  await app.call('PUT', `/api/v1/admins/${id}`, { token: admin, body });
  t.is((await app.call('GET', '/api/v1/me', { token: fresh })).status, 401);
  const last = await app.login({ username: 'bob', ...body });
  await app.call('DELETE', `/api/v1/admins/${id}`, { token: admin });
  t.is((await app.call('GET', '/api/v1/me', { token: last })).status, 401);
  t.is((await app.call('POST', '/api/v1/login', { body: { username: 'bob', ...body } })).status, 401);
});

test('ids that are none are 404, and nothing works without a session', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  for (const id of ['x', '..%2f..%2fetc%2fpasswd', crypto.randomUUID(), '%00', alice.username]) {
    t.is(
      (await app.call('GET', `/api/v1/admins/${id}`, { token })).body.code,
      id === '%00' ? 'invalid_request' : 'not_found',
    );
  }
  for (const method of ['GET', 'POST']) t.is((await app.call(method, '/api/v1/admins')).status, 401);
  t.is((await app.call('GET', '/api/v1/admins?user=bob', { token })).status, 400);
});
