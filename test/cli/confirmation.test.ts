import { writeFileSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { makePlace, scripted } from './payctl.ts';
import { problem, TOKEN } from './fakes/api.ts';
import { confirmedSession } from './fakes/identity.ts';

const CREATE = ['admin', 'create', '--username', 'bob', '--role', 'viewer', '--password-file', 'bob.password', '-y'];

/** A service that requires the password before it creates an administrator. */
async function askingPlace(t: ExecutionContext, rightPassword = 'correct horse battery') {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(`${place.folder}/bob.password`, 'nine-tidy-green-anchors');
  let confirmed = false;
  place.api.on('POST /api/v1/admins', ({ body }) => {
    if (!confirmed)
      return problem(403, 'password_confirmation_required', 'The password must be confirmed for this operation.');
    return { status: 201, body: { data: { id: 'a1', ...(body as object) } } };
  });
  place.api.on('POST /api/v1/me/confirm', ({ body }) => {
    confirmed = (body as { password?: string }).password === rightPassword;
    if (!confirmed) return problem(400, 'invalid_request', 'The current password is wrong.');
    return { body: { data: confirmedSession } };
  });
  const sent = () =>
    place.api.seen.map(({ method, path }) => `${method} ${path}`).filter((one) => one.startsWith('POST'));
  return { place, sent };
}

test('payctl on a terminal prompts for the password, confirms it and sends the change again', async (t) => {
  const { place, sent } = await askingPlace(t);
  const prompts = scripted({}, 'correct horse battery');
  const { code, stdout, stderr } = await place.payctl([...CREATE, '--json'], { prompts });
  t.is(code, 0, stderr);
  t.is(JSON.parse(stdout).username, 'bob');
  t.deepEqual(prompts.asked, ['Your own password, to confirm this change']);
  t.deepEqual(sent(), ['POST /api/v1/admins', 'POST /api/v1/me/confirm', 'POST /api/v1/admins']);
});

test('the session from a confirmation replaces the saved session and sends the change', async (t) => {
  const { place } = await askingPlace(t);
  const { code, stderr } = await place.payctl(CREATE, { prompts: scripted({}, 'correct horse battery') });
  t.is(code, 0, stderr);
  const file = `${place.folder}/credentials.json`;
  const { token, expiresAt } = JSON.parse(await readFile(file, 'utf8')).sessions.dev;
  t.is(token, confirmedSession['token']);
  t.is(expiresAt, '2026-11-22T06:05:00.000Z', 'counted from the confirmation');
  t.is((await stat(file)).mode & 0o777, 0o600);
  const used = place.api.seen.filter(({ method }) => method === 'POST').map(({ headers }) => headers['authorization']);
  t.deepEqual(
    used,
    [TOKEN, TOKEN, token].map((one) => `Bearer ${one}`),
  );
});

test('a token from the environment is kept: a temporary session sends the change and is logged out', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(`${place.folder}/bob.password`, 'nine-tidy-green-anchors');
  place.api.on('POST /api/v1/login', () => ({
    body: { data: { token: 'of.its.own', expiresIn: 60, username: 'alice', role: 'admin', secondFactor: 'none' } },
  }));
  place.api.on('POST /api/v1/admins', ({ headers, body }) =>
    headers['authorization'] === 'Bearer of.its.own'
      ? { status: 201, body: { data: { id: 'a1', ...(body as object) } } }
      : problem(403, 'password_confirmation_required', 'The password must be confirmed for this operation.'),
  );
  // A failed logout must not fail the change.
  place.api.on('POST /api/v1/logout', () => problem(503, 'database_unavailable', 'The database cannot be reached.'));
  const env = { PAYCTL_TOKEN: TOKEN, PAYCTL_SERVER: place.api.url };
  const prompts = scripted({}, 'correct horse battery');
  const { code, stderr } = await place.payctl(CREATE, { prompts, env });
  t.is(code, 0, stderr);
  t.deepEqual(
    place.api.seen.map(({ method, path, headers }) => `${method} ${path} ${headers['authorization'] ?? ''}`.trim()),
    [
      `POST /api/v1/admins Bearer ${TOKEN}`,
      `GET /api/v1/me Bearer ${TOKEN}`,
      'POST /api/v1/login',
      'POST /api/v1/admins Bearer of.its.own',
      'POST /api/v1/logout Bearer of.its.own',
    ],
  );
});

test('payctl retries with the saved token when another run has replaced its own; an expired token is reported', async (t) => {
  const { place } = await askingPlace(t);
  let asked = 0;
  place.api.on('GET /api/v1/me', ({ headers }) => {
    asked += 1;
    if (headers['authorization'] === `Bearer ${confirmedSession['token']}`)
      return { body: { data: { username: 'alice', role: 'admin', projects: null, secondFactor: 'none' } } };
    return problem(401, 'unauthenticated', 'The credentials are missing, wrong or expired.');
  });
  const over = await place.payctl(['whoami', '--json']);
  t.is(over.code, 4);
  t.is(asked, 1, 'the same token is not sent twice');
  const file = `${place.folder}/credentials.json`;
  const saved = await readFile(file, 'utf8');
  place.api.on('GET /api/v1/projects', ({ headers }) => {
    if (headers['authorization'] !== `Bearer ${TOKEN}`)
      return { body: { data: [], page: { nextCursor: null, hasMore: false } } };
    // Simulates a confirmation by a concurrent run.
    writeFileSync(file, saved.replaceAll(TOKEN, String(confirmedSession['token'])));
    return problem(401, 'unauthenticated', 'The credentials are missing, wrong or expired.');
  });
  const { code, stderr } = await place.payctl(['project', 'list', '--json']);
  t.is(code, 0, stderr);
});

test('a script supplies its own password and second-factor code by files', async (t) => {
  const { place } = await askingPlace(t);
  for (const [name, text] of [
    ['own.password', 'correct horse battery'],
    ['own.code', '492039'],
  ] as const)
    await writeFile(`${place.folder}/${name}`, `${text}\n`, { mode: 0o600 });
  const proofs = () => place.api.seen.filter(({ path }) => path === '/api/v1/me/confirm').map(({ body }) => body);
  const created = await place.payctl([...CREATE, '--own-password-file', 'own.password', '--code-file', 'own.code']);
  t.is(created.code, 0, created.stderr);
  t.deepEqual(proofs(), [{ password: 'correct horse battery', code: '492039' }]);

  let confirmed = false;
  place.api.on('POST /api/v1/me/confirm', () => {
    confirmed = true;
    return { body: { data: confirmedSession } };
  });
  place.api.on('PUT /api/v1/projects/books', () =>
    confirmed
      ? { body: { data: { code: 'books', name: 'Books' } } }
      : problem(403, 'password_confirmation_required', 'The password must be confirmed for this operation.'),
  );
  const change = ['project', 'update', 'books', '--name', 'Books', '--password-file', 'own.password'];
  const changed = await place.payctl(change);
  t.is(changed.code, 0, changed.stderr);
  t.deepEqual(proofs().at(-1), { password: 'correct horse battery' });
});

test('the --password-file of a new account does not confirm the change', async (t) => {
  const { place, sent } = await askingPlace(t);
  const { code, stderr } = await place.payctl(CREATE);
  t.is(code, 5);
  t.regex(stderr, /next: payctl login -C dev\n {8}Then .* repeat it now with --own-password-file FILE\./);
  t.deepEqual(sent(), ['POST /api/v1/admins']);
});

test('a wrong password is reported and the change is not sent again', async (t) => {
  const { place, sent } = await askingPlace(t);
  const { code, stderr } = await place.payctl(CREATE, { prompts: scripted({}, 'something else') });
  t.is(code, 1);
  t.regex(stderr, /current password is wrong/);
  t.deepEqual(sent(), ['POST /api/v1/admins', 'POST /api/v1/me/confirm']);
});

test('a script receives a hint to log in less than five minutes before the change', async (t) => {
  const { place, sent } = await askingPlace(t);
  const { code, stderr } = await place.payctl([...CREATE, '--json']);
  t.is(code, 5);
  const error = JSON.parse(stderr).error;
  t.like(error, { code: 'password_confirmation_required' });
  t.regex(error.hint, /^payctl login -C dev\nThen .*five minutes/);
  t.deepEqual(sent(), ['POST /api/v1/admins']);
});
