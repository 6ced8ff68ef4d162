import test from 'ava';
import { serviceOfFile, uniqueCode } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { enrol } from '../../support/second-factor.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, nobody } = file;
coverRoutes(test, file);

/** A viewer for one test; `logIn` returns the headers of a new session. */
async function newViewer() {
  const account = { username: uniqueCode('bob'), password: 'nine-tidy-green-anchors' };
  const { id } = (await admin('POST', '/api/v1/admins', { ...account, role: 'viewer' })).body.data;
  const logIn = async (headers: Record<string, string> = {}) => {
    const { token } = (await nobody('POST', '/api/v1/login', account, headers)).body.data;
    return (method: string, path: string, body?: unknown) =>
      nobody(method, path, body, { authorization: `Bearer ${token}` });
  };
  return { ...account, logIn, path: `/api/v1/admins/${id}/sessions` };
}

const lines = async (action: string, target: string) =>
  (await admin('GET', `/api/v1/audit-log?action=${action}&target=${target}`)).body.data;

test.serial(
  'sessions of another administrator are listed, newest first, with their address and login method',
  async (t) => {
    const { logIn, path } = await newViewer();
    await logIn();
    const second = await logIn({ 'user-agent': 'Test/1 (a phone)' });
    await enrol(second, file.service.clock.now);
    const third = await second('GET', '/api/v1/me/sessions');
    t.is(third.body.data.length, 1, 'the first one ended with the enrolment');
    const { status, body } = await admin('GET', path);
    t.is(status, 200);
    t.like(body.data[0], { current: false, secondFactor: true, userAgent: 'Test/1 (a phone)', ip: '127.0.0.1' });
    refused(t, await admin('GET', `${path}?limit=x`), 400, 'invalid_request');
    refused(t, await admin('GET', path.replace(/[0-9a-f]{12}\//, '000000000000/')), 404, 'not_found');
  },
);

test.serial('sessions are listed in pages', async (t) => {
  const { logIn, path } = await newViewer();
  for (let at = 0; at < 3; at++) await logIn();
  const first = (await admin('GET', `${path}?limit=2`)).body;
  t.is(first.data.length, 2);
  const next = (await admin('GET', `${path}?limit=2&cursor=${first.page.nextCursor}`)).body;
  t.deepEqual([next.data.length, next.page.hasMore], [1, false]);
});

test.serial(
  'one session is ended immediately, with its administrator in the audit log, and no other session ends',
  async (t) => {
    const { username, logIn, path } = await newViewer();
    const [lost, kept] = [await logIn(), await logIn()];
    const [, older] = (await admin('GET', path)).body.data;
    t.is((await admin('DELETE', `${path}/${older.id}`)).status, 204);
    t.deepEqual([(await lost('GET', '/api/v1/me')).status, (await kept('GET', '/api/v1/me')).status], [401, 200]);
    t.like((await lines('admin.end-session', username))[0], { actor: 'alice', after: { session: older.id } });
    refused(t, await admin('DELETE', `${path}/${older.id}`), 404, 'not_found');
    const other = await newViewer();
    await other.logIn();
    const [theirs] = (await admin('GET', other.path)).body.data;
    refused(t, await admin('DELETE', `${path}/${theirs.id}`), 404, 'not_found');
  },
);

test.serial('all sessions are ended immediately, and the account can log in again', async (t) => {
  const { username, logIn, path } = await newViewer();
  const sessions = [await logIn(), await logIn()];
  t.is((await admin('DELETE', path)).status, 204);
  for (const call of sessions) t.is((await call('GET', '/api/v1/me')).status, 401);
  t.deepEqual((await admin('GET', path)).body.data, []);
  t.is((await lines('admin.end-sessions', username)).length, 1);
  t.is((await (await logIn())('GET', '/api/v1/me')).status, 200);
  refused(t, await admin('DELETE', path.replace(/[0-9a-f]{12}\//, '000000000000/')), 404, 'not_found');
});
