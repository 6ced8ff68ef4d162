import test, { type ExecutionContext } from 'ava';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../server/db/orm.ts';
import { backup } from '../../server/offline/copy.ts';
import { bundled } from '../support/built.ts';
import { temporaryFolder } from '../support/folder.ts';
import { keptFolder } from '../support/kept.ts';
import { until } from '../support/service.ts';

const HOLD = await bundled(fileURLToPath(new URL('./hold-folder.ts', import.meta.url)));
const PAYCTL = await bundled(fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url)));

test("a second server on the folder is refused and shown the holder's process id, by path, symbolic link and within one process", async (t) => {
  const { folder, link } = await usedPlaces(t);
  const holder = await hold(t, [process.execPath, HOLD, folder]);
  for (const path of [folder, link]) {
    const { code, stderr } = await migrate(t, path);
    t.is(code, 7);
    const lines = stderr.trim().split('\n');
    t.regex(lines[0]!, new RegExp(`in use by process ${holder.pid} on host ${hostname()} since 20\\d\\d-.*Z`));
    t.notRegex(stderr, /object Object|unexpected/);
  }
  await told(holder, 'close');
  const database = await open(folder);
  await t.throwsAsync(open(link), {
    message: new RegExp(`in use by process ${process.pid} `),
    code: 'database_in_use',
  });
  t.is((await migrate(t, link)).code, 7, 'a refusal in the same process releases no lock');
  await database.close();
  await (await open(link)).close();
});

test('a backup of the open database keeps the lock and contains no lock file', async (t) => {
  const { folder, link } = await usedPlaces(t);
  const database = await open(folder);
  const target = join(temporaryFolder(t), 'backup.tar.gz');
  await backup(database, target);
  t.is((await migrate(t, link)).code, 7);
  const names = execFileSync('tar', ['tzf', target], { encoding: 'utf8' });
  t.regex(names, /PG_VERSION/);
  t.notRegex(names, /service\.lock/);
  await database.close();
});

test('a server in another mount and process namespace is refused on the same folder', async (t) => {
  const { folder } = await usedPlaces(t);
  const mounted = join(temporaryFolder(t), 'mounted');
  mkdirSync(mounted);
  const apart = (run: string) => [
    'unshare',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    'sh',
    '-c',
    `mount --bind "$0" "$1" && ${run}`,
    folder,
    mounted,
    process.execPath,
    HOLD,
  ];
  if (!(await permitted(apart('true')))) {
    t.log('unshare is not permitted here: not tested');
    t.pass();
    return;
  }
  const inside = await hold(t, apart('exec "$2" "$3" "$1"'));
  const refused = await t.throwsAsync(open(folder), { code: 'database_in_use' });
  t.regex(refused?.message ?? '', /in use by process \d+ on host /);
  inside.kill('SIGKILL');
  await once(inside, 'exit');
  // The kernel ends the processes of the namespace after the killed one.
  const database = await until('the folder is free', () => open(folder).catch(() => undefined));
  const second = spawn(...command(apart('exec "$2" "$3" "$1"')), { stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => void second.kill('SIGKILL'));
  t.regex(await text(second.stderr!), new RegExp(`in use by process ${process.pid} on host`));
  await database.close();
});

/** The folder is readable by others at first and private afterwards. */
test('one of four servers that start at once on a new folder comes up, and after kill -9 the next starts at once', async (t) => {
  const { folder, link } = places(t);
  mkdirSync(folder, { mode: 0o755 });
  chmodSync(folder, 0o755);
  const starts = Array.from({ length: 4 }, (_, index) => start(t, index % 2 === 0 ? folder : link));
  const first = await Promise.all(starts.map(async (child) => ({ child, said: await firstLine(child) })));
  const up = first.filter(({ said }) => said === 'held');
  t.is(up.length, 1);
  for (const { said } of first) if (said !== 'held') t.regex(said, /FolderHeld: .* in use by /);
  const ended = once(up[0]!.child, 'exit');
  up[0]!.child.kill('SIGKILL');
  await ended;
  const database = await open(folder);
  await database.close();
  t.is(statSync(folder).mode & 0o777, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    t.is(statSync(path).mode & 0o077, 0, path);
  }
});

test('a symbolic link to a missing folder is refused: an unmounted volume is no new database', async (t) => {
  const { folder, link } = places(t);
  await t.throwsAsync(open(link), { code: 'folder_unusable' });
  t.false(existsSync(folder));
});

/** A folder with an existing database: creating one takes five seconds of processor time. */
async function usedPlaces(t: ExecutionContext): Promise<{ folder: string; link: string }> {
  const used = await keptFolder('embedded-folder', async (made) => {
    await (await open(join(made, 'data'))).close();
  });
  const { folder, link } = places(t);
  cpSync(join(used, 'data'), folder, { recursive: true });
  return { folder, link };
}

function places(t: ExecutionContext): { folder: string; link: string } {
  const place = temporaryFolder(t);
  const folder = join(place, 'data');
  const link = join(place, 'link');
  symlinkSync(folder, link);
  return { folder, link };
}

function open(folder: string) {
  return openDatabase({ kind: 'pglite', url: `pglite://${folder}`, folder });
}

function command([program = '', ...rest]: string[]): [string, string[]] {
  return [program, rest];
}

function start(t: ExecutionContext, folder: string): ChildProcess {
  const child = spawn(process.execPath, [HOLD, folder], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => void child.kill('SIGKILL'));
  return child;
}

async function hold(t: ExecutionContext, words: string[]): Promise<ChildProcess> {
  const child = spawn(...command(words), { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => void child.kill('SIGKILL'));
  t.is(await firstLine(child), 'held');
  return child;
}

async function told(child: ChildProcess, what: string): Promise<void> {
  const ended = once(child, 'exit');
  child.stdin!.write(what);
  await ended;
}

/** The first line of a holder: `held`, or the reason of the refusal. */
async function firstLine(child: ChildProcess): Promise<string> {
  const held = once(child.stdout!, 'data').then(([data]) => String(data).trim());
  return Promise.race([held, text(child.stderr!)]);
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = '';
  for await (const part of stream) all += String(part);
  return all;
}

async function permitted(words: string[]): Promise<boolean> {
  const child = spawn(...command(words), { stdio: 'ignore' });
  const ended = once(child, 'exit').then(([code]) => code === 0);
  return Promise.race([ended, once(child, 'error').then(() => false)]);
}

async function migrate(t: ExecutionContext, folder: string): Promise<{ code: number; stderr: string }> {
  const child = spawn(process.execPath, [PAYCTL, 'server', 'migrate'], {
    cwd: temporaryFolder(t),
    env: { ...process.env, PAY_DATABASE_URL: `pglite://${folder}`, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  const stderr = await text(child.stderr);
  const [code] = (await ended) as [number];
  return { code, stderr };
}
