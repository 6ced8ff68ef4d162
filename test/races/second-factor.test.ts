import test, { type ExecutionContext } from 'ava';
import { randomUUID } from 'node:crypto';
import { replaceRecoveryCodes } from '../../server/identity/codes.ts';
import { postgresDatabase } from '../support/database.ts';
import {
  alice,
  identityApp,
  type IdentityApp,
  type IdentityAppOptions,
  twoInstances,
} from '../support/identity-app.ts';
import { codeAt, enrol, wrongCode } from '../support/second-factor.ts';
import { until } from '../support/service.ts';

const home = '198.51.100.7';

/** Two replicas behind a proxy with a manual clock, and an administrator with a second factor. */
async function stage(t: ExecutionContext, options: IdentityAppOptions = {}) {
  let time = Math.ceil(Date.now() / 30_000) * 30_000;
  const now = () => new Date(time);
  const database = await postgresDatabase(t, 20);
  const [one, two] = await twoInstances(t, database, { now, trustedProxies: 1, ...options });
  const login = (app: IdentityApp, more: object = {}, ip = home) =>
    app.call('POST', '/api/v1/login', { body: { ...alice, ...more }, headers: { 'x-forwarded-for': ip } });
  const { token } = (await login(one)).body.data;
  const by = (app: IdentityApp, bearer: string) => (method: string, path: string, body?: unknown) =>
    app.call(method, path, { token: bearer, body, headers: { 'x-forwarded-for': home } });
  const factor = await enrol(by(one, token), now);
  const pass = (seconds: number) => void (time += seconds * 1000);
  pass(30);
  const code = () => codeAt(factor.secret, now());
  return { one, two, now, pass, login, by, token, code, database, ...factor };
}

const count = (answers: readonly { status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length;

test('a code sent to two replicas at the same moment counts once, repeatedly', async (t) => {
  const { one, two, login, code, pass } = await stage(t, { loginFailures: 1000 });
  for (let round = 0; round < 6; round++) {
    const answers = await Promise.all([one, two, one, two].map((app) => login(app, { code: code() })));
    t.deepEqual([count(answers, 200), count(answers, 401)], [1, 3], `round ${round}`);
    pass(30);
  }
});

test('a recovery code counts once, and so does a code used for different purposes', async (t) => {
  const { one, two, login, by, token, code, recoveryCodes } = await stage(t, { loginFailures: 1000 });
  for (const recovery of recoveryCodes.slice(0, 4)) {
    const answers = await Promise.all([one, two, one, two].map((app) => login(app, { code: recovery })));
    t.is(count(answers, 200), 1);
  }
  const proof = { password: alice.password, code: code() };
  const mixed = await Promise.all([
    login(one, { code: code() }),
    by(two, token)('POST', '/api/v1/me/confirm', proof),
    by(one, token)('POST', '/api/v1/me/confirm', proof),
  ]);
  t.is(count(mixed, 200), 1);
});

test('a login without a code during the enrolment leaves no valid session', async (t) => {
  for (let round = 0; round < 4; round++) {
    const { one, two, login, by, token, now, recoveryCodes } = await stage(t);
    const proof = { password: alice.password, code: recoveryCodes[0] };
    t.is((await by(one, token)('POST', '/api/v1/me/second-factor/remove', proof)).status, 204);
    const { secret } = (await by(one, token)('POST', '/api/v1/me/second-factor/start')).body.data;
    const [confirmed, ...entered] = await Promise.all([
      by(one, token)('POST', '/api/v1/me/second-factor/confirm', { code: codeAt(secret, now()) }),
      login(two),
      login(one),
      login(two),
    ]);
    t.is(confirmed?.status, 200);
    for (const { status, body } of entered) {
      if (status !== 200) continue;
      for (const app of [one, two]) t.is((await by(app, body.data.token)('GET', '/api/v1/me')).status, 401);
    }
    t.is((await by(two, token)('GET', '/api/v1/me')).status, 200);
  }
});

test('an attacker with the password can try few codes from any number of addresses, and the owner logs in', async (t) => {
  const { one, two, login, secret, now, recoveryCodes, code, pass, database } = await stage(t, {
    loginFailures: 1000,
  });
  t.is((await login(two, { code: code() })).status, 200);
  pass(30);
  const wrong = wrongCode(secret, now());
  const guesses: number[] = [];
  for (let at = 0; at < 60; at += 2) {
    const pair = [at, at + 1].map((n) => login(n % 2 ? one : two, { code: wrong }, `10.${n}.0.9`));
    guesses.push(...(await Promise.all(pair)).map(({ status }) => status));
  }
  const answered = guesses.filter((status) => status === 401).length;
  t.log(`${answered} of ${guesses.length} guesses were answered`);
  // One more is the owner's, and two on each replica may have been running.
  t.true(answered >= 20 && answered <= 20 + 1 + 4, String(answered));
  const stranger = await login(one, { code: code() }, '192.0.2.1');
  t.is(stranger.status, 429, 'a right code has to wait for its turn too');
  t.true(Number(stranger.headers.get('retry-after')) <= 1800);
  t.is((await login(two, { code: code() })).status, 200, 'a known address does not wait');
  t.is((await login(one, { code: recoveryCodes[0] }, '192.0.2.1')).status, 200, 'a recovery code does not wait either');
  pass(30);
  await database.database.em.fork().execute(`update rate_limits set expire = 1 where key like 'login-code-turn:%'`);
  const later = await identityApp(t, { on: database, now, trustedProxies: 1 });
  t.is((await login(later, { code: code() }, '192.0.2.2')).status, 200, 'the login with the turn succeeds');
});

test('a known address that guesses codes is delayed as well', async (t) => {
  const { one, two, login, secret, now, code, pass } = await stage(t, { loginFailures: 1000 });
  const wrong = wrongCode(secret, now());
  for (let at = 0; at < 20; at++) t.is((await login(at % 2 ? one : two, { code: wrong })).status, 401);
  t.is((await login(one, { code: wrong })).status, 401, 'the first of its turns');
  for (const app of [one, two]) t.is((await login(app, { code: code() })).status, 429);
  pass(30);
});

test('a renewal of codes waits for a concurrent removal of the second factor by another administrator', async (t) => {
  const { one, two, now, recoveryCodes } = await stage(t);
  const adminId = (await one.store.read((tx) => tx.admins.list({})))[0]!.id;
  const [held, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const renewed = one.store.transaction(async (tx) => {
    await tx.secondFactors.lock({ adminId });
    held.resolve();
    await isWaiting.promise;
    return replaceRecoveryCodes(tx, adminId, now());
  });
  await held.promise;
  const other = { id: randomUUID(), username: 'bob', jti: 'j' };
  const reset = two.identity.secondFactors.reset(other, { kind: 'admin', name: 'bob', requestId: 'r' }, adminId);
  await until('the reset waits for a lock', async () => {
    const [row] = await one.store.read(
      (tx) =>
        tx.sql<{
          waits: boolean;
        }>`select exists (select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') as waits`,
    );
    return row?.waits;
  });
  isWaiting.resolve();
  t.is((await renewed).length, recoveryCodes.length);
  await reset;
  t.deepEqual(await one.store.read((tx) => tx.recoveryCodes.list({ adminId })), []);
});
