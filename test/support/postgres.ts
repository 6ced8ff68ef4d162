import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A running PostgreSQL: the administrator's address, and how to end it. */
export interface TestPostgres {
  url: string;
  stop: () => Promise<void>;
  /** Ends it as `pg_ctl -m immediate` does; what was committed is on disk only when it is durable. */
  die: () => Promise<void>;
  /** Brings it back on the same data and port, once it died. */
  start: () => Promise<void>;
  /** Makes a hot standby beside it; gives its administrator's address. */
  standby: () => Promise<string>;
}

/** How a PostgreSQL of a test's own is started. */
interface PostgresOptions {
  /** Keeps fsync on, for measurements. */
  durable?: boolean;
  /** Its log can be decoded by others. */
  logical?: boolean;
  /** The disk on which its data are to lie; where there is room for it, those of tests lie in memory. */
  disk?: string;
  /** What else its starter finds in its environment. */
  environment?: Record<string, string>;
}

/** Starts a PostgreSQL that ends with this process at the latest. */
export async function startPostgres({
  durable = false,
  logical = false,
  disk,
  environment = {},
}: PostgresOptions = {}): Promise<TestPostgres> {
  const program = fileURLToPath(new URL('postgres-server.ts', import.meta.url));
  // Detached: a Ctrl-C must not reach it before the tests that use it.
  const child = spawn(
    process.execPath,
    [program, ...(durable ? ['--durable'] : []), ...(logical ? ['--logical'] : []), ...(disk ? ['--on-disk'] : [])],
    {
      detached: true,
      env: { ...process.env, ...(disk && { TMPDIR: disk }), ...environment },
      stdio: 'pipe',
    },
  );
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout);
  const [url] = (await Promise.race([once(lines, 'line'), ended])) as [unknown];
  if (typeof url !== 'string') throw new Error(`The PostgreSQL of the tests did not start:\n${complaint}`);
  /** Nobody is kept from ending by it, but whoever waits for its word. */
  const hold = (how: 'ref' | 'unref') => {
    child[how]();
    for (const stream of child.stdio) (stream as Partial<Socket> | null)?.[how]?.();
  };
  hold('unref');
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await ended;
  };
  const tell = (word: string) => async () => {
    hold('ref');
    const answered = Promise.race([once(lines, 'line'), ended]);
    child.stdin.write(`${word}\n`);
    const [answer] = (await answered) as [unknown];
    hold('unref');
    if (answer !== word) throw new Error(`The PostgreSQL of the tests did not ${word}:\n${complaint}`);
  };
  const standby = async () => {
    hold('ref');
    const answered = Promise.race([once(lines, 'line'), ended]);
    child.stdin.write('standby\n');
    const [address] = (await answered) as [unknown];
    hold('unref');
    if (typeof address !== 'string') throw new Error(`The standby did not start:\n${complaint}`);
    return address;
  };
  return { url, stop, die: tell('die'), start: tell('start'), standby };
}

/** Connections that pg makes to the server's port go through its Unix socket: a statement takes a fifth less processor time. */
export function connectBySocket(url: string): void {
  const address = new URL(url);
  const path = join(tmpdir(), `.s.PGSQL.${address.port}`);
  if (!existsSync(path)) return;
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (this: Socket, ...given: unknown[]) {
    const isOurs = given.length === 2 && given[0] === Number(address.port) && given[1] === address.hostname;
    return Reflect.apply(connect, this, isOurs ? [path] : given);
  } as typeof connect;
}

let own: Promise<TestPostgres> | undefined;

/** The administrator's address of the run's PostgreSQL; a single file that is run alone gets a server of its own. */
export async function testPostgresUrl(): Promise<string> {
  if (process.env.PAY_TEST_POSTGRES) return process.env.PAY_TEST_POSTGRES;
  own ??= startPostgres();
  return (await own).url;
}
