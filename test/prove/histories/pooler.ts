import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/folder.ts';
import { freePort } from '../../support/free-port.ts';
import { until } from '../../support/service.ts';
import type { Ends } from './ends.ts';

/** Debian's path, which is not in a normal user's PATH. */
const PROGRAM = '/usr/sbin/pgbouncer';

/** Whether the distribution's PgBouncer is installed. */
export function hasPooler(): boolean {
  return spawnSync(PROGRAM, ['--version'], { stdio: 'ignore' }).error === undefined;
}

/** Starts PgBouncer in transaction mode in front of `url`, configured as in the operator's guide; returns its address. */
export async function startPooler(ends: Ends, url: string): Promise<string> {
  const folder = temporaryFolder(ends);
  const { hostname, port, username, password, pathname } = new URL(url);
  const own = await freePort();
  const settings = `[databases]
${pathname.slice(1)} = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
server_login_retry = 1
ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout
`;
  writeFileSync(join(folder, 'users.txt'), `"${username}" "${decodeURIComponent(password)}"\n`);
  writeFileSync(join(folder, 'pgbouncer.ini'), settings);
  // PgBouncer refuses to run as root; the user `nobody` exists everywhere and owns nothing.
  const run = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
  chmodSync(folder, 0o755);
  if (run.uid !== undefined && run.gid !== undefined) chownSync(join(folder, 'users.txt'), run.uid, run.gid);
  const child = spawn(PROGRAM, ['-q', join(folder, 'pgbouncer.ini')], { ...run, stdio: 'ignore' });
  const end = () => void child.kill('SIGKILL');
  ends.teardown(end);
  process.once('exit', end);
  await until('PgBouncer listens', () => listens(own));
  const address = new URL(url);
  address.hostname = '127.0.0.1';
  address.port = String(own);
  return address.href;
}

function idOf(flag: string): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
