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
  /** Ends it like `pg_ctl -m immediate`; committed data is on disk only when the server is durable. */
  die: () => Promise<void>;
  /** Restarts it on the same data and port after it died. */
  start: () => Promise<void>;
  /** Creates a hot standby and returns its administrator's address. */
  standby: () => Promise<string>;
}

/** How a test's own PostgreSQL is started. */
interface PostgresOptions {
  /** Keeps fsync on, for measurements. */
  durable?: boolean;
  /** Its log can be decoded logically. */
  logical?: boolean;
  /** The disk for its data; by default the data of tests are in memory if there is room. */
  disk?: string;
  /** Further environment variables of its starter. */
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
  /** The process only keeps the event loop alive while an answer is awaited. */
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

/** Uses the Unix socket for pg's connections to the server's port: a statement takes a fifth less processor time. */
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

/** The administrator's address of the run's PostgreSQL; a file that runs alone gets its own server. */
export async function testPostgresUrl(): Promise<string> {
  if (process.env.PAY_TEST_POSTGRES) return process.env.PAY_TEST_POSTGRES;
  own ??= startPostgres();
  return (await own).url;
}
