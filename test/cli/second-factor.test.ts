import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { codeOf } from '../../cli/own-login.ts';
import { makePlace, NOW, scripted } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { confirmedSession, RECOVERY_CODES, TOTP_SECRET } from './fakes/identity.ts';
import { logIn, operatorAt } from './operator.ts';
import { startService } from '../support/service.ts';

const LOGIN = ['login', '-u', 'alice', '--password-file', 'alice.password'];
const password = 'correct horse battery';

async function placeOf(t: ExecutionContext) {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const [name, text] of [
    ['alice.password', password],
    ['alice.code', '492039'],
    ['alice.totp', TOTP_SECRET],
  ] as const)
    await writeFile(`${place.folder}/${name}`, `${text}\n`);
  const sent = (path: string) => place.api.seen.filter((one) => one.path === path).map(({ body }) => body);
  return { place, sent };
}

async function withFactor(t: ExecutionContext, right = '492039') {
  const { place, sent } = await placeOf(t);
  place.api.on('POST /api/v1/login', ({ body }) => {
    const { code } = body as { code?: string };
    if (code === undefined)
      return problem(401, 'second_factor_required', 'A code of the second factor is required.', {
        hint: 'Send the request again with `code`.',
      });
    if (code !== right) return problem(401, 'login_failed', 'Wrong username, password or code.');
    const data = { token: 'a.b.c', expiresIn: 60, username: 'alice', role: 'admin', secondFactor: 'used' };
    return { body: { data } };
  });
  return { place, sent: () => sent('/api/v1/login') };
}

test('login on a terminal prompts for a code when the account has a second factor, and before the request the next time', async (t) => {
  const { place, sent } = await withFactor(t);
  const prompts = scripted({ '--code-file or --code-secret-file': '492039' });
  const first = await place.payctl([...LOGIN, '--json'], { prompts });
  t.is(first.code, 0, first.stderr);
  t.is(JSON.parse(first.stdout).secondFactor, 'used');
  t.deepEqual(sent(), [
    { username: 'alice', password },
    { username: 'alice', password, code: '492039' },
  ]);
  t.is((await place.payctl(LOGIN, { prompts })).code, 0);
  t.deepEqual(sent().slice(2), [{ username: 'alice', password, code: '492039' }]);
  t.deepEqual(
    prompts.asked,
    Array.from({ length: 2 }, () => 'Code of your authenticator, or a recovery code'),
  );
});

test('a script supplies a code by file or stdin, or computes it from the secret', async (t) => {
  const computed = await codeOf(TOTP_SECRET, NOW);
  const { place, sent } = await withFactor(t);
  t.is((await place.payctl([...LOGIN, '--code-file', 'alice.code'])).code, 0);
  t.is((await place.payctl([...LOGIN, '--code-stdin'], { stdin: '492039\n' })).code, 0);
  const wrong = await place.payctl([...LOGIN, '--code-secret-file', 'alice.totp', '--json']);
  t.deepEqual(
    sent().map((body) => (body as { code: string }).code),
    ['492039', '492039', computed],
  );
  t.is(wrong.code, 4);
  t.regex(JSON.parse(wrong.stderr).error.hint, /each code works once.*30 s/);
  const uri = `otpauth://totp/pay:alice?secret=${TOTP_SECRET}`;
  t.is(await codeOf(uri, NOW), computed);
  t.is(await codeOf(TOTP_SECRET.toLowerCase().replaceAll(/.{4}/g, '$& '), NOW), computed);
});

test('a script without a code receives an error that names the code flags', async (t) => {
  const { place } = await withFactor(t);
  const { code, stderr } = await place.payctl([...LOGIN, '--json']);
  t.is(code, 2);
  t.like(JSON.parse(stderr).error, { code: 'input_needed' });
  t.regex(stderr, /--code-file or --code-secret-file/);
});

test('invalid code flags are rejected before any request is sent', async (t) => {
  const { place, sent } = await withFactor(t);
  await writeFile(`${place.folder}/bad.totp`, 'not base32!\n');
  for (const flags of [
    ['--code-file', 'alice.code', '--code-stdin'],
    ['--code-secret-file', 'bad.totp'],
  ])
    t.is((await place.payctl([...LOGIN, ...flags])).code, 2, flags.join(' '));
  const both = await place.payctl(['login', '-u', 'alice', '--password-stdin', '--code-stdin'], { stdin: 'x' });
  t.is(both.code, 2);
  t.deepEqual(sent(), []);
});

test('login names second-factor enable as the next step when the required second factor is missing', async (t) => {
  const { place } = await placeOf(t);
  const data = { token: 'a.b.c', expiresIn: 60, username: 'alice', role: 'admin', secondFactor: 'missing' };
  place.api.on('POST /api/v1/login', () => ({ body: { data } }));
  const { stderr } = await place.payctl(LOGIN);
  t.regex(stderr, /Next: payctl second-factor enable/);
});

test('a change that requires the password also prompts for a code when the account has a second factor', async (t) => {
  const { place, sent } = await placeOf(t);
  let confirmed = false;
  place.api.on('PUT /api/v1/admins/01935a02-11c7-7d3e-a8b4-6c2f90e1d75a', () =>
    confirmed
      ? { body: { data: { username: 'bob', role: 'operator' } } }
      : problem(403, 'password_confirmation_required', 'The password must be confirmed.'),
  );
  place.api.on('POST /api/v1/me/confirm', ({ body }) => {
    confirmed = (body as { code?: string }).code === '492039';
    if (confirmed) return { body: { data: confirmedSession } };
    const errors = [{ pointer: '/code', code: 'code_required', detail: 'must be a code of the authenticator' }];
    return problem(400, 'invalid_request', 'The account has a second factor.', { errors });
  });
  const prompts = scripted({ '--code-file or --code-secret-file': '492039' }, password);
  const { code, stderr } = await place.payctl(['admin', 'update', 'bob', '--role', 'operator', '-y'], { prompts });
  t.is(code, 0, stderr);
  t.deepEqual(sent('/api/v1/me/confirm'), [{ password }, { password, code: '492039' }]);
});

test('second-factor enable on a terminal draws a QR code, prompts until the code is right, and shows the recovery codes once', async (t) => {
  const { place, sent } = await placeOf(t);
  let tries = 0;
  place.api.on('POST /api/v1/me/second-factor/confirm', () => {
    tries += 1;
    if (tries > 1) return { body: { data: { recoveryCodes: RECOVERY_CODES } } };
    return problem(400, 'invalid_request', 'The code is wrong.', {
      errors: [{ pointer: '/code', code: 'code_wrong', detail: 'x' }],
    });
  });
  const prompts = scripted({ '--code-file or --code-secret-file': '492039' });
  const { code, stdout, stderr } = await place.payctl(['second-factor', 'enable'], { prompts, terminal: 100 });
  t.is(code, 0, stderr);
  t.true(stderr.includes('▀'));
  t.true(stderr.includes(TOTP_SECRET.replaceAll(/.{4}(?=.)/g, '$& ')));
  const drawn = stderr.split('\n').filter((line) => /[█▀▄]/.test(line));
  t.true(drawn.length <= 23, `${drawn.length} rows, and one for the prompt`);
  t.true(stderr.lastIndexOf('▀') > stderr.indexOf(TOTP_SECRET.slice(0, 4)), 'the QR code comes last');
  t.regex(stderr, /The service refused the code/);
  for (const one of RECOVERY_CODES) t.true(stdout.includes(`│ ${one}`), stdout);
  t.deepEqual(sent('/api/v1/me/second-factor/confirm').length, 2);
});

test('a script enrols through private files; without a file for the recovery codes no file is created', async (t) => {
  const { place, sent } = await placeOf(t);
  const enable = ['second-factor', 'enable', '--secret-file', 'new.totp'];
  const nowhere = await place.payctl(enable);
  t.is(nowhere.code, 2);
  t.regex(nowhere.stderr, /--recovery-codes-file/);
  t.deepEqual(sent('/api/v1/me/second-factor/start'), []);
  const { code, stderr } = await place.payctl([...enable, '--recovery-codes-file', 'codes']);
  t.is(code, 0, stderr);
  t.is(await readFile(`${place.folder}/new.totp`, 'utf8'), `${TOTP_SECRET}\n`);
  t.is(await readFile(`${place.folder}/codes`, 'utf8'), `${RECOVERY_CODES.join('\n')}\n`);
  for (const name of ['new.totp', 'codes']) t.is((await stat(`${place.folder}/${name}`)).mode & 0o777, 0o600);
  t.deepEqual(sent('/api/v1/me/second-factor/confirm'), [{ code: await codeOf(TOTP_SECRET, NOW) }]);
  t.regex(stderr, /^The recovery codes were written to \S+codes \(mode 0600\)\.$/m);
  t.regex(stderr, /^The secret was written to new\.totp \(mode 0600\)\.$/m);
  t.false(stderr.includes(TOTP_SECRET));
  t.is((await place.payctl(['second-factor', 'enable'])).code, 2, 'no terminal to prompt on');
  const taken = await place.payctl([...enable, '--recovery-codes-file', 'more-codes']);
  t.not(taken.code, 0, 'new.totp exists');
  await t.throwsAsync(stat(`${place.folder}/more-codes`), { code: 'ENOENT' });
});

test('replacing the authenticator or the recovery codes requires a code from a prompt or a file', async (t) => {
  const { place, sent } = await placeOf(t);
  const missing = { pointer: '/code', code: 'code_required', detail: 'must be a code of the authenticator' };
  for (const [verb, path] of [
    ['enable', 'start'],
    ['recovery-codes', 'recovery-codes'],
  ] as const) {
    place.api.on(`POST /api/v1/me/second-factor/${path}`, ({ body }) => {
      if ((body as { code?: string } | undefined)?.code === undefined)
        return problem(400, 'invalid_request', 'The account has a second factor.', { errors: [missing] });
      const data = { secret: TOTP_SECRET, uri: 'otpauth://totp/x', recoveryCodes: RECOVERY_CODES };
      return { body: { data } };
    });
    const files = verb === 'enable' ? ['--secret-file', `${verb}.totp`] : [];
    const run = (number: number, more: readonly string[], options = {}) =>
      place.payctl(
        [
          'second-factor',
          verb,
          ...files.map((one) => one.replace('.', `${number}.`)),
          '--recovery-codes-file',
          `${verb}${number}.codes`,
          '-y',
          ...more,
        ],
        options,
      );
    const refused = await run(1, ['--json']);
    t.is(refused.code, 2, 'without a terminal');
    t.regex(refused.stderr, /--code-file or --code-secret-file/);
    const asked = await run(2, [], { prompts: scripted({ '--code-file or --code-secret-file': '492039' }) });
    t.is(asked.code, 0, asked.stderr);
    t.is((await run(3, ['--code-file', 'alice.code'])).code, 0);
    t.deepEqual(sent(`/api/v1/me/second-factor/${path}`), [
      undefined,
      undefined,
      { code: '492039' },
      { code: '492039' },
    ]);
  }
});

test('session end rejects --all without --admin, a missing id, and an id together with --all', async (t) => {
  const { place } = await placeOf(t);
  for (const words of [['--all'], [], ['s-1', '--all', '--admin', 'bob']])
    t.is((await place.payctl(['session', 'end', ...words, '-y'])).code, 2, words.join(' '));
});

test('second factors, project limits and session end work against the real service', async (t) => {
  const service = await startService(t);
  const alice = await operatorAt(t, service);
  await alice.done('second-factor enable --secret-file alice.totp --recovery-codes-file alice.codes');
  t.like(await alice.json('second-factor status'), { enabled: true, recoveryCodesLeft: 10 });
  t.like(await alice.json('whoami'), { secondFactor: 'used', projects: null });
  const login = 'login -u alice --password-file own.password';
  t.is((await alice.payctl(login)).code, 2);
  service.clock.advance(30);
  service.clock.stop();
  await alice.done(`${login} --code-secret-file alice.totp`);
  t.is((await alice.payctl(`${login} --code-secret-file alice.totp`)).code, 4, 'the same code once more');
  const [recovery = ''] = (await readFile(`${alice.folder}/alice.codes`, 'utf8')).split('\n');
  await writeFile(`${alice.folder}/one.code`, recovery);
  await alice.done(`${login} --code-file one.code`);

  await writeFile(`${alice.folder}/bob.password`, 'nine-tidy-green-anchors');
  await chmod(`${alice.folder}/bob.password`, 0o600);
  await alice.done('project create --code books --name Books');
  await alice.done('admin create --username bob --role operator --projects books --password-file bob.password');
  const bob = await logIn(t, service, 'bob', 'nine-tidy-green-anchors');
  t.deepEqual(
    (await bob.json('project list')).map(({ code }: { code: string }) => code),
    ['books'],
  );
  t.is((await bob.payctl('admin list')).code, 5);
  t.is((await bob.payctl('product list --project default')).code, 3);
  await bob.done('second-factor enable --secret-file bob.totp --recovery-codes-file bob.codes');
  const [session] = await alice.json('session list --admin bob');
  t.like(session, { secondFactor: true, current: false });
  await alice.done(`session end ${session.id} --admin bob -y`);
  t.is((await bob.payctl('whoami')).code, 4);
  await alice.done('admin reset-second-factor bob -y');
  t.like(
    (await alice.json('admin list')).find((one: { username: string }) => one.username === 'bob'),
    {
      role: 'operator',
      projects: ['books'],
      secondFactor: false,
    },
  );
  service.clock.advance(60);
  await alice.done('second-factor remove --password-file own.password --code-secret-file alice.totp -y');
  t.like(await alice.json('second-factor status'), { enabled: false });
});
