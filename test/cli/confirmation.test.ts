import { writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { makePlace, scripted } from '../support/cli.ts';
import { problem } from '../support/fake-api.ts';

const CREATE = ['admin', 'create', '--username', 'bob', '--role', 'viewer', '--password-file', 'bob.password', '-y'];

/** A service that wants the password before it creates an administrator. */
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
    return { body: { data: { confirmedUntil: '2026-11-21T06:10:00.000Z' } } };
  });
  const sent = () =>
    place.api.seen.map(({ method, path }) => `${method} ${path}`).filter((one) => one.startsWith('POST'));
  return { place, sent };
}

test('on a terminal the password is asked for, confirmed, and the change sent again', async (t) => {
  const { place, sent } = await askingPlace(t);
  const prompts = scripted({}, 'correct horse battery');
  const { code, stdout, stderr } = await place.payctl([...CREATE, '--json'], { prompts });
  t.is(code, 0, stderr);
  t.is(JSON.parse(stdout).username, 'bob');
  t.deepEqual(prompts.asked, ['Your own password, to confirm this change']);
  t.deepEqual(sent(), ['POST /api/v1/admins', 'POST /api/v1/me/confirm', 'POST /api/v1/admins']);
});

test('a wrong password is told, and nothing is sent again', async (t) => {
  const { place, sent } = await askingPlace(t);
  const { code, stderr } = await place.payctl(CREATE, { prompts: scripted({}, 'something else') });
  t.is(code, 1);
  t.regex(stderr, /current password is wrong/);
  t.deepEqual(sent(), ['POST /api/v1/admins', 'POST /api/v1/me/confirm']);
});

test('a script is told to log in less than five minutes before', async (t) => {
  const { place, sent } = await askingPlace(t);
  const { code, stderr } = await place.payctl([...CREATE, '--json']);
  t.is(code, 5);
  const error = JSON.parse(stderr).error;
  t.like(error, { code: 'password_confirmation_required' });
  t.regex(error.hint, /payctl login -C dev.*five minutes/);
  t.deepEqual(sent(), ['POST /api/v1/admins']);
});
