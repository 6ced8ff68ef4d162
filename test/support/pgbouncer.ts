import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** The installed program, or the one that PAY_TEST_PGBOUNCER_BIN names. */
const program = process.env['PAY_TEST_PGBOUNCER_BIN'] ?? 'pgbouncer';

/** Its version, such as 1.24; undefined when it is not installed. */
export function pgbouncerVersion(): string | undefined {
  const { stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return error ? undefined : /PgBouncer (\d+\.\d+)/.exec(stdout)?.[1];
}

/** A PgBouncer in transaction mode in front of a PostgreSQL. */
interface TestPooler {
  /** The address of a database through the pooler. */
  at(url: string): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer with its defaults, a few connections and the given settings; it ends with this process. */
export async function startPgbouncer(
  postgresUrl: string,
  { connections = 4, more = [] }: { connections?: number; more?: readonly string[] } = {},
): Promise<TestPooler> {
  const folder = mkdtempSync(join(tmpdir(), 'pay-test-pgbouncer-'));
  const port = await freePort();
  const { hostname, port: behind, username, password } = new URL(postgresUrl);
  const file = join(folder, 'pgbouncer.ini');
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${behind} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${connections}`,
    'max_client_conn = 1000',
    ...more,
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const child = spawn(program, ['-q', file], { ...identity(folder, file), stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-4_000)));
  const ended = once(child, 'close');
  process.once('exit', () => child.kill('SIGKILL'));
  while (!(await answers(port))) if (child.exitCode !== null) throw new Error(`PgBouncer did not start:\n${complaint}`);
  child.unref();
  (child.stderr as unknown as { unref?: () => void } | null)?.unref?.();
  return {
    at(url) {
      const pooled = new URL(url);
      pooled.port = String(port);
      return pooled.href;
    },
    async stop() {
      child.ref();
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** PgBouncer refuses to run as root, as PostgreSQL does. */
function identity(...files: string[]): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  const [uid, gid] = [id('-u'), id('-g')];
  for (const file of files) chownSync(file, uid, gid);
  return { uid, gid };
}

function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

let shared: Promise<TestPooler> | undefined;

/** Returns the address through this process's pooler when PAY_TEST_PGBOUNCER is set, so that the whole suite can run with one. */
export async function throughPooler(url: string): Promise<string> {
  if (!process.env['PAY_TEST_PGBOUNCER']) return url;
  shared ??= startPgbouncer(url, { connections: 20 });
  return (await shared).at(url);
}
