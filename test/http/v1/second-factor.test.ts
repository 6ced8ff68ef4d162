import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { alice, identityApp, type IdentityApp, type IdentityAppOptions } from '../../support/identity-app.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { codeAt, enrol, wrongCode } from '../../support/second-factor.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file, {
  login_busy: 'needs more passwords at once than an instance checks: test/unit/identity/gate.test.ts',
});

const PATH = '/api/v1/me/second-factor';

/** A service whose clock moves only when it is told to, at the beginning of a step of thirty seconds. */
async function stage(t: Parameters<typeof identityApp>[0], options: IdentityAppOptions = {}) {
  let time = Math.ceil(Date.now() / 30_000) * 30_000;
  const now = () => new Date(time);
  const app = await identityApp(t, { now, ...options });
  const login = (more: object = {}) => app.call('POST', '/api/v1/login', { body: { ...alice, ...more } });
  const as = (begun: string) => {
    let token = begun;
    return async (method: string, path: string, body?: unknown) => {
      const answer = await app.call(method, path, { token, body });
      if (path === '/api/v1/me/confirm' && answer.status === 200) token = answer.body.data.token;
      return answer;
    };
  };
  return { app, now, login, as, pass: (seconds: number) => void (time += seconds * 1000) };
}

/** The same with an administrator who has a second factor; `call` is the session in which it was enrolled. */
async function enrolled(t: Parameters<typeof identityApp>[0], options: IdentityAppOptions = {}) {
  const on = await stage(t, options);
  const call = on.as(await on.app.login());
  const factor = await enrol(call, on.now);
  on.pass(30);
  return { ...on, ...factor, call, code: (steps = 0) => codeAt(factor.secret, on.now().getTime() + steps * 30_000) };
}

const lines = (app: IdentityApp, action: string) => app.store.read((tx) => tx.audit.list({ action }));

test.serial('the routes of the file: enrolled, shown, renewed and removed, each with its refusals', async (t) => {
  const account = { username: 'carol', password: 'nine-tidy-green-anchors' };
  await file.admin('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  const { token } = (await file.nobody('POST', '/api/v1/login', account)).body.data;
  const call = (method: string, path: string, body?: unknown) =>
    file.nobody(method, path, body, { authorization: `Bearer ${token}` });
  const now = file.service.clock.now;
  t.deepEqual((await call('GET', PATH)).body.data, {
    enabled: false,
    enabledAt: null,
    recoveryCodesLeft: 0,
    required: false,
  });
  refused(t, await call('POST', `${PATH}/recovery-codes`), 409, 'second_factor_not_enabled');
  refused(t, await call('POST', `${PATH}/confirm`, { code: '000000' }), 409, 'second_factor_not_started');
  refused(t, await call('POST', `${PATH}/confirm`, { code: 1 }), 400, 'invalid_request');
  const { secret, recoveryCodes } = await enrol(call, now);
  t.is(new Set(recoveryCodes).size, 10);
  const renew = (body?: object) => call('POST', `${PATH}/recovery-codes`, body);
  t.like((await renew()).body.errors[0], { pointer: '/code', code: 'code_required' });
  t.like((await renew({ code: wrongCode(secret, now()) })).body.errors[0], { pointer: '/code', code: 'code_wrong' });
  file.service.clock.advance(30);
  const renewed = await renew({ code: codeAt(secret, now()) });
  t.is(renewed.status, 200);
  t.false(renewed.body.data.recoveryCodes.some((one: string) => recoveryCodes.includes(one)));
  t.like((await call('GET', PATH)).body.data, { enabled: true, recoveryCodesLeft: 10 });
  file.service.clock.advance(30);
  const { password } = account;
  const remove = (body: object) => call('POST', `${PATH}/remove`, body);
  const bad = await remove({ password, code: wrongCode(secret, now()) });
  refused(t, bad, 400, 'invalid_request');
  t.like(bad.body.errors[0], { pointer: '/code', code: 'code_wrong' });
  t.is(
    (await remove({ password: 'not-the-password', code: codeAt(secret, now()) })).body.errors[0].pointer,
    '/password',
  );
  t.is((await remove({ password, code: codeAt(secret, now()) })).status, 204);
  refused(t, await remove({ password, code: '000000' }), 409, 'second_factor_not_enabled');
  file.service.clock.advance(301);
  refused(t, await call('POST', `${PATH}/start`), 403, 'password_confirmation_required');
});

test.serial(
  'a login needs a code from the first confirmed one on, and the request of before still works without one',
  async (t) => {
    const { app, login, as, code, call } = await enrolled(t);
    t.is((await call('GET', '/api/v1/me')).body.data.secondFactor, 'used');
    const missing = await login();
    refused(t, missing, 401, 'second_factor_required');
    t.regex(missing.body.hint, /`code`/);
    t.deepEqual(missing.headers.getSetCookie(), []);
    const { status, body } = await login({ code: `${code().slice(0, 3)} ${code().slice(3)}` });
    t.is(status, 200);
    t.is(body.data.secondFactor, 'used');
    const { data } = (await as(body.data.token)('GET', '/api/v1/me/sessions')).body;
    t.deepEqual(
      data.map((one: { secondFactor: boolean }) => one.secondFactor),
      [true, true],
    );
    const [line] = (await lines(app, 'admin.login')).filter(({ after }) => after?.['secondFactor']);
    t.deepEqual(line?.after, { secondFactor: 'code' });
  },
);

test.serial('the first code of a new secret is not found by trying, by however many at once', async (t) => {
  const { app, now, as } = await stage(t);
  const call = as(await app.login());
  const { secret } = (await call('POST', `${PATH}/start`)).body.data;
  const code = wrongCode(secret, now());
  const tried = await Promise.all(Array.from({ length: 30 }, () => call('POST', `${PATH}/confirm`, { code })));
  t.is(tried.filter(({ status }) => status === 400).length, 20);
  const refusal = await call('POST', `${PATH}/confirm`, { code: codeAt(secret, now()) });
  refused(t, refusal, 429, 'rate_limited');
  const seconds = Number(refusal.headers.get('retry-after'));
  t.true(seconds > 0 && seconds <= 600, String(seconds));
});

test.serial('who enrols stays, and all other sessions of the account end', async (t) => {
  const { app, now, as } = await stage(t);
  const [mine, other] = [as(await app.login()), as(await app.login())];
  await enrol(mine, now);
  t.is((await mine('GET', '/api/v1/me')).status, 200);
  t.is((await other('GET', '/api/v1/me')).status, 401);
  t.is((await mine('GET', '/api/v1/me/sessions')).body.data.length, 1);
  t.like((await lines(app, 'admin.enable-second-factor'))[0]?.after, { replaced: false, endedSessions: 1 });
});

test.serial(
  'a wrong code is told as a wrong password is, and both it and a missing one are failed logins',
  async (t) => {
    const { app, login, secret, now, code } = await enrolled(t, { loginFailures: 3 });
    const wrong = await login({ code: wrongCode(secret, now()) });
    const password = await login({ password: 'whatever-it-may-be-1', code: code() });
    refused(t, wrong, 401, 'login_failed');
    t.deepEqual({ ...wrong.body, requestId: '' }, { ...password.body, requestId: '' });
    await login();
    refused(t, await login({ code: code() }), 429, 'rate_limited');
    t.deepEqual(
      (await lines(app, 'admin.login_failed')).map(({ after }) => after).toSorted(),
      [null, { secondFactor: 'wrong' }, { secondFactor: 'missing' }].toSorted(),
    );
  },
);

test.serial('each code works once, and none of an earlier step after it', async (t) => {
  const { login, code, pass } = await enrolled(t);
  t.is((await login({ code: code() })).status, 200);
  refused(t, await login({ code: code() }), 401, 'login_failed');
  refused(t, await login({ code: code(-1) }), 401, 'login_failed');
  pass(30);
  t.is((await login({ code: code() })).status, 200);
});

test.serial('a code may be one step late and no more, and never early', async (t) => {
  const { login, code, pass } = await enrolled(t);
  pass(300);
  for (const steps of [-2, 1, 2]) refused(t, await login({ code: code(steps) }), 401, 'login_failed');
  for (const steps of [-1, 0]) t.is((await login({ code: code(steps) })).status, 200, String(steps));
});

test.serial('the first code of the enrolment logs in once, and none before it does', async (t) => {
  const { app, now, login, as } = await stage(t);
  const { secret } = await enrol(as(await app.login()), now);
  refused(t, await login({ code: codeAt(secret, now().getTime() - 30_000) }), 401, 'login_failed');
  t.is((await login({ code: codeAt(secret, now()) })).status, 200);
  refused(t, await login({ code: codeAt(secret, now()) }), 401, 'login_failed');
});

test.serial('a recovery code works once, however it is typed, and says how it was', async (t) => {
  const { app, login, as, recoveryCodes } = await enrolled(t);
  const [first = '', second = ''] = recoveryCodes;
  const { token } = (await login({ code: first.toUpperCase().replaceAll('-', ' ') })).body.data;
  refused(t, await login({ code: first }), 401, 'login_failed');
  t.is((await login({ code: second.replaceAll('-', '') })).status, 200);
  t.is((await as(token)('GET', PATH)).body.data.recoveryCodesLeft, 8);
  const used = (await lines(app, 'admin.login')).filter(({ after }) => after?.['secondFactor'] === 'recovery code');
  t.is(used.length, 2);
  const rows = await app.store.read((tx) => tx.recoveryCodes.list({}));
  t.false(JSON.stringify(rows).includes(first.replaceAll('-', '')), 'only hashes are kept');
});

test.serial('what asks for the password again asks for a code too, each with a pointer of its own', async (t) => {
  const { call, code, pass, secret, now } = await enrolled(t);
  const bob = { username: 'bob', password: 'nine-tidy-green-anchors', role: 'viewer' };
  pass(300);
  const stale = await call('POST', '/api/v1/admins', bob);
  refused(t, stale, 403, 'password_confirmation_required');
  t.regex(stale.body.hint, /password and code/);
  const { password } = alice;
  const confirm = (body: object) => call('POST', '/api/v1/me/confirm', body);
  t.like((await confirm({ password })).body.errors[0], { pointer: '/code', code: 'code_required' });
  const wrong = await confirm({ password, code: wrongCode(secret, now()) });
  t.like(wrong.body.errors[0], { pointer: '/code', code: 'code_wrong' });
  refused(t, await call('POST', '/api/v1/admins', bob), 403, 'password_confirmation_required');
  t.is((await confirm({ password, code: code() })).status, 200);
  t.is((await call('POST', '/api/v1/admins', bob)).status, 201);
});

test.serial('a new password of the own account needs a code', async (t) => {
  const { call, code, login } = await enrolled(t);
  const change = (more: object) =>
    call('POST', '/api/v1/me/password', {
      currentPassword: alice.password,
      newPassword: 'ten-brave-little-foxes',
      ...more,
    });
  t.like((await change({})).body.errors[0], { pointer: '/code', code: 'code_required' });
  t.is((await change({ code: code() })).status, 200);
  refused(t, await login(), 401, 'login_failed');
});

test.serial('a new authenticator takes the place of the old one, which counts until then', async (t) => {
  const { app, call, code, login, now, pass, secret, recoveryCodes } = await enrolled(t);
  const start = (body?: object) => call('POST', `${PATH}/start`, body);
  t.like((await start()).body.errors[0], { pointer: '/code', code: 'code_required' });
  t.like((await start({ code: wrongCode(secret, now()) })).body.errors[0], { pointer: '/code', code: 'code_wrong' });
  t.is((await start({ code: recoveryCodes[0] })).status, 201, 'for a phone that is lost');
  const next = (await start({ code: code() })).body.data.secret as string;
  t.not(next, secret);
  const used = (await lines(app, 'admin.start-second-factor')).map(({ after }) => after?.['secondFactor']);
  t.deepEqual(used.toSorted(), ['code', 'recovery code', undefined]);
  pass(30);
  t.is((await login({ code: code() })).status, 200, 'the old one until the new one is confirmed');
  t.is((await call('POST', `${PATH}/confirm`, { code: codeAt(next, now()) })).status, 200);
  pass(30);
  refused(t, await login({ code: code() }), 401, 'login_failed');
  t.is((await login({ code: codeAt(next, now()) })).status, 200);
});

test.serial('an enrolment waits ten minutes for its first code', async (t) => {
  const { app, now, as, pass } = await stage(t);
  const call = as(await app.login());
  const { secret, uri, expiresAt } = (await call('POST', `${PATH}/start`)).body.data;
  t.is(uri, `otpauth://totp/127.0.0.1%3A8080:alice?issuer=127.0.0.1%3A8080&secret=${secret}`);
  t.is(Date.parse(expiresAt), now().getTime() + 600_000);
  refused(t, await call('POST', `${PATH}/confirm`, { code: wrongCode(secret, now()) }), 400, 'invalid_request');
  pass(601);
  const late = await call('POST', `${PATH}/confirm`, { code: codeAt(secret, now()) });
  refused(t, late, 409, 'second_factor_not_started');
});

test.serial('where everybody must have one, who has none can enrol and nothing else', async (t) => {
  const { app, now, login, as, pass } = await stage(t, { requireSecondFactor: true });
  const { body } = await login();
  t.is(body.data.secondFactor, 'missing');
  const call = as(body.data.token);
  const refusal = await call('GET', '/api/v1/admins');
  refused(t, refusal, 403, 'second_factor_enrolment_required');
  t.regex(refusal.body.hint, /payctl second-factor enable/);
  refused(t, await call('GET', '/api/v1/nothing'), 403, 'second_factor_enrolment_required');
  t.is((await call('GET', '/api/v1/me')).body.data.secondFactor, 'missing');
  t.true((await call('GET', PATH)).body.data.required);
  const { secret } = await enrol(call, now);
  t.is((await call('GET', '/api/v1/admins')).status, 200);
  pass(30);
  const { password } = alice;
  t.is((await call('POST', `${PATH}/remove`, { password, code: codeAt(secret, now()) })).status, 204);
  refused(t, await call('GET', '/api/v1/admins'), 403, 'second_factor_enrolment_required');
  t.is((await lines(app, 'admin.remove-second-factor')).length, 1);
});

test.serial('secrets are sealed, and a replica with another master key says what is wrong', async (t) => {
  const { app, login, code, recoveryCodes, secret } = await enrolled(t);
  const [row] = await app.store.read((tx) => tx.secondFactors.list({}));
  t.regex(row?.encrypted ?? '', /^s1\./);
  t.false(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(secret));
  await app.store.transaction((tx) =>
    tx.secondFactors.update({ adminId: row!.adminId }, { encrypted: row!.encrypted!.replace(/.$/, '!') }),
  );
  refused(t, await login({ code: code() }), 503, 'second_factor_unreadable');
  t.is((await login({ code: recoveryCodes[0] })).status, 200, 'a recovery code needs no key');
});
