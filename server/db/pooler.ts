import { randomUUID } from 'node:crypto';
import { Client, type ClientConfig } from 'pg';

/** Limits of PostgreSQL itself for a session or a transaction (ms; 0 = none). */
export interface Bounds {
  statement: number;
  lock: number;
  idleInTransaction: number;
}

/** PostgreSQL's names of the limits, in its own order of words. */
const NAMES = {
  statement_timeout: 'statement',
  lock_timeout: 'lock',
  idle_in_transaction_session_timeout: 'idleInTransaction',
} as const satisfies Record<string, keyof Bounds>;

/** The statement that tells what a session's limits are. */
export const READ_BOUNDS = `select name, setting from pg_settings where name in ('${Object.keys(NAMES).join("', '")}')`;

/** Reads its answer. */
export function boundsOf(rows: readonly { name: string; setting: string }[]): Bounds {
  const found = new Map(rows.map(({ name, setting }) => [name, Number(setting)]));
  const of = (name: keyof typeof NAMES) => found.get(name) ?? 0;
  return {
    statement: of('statement_timeout'),
    lock: of('lock_timeout'),
    idleInTransaction: of('idle_in_transaction_session_timeout'),
  };
}

/** Whether a session has the limits that it was opened with; a pooler that was told to ignore them takes them away in silence. */
export function hasBounds(found: Bounds, wanted: Bounds): boolean {
  return Object.values(NAMES).every((name) => found[name] === wanted[name]);
}

/** Limits of one transaction, behind the statement that begins it and in the same message. */
export function localBounds(bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `; set local ${name} = ${bounds[of]}`)
    .join('');
}

/** What gives every session of a role its limits, for the operator. */
export function roleBounds(role: string, bounds: Bounds): string {
  return Object.entries(NAMES)
    .map(([name, of]) => `alter role ${role} set ${name} = ${bounds[of]};`)
    .join(' ');
}

/** Whether an error says that somebody between here and PostgreSQL does not take the limits of a session. */
export function refusesBounds(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/.test(error.message);
}

/** Round trips until a connection is found that another client holds; a pooler gives out the one that was used last. */
const TURNS = 8;
/** A pooler with one connection would keep us waiting for it. */
const PATIENCE_MS = 1_000;

/**
 * Whether a named statement is still there when the pooler serves a client by another connection. False when it cannot be told: names
 * only save time.
 */
export async function carriesNames(config: ClientConfig): Promise<boolean> {
  const [one, holder] = [new Client(config), new Client(config)];
  for (const client of [one, holder]) client.on('error', () => {});
  // A name that no other start has left on a connection of the pooler, where it would be found without being carried.
  const name = `pay_probe_${randomUUID()}`;
  const ask = (turn: number) => ({
    name,
    text: 'select pg_backend_pid() as pid, cast($1 as int) as turn',
    values: [turn],
    query_timeout: PATIENCE_MS,
  });
  try {
    await Promise.all([one.connect(), holder.connect()]);
    for (let turn = 0; turn < TURNS; turn += 1) {
      const first = await pidOf(one.query(ask(turn)));
      await holder.query('begin');
      const held = await pidOf(holder.query('select pg_backend_pid() as pid'));
      if (held === first) return (await pidOf(one.query(ask(turn)))) !== first;
      await holder.query('rollback');
    }
    return false;
  } catch {
    return false;
  } finally {
    await Promise.all([one.end(), holder.end()].map((ended) => ended.catch(() => {})));
  }
}

async function pidOf(asked: Promise<{ rows: { pid: number }[] }>): Promise<number | undefined> {
  return (await asked).rows[0]?.pid;
}
