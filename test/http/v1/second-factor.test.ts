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

/** A service with a clock that moves only when the test advances it, at the start of a thirty-second step. */
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

/** The same with an administrator who has a second factor; `call` uses the session in which it was enrolled. */
async function enrolled(t: Parameters<typeof identityApp>[0], options: IdentityAppOptions = {}) {
  const on = await stage(t, options);
  const call = on.as(await on.app.login());
  const factor = await enrol(call, on.now);
  on.pass(30);
  return { ...on, ...factor, call, code: (steps = 0) => codeAt(factor.secret, on.now().getTime() + steps * 30_000) };
}

const lines = (app: IdentityApp, action: string) => app.store.read((tx) => tx.audit.list({ action }));

test.serial('a second factor is enrolled, shown, renewed and removed, each with its refusals', async (t) => {
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
  'a login needs a code once the first one is confirmed, and a login without a code works before',
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

test.serial('the first code of a new secret cannot be guessed by concurrent attempts', async (t) => {
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

test.serial('the session that enrols stays, and all other sessions of the account end', async (t) => {
  const { app, now, as } = await stage(t);
  const [mine, other] = [as(await app.login()), as(await app.login())];
  await enrol(mine, now);
  t.is((await mine('GET', '/api/v1/me')).status, 200);
  t.is((await other('GET', '/api/v1/me')).status, 401);
  t.is((await mine('GET', '/api/v1/me/sessions')).body.data.length, 1);
  t.like((await lines(app, 'admin.enable-second-factor'))[0]?.after, { replaced: false, endedSessions: 1 });
});

test.serial(
  'a wrong code is reported like a wrong password, and a wrong or missing code is a failed login',
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

test.serial('each code works once, and no code of an earlier step works after it', async (t) => {
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

test.serial('the first code of the enrolment logs in once, and no earlier code does', async (t) => {
  const { app, now, login, as } = await stage(t);
  const { secret } = await enrol(as(await app.login()), now);
  refused(t, await login({ code: codeAt(secret, now().getTime() - 30_000) }), 401, 'login_failed');
  t.is((await login({ code: codeAt(secret, now()) })).status, 200);
  refused(t, await login({ code: codeAt(secret, now()) }), 401, 'login_failed');
});

test.serial('a recovery code works once in any spelling, and the audit log shows its use', async (t) => {
  const { app, login, as, recoveryCodes } = await enrolled(t);
  const [first = '', second = ''] = recoveryCodes;
  const { token } = (await login({ code: first.toUpperCase().replaceAll('-', ' ') })).body.data;
  refused(t, await login({ code: first }), 401, 'login_failed');
  t.is((await login({ code: second.replaceAll('-', '') })).status, 200);
  t.is((await as(token)('GET', PATH)).body.data.recoveryCodesLeft, 8);
  const used = (await lines(app, 'admin.login')).filter(({ after }) => after?.['secondFactor'] === 'recovery code');
  t.is(used.length, 2);
  const rows = await app.store.read((tx) => tx.recoveryCodes.list({}));
  t.false(JSON.stringify(rows).includes(first.replaceAll('-', '')), 'only hashes are stored');
});

test.serial('an action that requires the password also requires a code, each with its own pointer', async (t) => {
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

test.serial('a new password of the own account requires a code', async (t) => {
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

test.serial('a new authenticator replaces the old one, which is valid until then', async (t) => {
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

test.serial('an enrolment expires ten minutes after its start without a first code', async (t) => {
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

test.serial('if a second factor is required, an account without one can only enrol', async (t) => {
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

test.serial('secrets are encrypted, and a secret that cannot be decrypted is reported', async (t) => {
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
