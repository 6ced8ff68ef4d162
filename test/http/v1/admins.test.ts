import test from 'ava';
import { alice, identityApp } from '../../support/identity-app.ts';
import { serviceOfFile, uniqueCode } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { enrol } from '../../support/second-factor.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin } = file;
coverRoutes(test, file, {
  login_busy: 'needs more passwords at once than an instance checks: test/unit/identity/gate.test.ts',
});

const bob = { username: 'Bob', password: 'nine-tidy-green-anchors', role: 'viewer' };

/** A viewer for one test. */
async function newAdmin(changes: object = {}) {
  const username = uniqueCode('bob');
  const answer = await admin('POST', '/api/v1/admins', { ...bob, username, ...changes });
  return { username, answer, id: answer.body.data.id as string };
}

test.serial('an administrator is created, and the password is never returned', async (t) => {
  const { username, answer } = await newAdmin();
  t.is(answer.status, 201);
  t.like(answer.body.data, { username, role: 'viewer', enabled: true, lastLoginAt: null });
  t.deepEqual(
    Object.keys(answer.body.data).filter((name) => /password/i.test(name)),
    [],
  );
});

test.serial('an administrator is shown as created', async (t) => {
  const { id, answer } = await newAdmin();
  const { status, body } = await admin('GET', `/api/v1/admins/${id}`);
  t.is(status, 200);
  t.deepEqual(body.data, answer.body.data);
});

test.serial('administrators are listed newest first, in pages', async (t) => {
  const older = await newAdmin();
  const newer = await newAdmin();
  const first = await admin('GET', '/api/v1/admins?limit=1');
  t.is(first.status, 200);
  t.is(first.body.data[0].username, newer.username);
  t.true(first.body.page.hasMore);
  const next = await admin('GET', `/api/v1/admins?limit=1&cursor=${first.body.page.nextCursor}`);
  t.is(next.body.data[0].username, older.username);
});

test.serial('an administrator is found by name, case-insensitively', async (t) => {
  const { username } = await newAdmin();
  const { data } = (await admin('GET', `/api/v1/admins?username=${username.toUpperCase()}`)).body;
  t.deepEqual(
    data.map((one: { username: string }) => one.username),
    [username],
  );
});

test.serial('a change accepts its known members and rejects the id', async (t) => {
  const { id } = await newAdmin();
  refused(t, await admin('PUT', `/api/v1/admins/${id}`, { role: 'admin', id: 'x' }), 400, 'invalid_request');
  const { status, body } = await admin('PUT', `/api/v1/admins/${id}`, { role: 'admin' });
  t.is(status, 200);
  t.like(body.data, { id, role: 'admin' });
});

test.serial('a deleted administrator no longer exists', async (t) => {
  const { id } = await newAdmin();
  const { status, body } = await admin('DELETE', `/api/v1/admins/${id}`);
  t.deepEqual([status, body], [204, '']);
  refused(t, await admin('GET', `/api/v1/admins/${id}`), 404, 'not_found');
});

test.serial('a name that differs only in case is taken; bad input is reported by member', async (t) => {
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

test.serial('a viewer may read and not change', async (t) => {
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

test.serial('the last enabled administrator can be neither deleted, disabled nor made a viewer', async (t) => {
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

test.serial(
  'disabling and deleting end the sessions with the same answer, and enabling does not restore them',
  async (t) => {
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
  },
);

test.serial('invalid ids are 404, and every operation requires a session', async (t) => {
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

test.serial('an unknown administrator is 404 at every operation', async (t) => {
  const path = '/api/v1/admins/00000000-0000-4000-8000-000000000000';
  refused(t, await admin('GET', path), 404, 'not_found');
  refused(t, await admin('PUT', path, { role: 'viewer' }), 404, 'not_found');
  refused(t, await admin('PUT', `${path}/toggle`, {}), 404, 'not_found');
  refused(t, await admin('POST', `${path}/reset-second-factor`), 404, 'not_found');
  refused(t, await admin('DELETE', path), 404, 'not_found');
});

test.serial('a change names its invalid member', async (t) => {
  const path = '/api/v1/admins/00000000-0000-4000-8000-000000000000';
  for (const [end, body, pointer] of [
    ['', { role: 'root' }, '/role'],
    ['', { enabled: 1 }, '/enabled'],
    ['/toggle', { enabled: 'no' }, '/enabled'],
  ] as const) {
    const answer = await admin('PUT', path + end, body);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial(
  'an account is limited to existing projects, each once, and an empty list is refused instead of meaning all projects',
  async (t) => {
    const [one, two] = [await file.project(), await file.project()].toSorted();
    const limited = await newAdmin({ role: 'operator', projects: [two, one, two] });
    t.like(limited.answer.body.data, { role: 'operator', projects: [one, two], secondFactor: false });
    const account = { username: 'none', password: 'nine-tidy-green-anchors', role: 'viewer' };
    const none = await admin('POST', '/api/v1/admins', { ...account, projects: [] });
    refused(t, none, 400, 'invalid_request');
    t.is(none.body.errors[0].pointer, '/projects');
    const change = (projects: unknown) => admin('PUT', `/api/v1/admins/${limited.id}`, { projects });
    t.deepEqual((await change([one])).body.data.projects, [one]);
    refused(t, await change([]), 400, 'invalid_request');
    const unknown = await change([one, 'no-such-project']);
    refused(t, unknown, 400, 'invalid_request');
    t.is(unknown.body.errors[0].pointer, '/projects');
    t.is((await change(null)).body.data.projects, null);
    t.like((await admin('GET', `/api/v1/admins/${limited.id}`)).body.data, { role: 'operator', projects: null });
    const line = (await admin('GET', `/api/v1/audit-log?action=admin.update&target=${limited.username}`)).body.data[0];
    t.like(line, { before: { projects: [one] }, after: { role: 'operator', projects: null } });
  },
);

test.serial(
  'a change of projects ends the sessions of the account; a change of role does not, and applies immediately',
  async (t) => {
    const { id, username } = await newAdmin({ role: 'operator' });
    const logIn = async () => {
      const { token } = (await file.nobody('POST', '/api/v1/login', { username, password: bob.password })).body.data;
      return async (path = '/api/v1/me') =>
        (await file.nobody('GET', path, undefined, { authorization: `Bearer ${token}` })).body;
    };
    const before = await logIn();
    await admin('PUT', `/api/v1/admins/${id}`, { role: 'viewer' });
    t.is((await before()).data.role, 'viewer');
    const project = await file.project();
    await admin('PUT', `/api/v1/admins/${id}`, { projects: [project] });
    t.is((await before()).code, 'unauthenticated');
    t.deepEqual((await (await logIn())()).data.projects, [project]);
  },
);

test.serial('the last administrator of all projects cannot be limited, and a limited one does not count', async (t) => {
  const app = await identityApp(t);
  const token = await app.login();
  const { id } = (await app.call('GET', '/api/v1/me', { token })).body.data;
  const other = { ...bob, role: 'admin', projects: ['default'] };
  t.is((await app.call('POST', '/api/v1/admins', { token, body: other })).status, 201);
  for (const body of [{ projects: ['default'] }, { role: 'operator' }])
    refused(t, await app.call('PUT', `/api/v1/admins/${id}`, { token, body }), 409, 'last_admin');
  refused(t, await app.call('DELETE', `/api/v1/admins/${id}`, { token }), 409, 'last_admin');
});

test.serial(
  'an administrator resets the second factor of another one, which ends its sessions, and not the own one',
  async (t) => {
    const { id, username } = await newAdmin();
    const account = { username, password: bob.password };
    const { token } = (await file.nobody('POST', '/api/v1/login', account)).body.data;
    const call = (method: string, path: string, body?: unknown) =>
      file.nobody(method, path, body, { authorization: `Bearer ${token}` });
    const reset = (whose: string) => admin('POST', `/api/v1/admins/${whose}/reset-second-factor`);
    refused(t, await reset(id), 409, 'second_factor_not_enabled');
    await enrol(call, file.service.clock.now);
    t.true((await admin('GET', `/api/v1/admins/${id}`)).body.data.secondFactor);
    refused(t, await file.nobody('POST', '/api/v1/login', account), 401, 'second_factor_required');
    const { status, body } = await reset(id);
    t.deepEqual([status, body.data.secondFactor], [200, false]);
    t.is((await call('GET', '/api/v1/me')).status, 401);
    t.is((await file.nobody('POST', '/api/v1/login', account)).status, 200);
    const [line] = (await admin('GET', '/api/v1/audit-log?action=admin.reset-second-factor')).body.data;
    t.like(line, { actor: 'alice', target: username });
    const own = (await admin('GET', '/api/v1/me')).body.data.id;
    refused(t, await reset(own), 409, 'second_factor_own');
  },
);
