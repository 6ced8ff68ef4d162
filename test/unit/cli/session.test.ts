import { chmod, chown, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { CliError } from '../../../cli/errors.ts';
import { configFolder, openSessions } from '../../../cli/session.ts';

async function folder(t: { teardown(work: () => Promise<void>): void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'payctl-sessions-'));
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

const session = { origin: 'http://127.0.0.1:1', username: 'alice', token: 'x', expiresAt: '2030-01-01T00:00:00.000Z' };

test('session files are readable only by their owner, and no temporary files remain', async (t) => {
  const path = join(await folder(t), 'payctl');
  const sessions = openSessions(path);
  await sessions.saveSession('dev', session);
  await sessions.changeContexts((contexts) => void (contexts.current = 'dev'));
  t.is((await stat(path)).mode & 0o777, 0o700);
  for (const name of await readdir(path)) t.is((await stat(join(path, name))).mode & 0o777, 0o600, name);
  t.deepEqual((await readdir(path)).toSorted(), ['contexts.json', 'credentials.json']);
});

test('files that others can change and tokens that others can read are neither read nor written', async (t) => {
  if (process.platform === 'win32') {
    t.log('Not run: Windows has no such modes.');
    return t.pass();
  }
  const path = await folder(t);
  await openSessions(path).saveSession('dev', session);
  await openSessions(path).changeContexts((contexts) => void (contexts.current = 'dev'));
  const [contexts, credentials] = [join(path, 'contexts.json'), join(path, 'credentials.json')];
  const faults = [
    [credentials, 0o666, 0o600],
    [credentials, 0o640, 0o600],
    [credentials, 0o604, 0o600],
    [contexts, 0o620, 0o644],
    [contexts, 0o602, 0o600],
    [path, 0o777, 0o755],
    [path, 0o720, 0o700],
  ] as const;
  for (const [place, mode, good] of faults) {
    const refusal = {
      code: 'file_not_private',
      message: `${place} is accessible to other users (mode 0${mode.toString(8)}).`,
    };
    await chmod(place, mode);
    const sessions = openSessions(path);
    const works = [
      ...(place === contexts ? [] : [() => sessions.session('dev'), () => sessions.saveSession('dev', session)]),
      ...(place === contexts ? [() => sessions.changeContexts(() => {})] : []),
      ...(place === credentials ? [] : [() => sessions.contexts()]),
      () => sessions.prove(),
    ];
    for (const work of works) {
      const error = await t.throwsAsync(work(), refusal);
      t.is((error as CliError).options.hint, `chmod go= ${place}`);
    }
    t.is((await stat(place)).mode & 0o777, mode, 'it is left as it was');
    await chmod(place, good);
    t.like(await sessions.session('dev'), session);
    t.is((await sessions.contexts()).current, 'dev');
  }
});

test('files of another user are refused', async (t) => {
  if (process.geteuid?.() !== 0) {
    t.log('Not run: only root may give files away.');
    return t.pass();
  }
  const path = await folder(t);
  await openSessions(path).saveSession('dev', session);
  for (const place of [path, join(path, 'credentials.json')]) {
    await chown(place, 4711, 4711);
    const error = await t.throwsAsync(openSessions(path).session('dev'), {
      message: `${place} belongs to another user (uid 4711).`,
    });
    t.is((error as CliError).options.hint, `chown 0 ${place}`);
    await chown(place, 0, 0);
  }
  t.like(await openSessions(path).session('dev'), session);
});

test('twenty concurrent changes are all stored', async (t) => {
  const path = await folder(t);
  await Promise.all(Array.from({ length: 20 }, (_, index) => openSessions(path).saveSession(`c${index}`, session)));
  const sessions = openSessions(path);
  for (let index = 0; index < 20; index += 1) t.truthy(await sessions.session(`c${index}`));
});

test('the stale lock of a killed process is removed', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, '.lock'), '');
  await utimes(join(path, '.lock'), new Date(0), new Date(0));
  await openSessions(path).saveSession('dev', session);
  t.truthy(await openSessions(path).session('dev'));
});

test('an invalid file is named', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, 'contexts.json'), '{');
  await t.throwsAsync(openSessions(path).contexts(), { message: /contexts\.json is not valid JSON/ });
});

test('the folder: PAYCTL_CONFIG_DIR, then XDG_CONFIG_HOME, then ~/.config', (t) => {
  t.is(configFolder({ PAYCTL_CONFIG_DIR: '/a', XDG_CONFIG_HOME: '/b', HOME: '/h' }).path, '/a');
  t.is(configFolder({ XDG_CONFIG_HOME: '/b', HOME: '/h' }).path, '/b/payctl');
  t.is(configFolder({ HOME: '/h' }).path, '/h/.config/payctl');
});
