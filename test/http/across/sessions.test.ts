import test from 'ava';
import type { Call } from '../../support/admin.ts';
import { enrol } from '../../support/second-factor.ts';
import { alice, identityApp, type IdentityApp } from '../../support/identity-app.ts';

const BROWSER = { 'sec-fetch-site': 'same-origin' };

/** A login as a browser keeps it: every cookie that was set, by name. */
async function logIn(app: IdentityApp, headers: Record<string, string> = {}) {
  const answer = await app.call('POST', '/api/v1/login', { body: alice, headers });
  const cookies = new Map(
    answer.headers.getSetCookie().map((cookie) => {
      const [pair = '', ...attributes] = cookie.split('; ');
      const [name = '', value = ''] = pair.split('=');
      return [name, { pair, value, attributes: attributes.map((one) => one.toLowerCase()).toSorted() }];
    }),
  );
  const cookie = [...cookies.values()].map(({ pair }) => pair).join('; ');
  return { status: answer.status, token: answer.body.data?.token as string, cookies, cookie };
}

const me = async (app: IdentityApp, headers: Record<string, string>) =>
  (await app.call('GET', '/api/v1/me', { headers })).status;

test('a login with the cookie of a session ends only that session; a failed login ends no session', async (t) => {
  const app = await identityApp(t);
  const [first, second, other] = [await logIn(app), await logIn(app), await app.login()];
  const wrong = { ...alice, password: 'wrong-wrong-wrong' };
  const headers = { cookie: first.cookie };
  t.is((await app.call('POST', '/api/v1/login', { body: wrong, headers })).status, 401);
  t.is(await me(app, headers), 200);
  const next = await logIn(app, headers);
  t.is(await me(app, headers), 401);
  for (const { cookie } of [second, next]) t.is(await me(app, { cookie }), 200);
  t.is(await me(app, { authorization: `Bearer ${other}` }), 200);
  const { data } = (await app.call('GET', '/api/v1/me/sessions', { headers: { cookie: next.cookie } })).body;
  t.is(data.length, 3);
  t.is((await logIn(app, { cookie: 'auth_token=nonsense; auth_token=x.y.z' })).status, 200);
});

test('with an https address the session is in a cookie of this host, which overrides any other cookie', async (t) => {
  const app = await identityApp(t, { publicUrl: 'https://pay.example.com' });
  const { cookies, cookie, token } = await logIn(app);
  t.deepEqual([...cookies.keys()].toSorted(), ['__Host-auth_token', '__Host-csrf_token', 'auth_token', 'csrf_token']);
  const { attributes, value } = cookies.get('__Host-auth_token')!;
  t.is(value, token);
  for (const one of ['path=/', 'secure', 'httponly', 'samesite=strict']) t.true(attributes.includes(one), one);
  t.false(attributes.some((one) => one.startsWith('domain')));
  const planted = (await logIn(app)).token;
  t.is(await me(app, { cookie: `auth_token=${planted}; ${cookie}`, ...BROWSER }), 200, 'the planted cookie is ignored');
  const host = `__Host-auth_token=${token}`;
  t.is(await me(app, { cookie: host, ...BROWSER }), 200);
  t.is(await me(app, { cookie: `auth_token=${planted}`, ...BROWSER }), 401, 'a browser has the cookie of this host');
  t.is(await me(app, { cookie: `auth_token=${token}` }), 200, 'a program may send the cookie by its plain name');
  const out = await app.call('POST', '/api/v1/logout', { token });
  t.is(out.headers.getSetCookie().filter((one) => /^(__Host-)?\w+=;/.test(one)).length, 4);
  t.is(await me(app, { cookie: host }), 401);
});

test('with an https address a csrf value planted by another host of the domain blocks nothing', async (t) => {
  const app = await identityApp(t, { publicUrl: 'https://pay.example.com' });
  const { cookies, cookie } = await logIn(app);
  const value = cookies.get('__Host-csrf_token')!.value;
  t.false(cookies.get('__Host-csrf_token')!.attributes.includes('httponly'), 'the page reads it');
  t.is(cookies.get('csrf_token')!.value, value);
  const send = async (sent: string, header: string) => {
    const headers = { cookie: sent, 'x-csrf-token': header, ...BROWSER };
    return (await app.call('POST', '/api/v1/me/confirm', { body: {}, headers })).status;
  };
  const session = `__Host-auth_token=${cookies.get('__Host-auth_token')!.value}`;
  t.is(await send(`csrf_token=planted; ${cookie}`, value), 400, 'let in, and refused for its body');
  t.is(await send(`csrf_token=planted; ${cookie}`, 'planted'), 403);
  t.is(await send(`${session}; __Host-csrf_token=${value}; __Host-csrf_token=x`, value), 403);
  t.is(await send(`${session}; csrf_token=${value}`, value), 400, 'the plain name alone is still accepted');
  t.is(await send(`${session}; csrf_token=planted; csrf_token=${value}`, value), 403);
});

test('with an http address there is no such cookie, and a sent one is ignored', async (t) => {
  const app = await identityApp(t);
  const { cookies, token } = await logIn(app);
  t.deepEqual([...cookies.keys()].toSorted(), ['auth_token', 'csrf_token']);
  t.is(await me(app, { cookie: `__Host-auth_token=${token}` }), 401);
  t.is(await me(app, { cookie: `auth_token=${token}`, ...BROWSER }), 200);
});

test('a session ends on every replica after its idle time, and use extends it', async (t) => {
  let offset = 0;
  const now = () => new Date(Date.now() + offset * 60_000);
  const one = await identityApp(t, { now, idleMinutes: 30 });
  const two = await identityApp(t, { on: one.on, now, idleMinutes: 30 });
  const [used, left] = [await logIn(one), await logIn(one)];
  const seenAt = async () =>
    (await one.store.read((tx) => tx.sessions.list({}))).map((row) => row.seenAt.getTime()).toSorted();
  for (const app of [two, one, two]) {
    offset += 20;
    const before = Math.max(...(await seenAt()));
    t.is(await me(app, { cookie: used.cookie }), 200);
    // The last use is stored asynchronously.
    while (Math.max(...(await seenAt())) === before) await new Promise((resolve) => setImmediate(resolve));
  }
  for (const app of [one, two]) t.is(await me(app, { cookie: left.cookie }), 401);
  const { data } = (await one.call('GET', '/api/v1/me/sessions', { token: used.token })).body;
  t.is(data.length, 1, 'an ended session is not listed');
  offset += 31;
  for (const app of [one, two]) t.is(await me(app, { cookie: used.cookie }), 401);
  const always = await identityApp(t, { on: one.on, now, idleMinutes: 0 });
  t.is(await me(always, { cookie: used.cookie }), 200, '0 turns it off');
});

test('a session whose row was removed is rejected, even if its token is still valid', async (t) => {
  const app = await identityApp(t);
  const { token } = await logIn(app);
  const use = () => me(app, { authorization: `Bearer ${token}` });
  t.is(await use(), 200);
  await app.store.transaction((tx) => tx.sessions.delete({}));
  t.is(await use(), 401);
  t.deepEqual(await app.store.read((tx) => tx.sessions.list({})), []);
});

test('a session that was ended by any route has no row, so a lost revocation does not restore it', async (t) => {
  const app = await identityApp(t);
  const out = await logIn(app);
  t.is((await app.call('POST', '/api/v1/logout', { token: out.token })).status, 200);
  const [listed, last] = [await logIn(app), await logIn(app)];
  const { data } = (await app.call('GET', '/api/v1/me/sessions', { token: last.token })).body;
  const { id } = data.find((one: { current: boolean }) => !one.current);
  t.is((await app.call('DELETE', `/api/v1/me/sessions/${id}`, { token: last.token })).status, 204);
  const again = await logIn(app, { cookie: last.cookie });
  const own = await logIn(app);
  const call: Call = (method, path, body) => app.call(method, path, { body, token: own.token }) as never;
  await enrol(call, () => new Date());
  await app.store.transaction(async (tx) => {
    await tx.revokedTokens.delete({});
    // While a second factor is enrolled, sessions without its code are rejected anyway.
    await tx.secondFactors.delete({});
  });
  const ended = [out, listed, last, again];
  for (const [at, { token }] of ended.entries())
    t.is(await me(app, { authorization: `Bearer ${token}` }), 401, `session ${at}`);
  t.is(await me(app, { authorization: `Bearer ${own.token}` }), 200);
  t.is(await app.store.read((tx) => tx.sessions.count({})), 1);
});

test('sessions with an expired token are deleted', async (t) => {
  const app = await identityApp(t);
  await logIn(app);
  await app.store.transaction((tx) => tx.sessions.update({}, { expiresAt: new Date(Date.now() - 25 * 3_600_000) }));
  await logIn(app);
  t.is(await app.identity.deleteExpiredSessions(), 1);
  t.is((await app.store.read((tx) => tx.sessions.list({}))).length, 1);
});
