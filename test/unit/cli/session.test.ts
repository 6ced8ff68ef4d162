import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { configFolder, openSessions } from '../../../cli/session.ts';

async function folder(t: { teardown(work: () => Promise<void>): void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'payctl-sessions-'));
  t.teardown(() => rm(path, { recursive: true }));
  return path;
}

const session = { origin: 'http://127.0.0.1:1', username: 'alice', token: 'x', expiresAt: '2030-01-01T00:00:00.000Z' };

test('files are for their owner only, and nothing is left beside them', async (t) => {
  const path = join(await folder(t), 'payctl');
  const sessions = openSessions(path);
  await sessions.saveSession('dev', session);
  await sessions.changeContexts((contexts) => void (contexts.current = 'dev'));
  t.is((await stat(path)).mode & 0o777, 0o700);
  for (const name of await readdir(path)) t.is((await stat(join(path, name))).mode & 0o777, 0o600, name);
  t.deepEqual((await readdir(path)).toSorted(), ['contexts.json', 'credentials.json']);
});

test('a file that others could read is closed by the next write', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, 'credentials.json'), '{}', { mode: 0o644 });
  await openSessions(path).saveSession('dev', session);
  t.is((await stat(join(path, 'credentials.json'))).mode & 0o777, 0o600);
});

test('twenty changes at once lose nothing', async (t) => {
  const path = await folder(t);
  await Promise.all(Array.from({ length: 20 }, (_, index) => openSessions(path).saveSession(`c${index}`, session)));
  const sessions = openSessions(path);
  for (let index = 0; index < 20; index += 1) t.truthy(await sessions.session(`c${index}`));
});

test('the lock of a killed process does not block for ever', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, '.lock'), '');
  await utimes(join(path, '.lock'), new Date(0), new Date(0));
  await openSessions(path).saveSession('dev', session);
  t.truthy(await openSessions(path).session('dev'));
});

test('a broken file is named', async (t) => {
  const path = await folder(t);
  await writeFile(join(path, 'contexts.json'), '{');
  await t.throwsAsync(openSessions(path).contexts(), { message: /contexts\.json is not valid JSON/ });
});

test('the folder: PAYCTL_CONFIG_DIR, then XDG_CONFIG_HOME, then ~/.config', (t) => {
  t.is(configFolder({ PAYCTL_CONFIG_DIR: '/a', XDG_CONFIG_HOME: '/b', HOME: '/h' }).path, '/a');
  t.is(configFolder({ XDG_CONFIG_HOME: '/b', HOME: '/h' }).path, '/b/payctl');
  t.is(configFolder({ HOME: '/h' }).path, '/h/.config/payctl');
});
