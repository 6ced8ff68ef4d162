// Checks of the database: required features, and free disk space.

import { type Kysely, sql } from 'kysely';
import { Gauge, type Registry } from 'prom-client';
import { LocalError, NO_ROOM } from '../errors.ts';
import { transact } from './kysely.ts';
import type { OpenDatabase } from './orm.ts';

/** The database speaks PostgreSQL's protocol but lacks a feature that correct bookkeeping requires (503). */
class EngineUnsupported extends LocalError {
  constructor(lack: string, cause?: unknown) {
    super('engine_unsupported', 503, `This database cannot be used: ${lack}.`, {
      hint: 'server/db/README.md lists the required features, and the databases that have them.',
      ...(cause !== undefined && { cause }),
    });
  }
}

/**
 * A database probe takes an advisory lock, which PostgreSQL identifies by two integers. This is the first integer. The
 * second one is random, so that replicas that start at the same time do not block each other.
 */
const CLASS = 1_702_258_031;

/** Each probe's key is the error text for the missing feature; a probe is a transaction that changes no data. */
const PROBES: Readonly<Record<string, (db: Kysely<unknown>) => Promise<boolean>>> = {
  'a lock that a transaction holds is not shown by pg_locks, so a reader of the event log could pass a number that is not committed yet':
    async (db) => {
      const key = Math.floor(Math.random() * 0x7fff_ffff);
      await sql`select pg_advisory_xact_lock_shared(cast(${CLASS} as int), cast(${key} as int))`.execute(db);
      const { rows } = await sql<{ held: bigint }>`
        select count(*) as held from pg_locks l
         where l.locktype = 'advisory' and l.objsubid = 2 and cast(l.classid as bigint) = ${CLASS}
           and cast(l.objid as bigint) = ${key} and l.granted
           and l.database = (select d.oid from pg_database d where d.datname = current_database())`.execute(db);
      return rows[0]?.held === 1n;
    },
  'rows cannot be locked with SKIP LOCKED, so two replicas would do the same work': async (db) => {
    await sql`select 1 from rate_limits limit 1 for update skip locked`.execute(db);
    return true;
  },
  'a part of a transaction cannot be rolled back alone (savepoints)': async (db) => {
    await sql`savepoint part`.execute(db);
    await sql`select set_config('pay.probe', 'part', true)`.execute(db);
    await sql`rollback to savepoint part`.execute(db);
    const setting = sql<{ left: string }>`select coalesce(current_setting('pay.probe', true), '') as left`;
    return (await setting.execute(db)).rows[0]?.left === '';
  },
  'how far a sequence is cannot be read, so the end of the event log is unknown': async (db) => {
    const { rows } = await sql`select last_value, is_called from events_sequence_seq`.execute(db);
    return rows.length === 1;
  },
  'a unique index over a part of a table is missing, so an order could be placed twice': async (db) => {
    const { rows } = await sql<{ found: bigint }>`
      select count(*) as found from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relname = 'orders' and i.indisunique and i.indpred is not null and i.indisvalid`.execute(db);
    return rows[0]!.found > 0n;
  },
};

/** Throws EngineUnsupported if a required database feature is missing. The migrations must have run before. */
export async function requireEngine({ em, kind }: OpenDatabase): Promise<void> {
  if (kind !== 'postgres') return;
  for (const [lack, probe] of Object.entries(PROBES)) {
    const begin = em.fork({ useContext: false }).getKysely<unknown>().transaction();
    const isThere = await transact(begin, probe).catch((error: unknown) => {
      if (isOutage(error)) throw error;
      throw new EngineUnsupported(lack, error);
    });
    if (!isThere) throw new EngineUnsupported(lack);
  }
}

/** An outage (connection lost, restart, timeout) does not prove that a feature is missing. */
function isOutage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code !== 'string' || !/^(?:0A|22|25|2B|3|42|F0|HV|P0|XX)/.test(code);
}

interface Fullness {
  noteFailure(error: unknown): void;
  isFull(): boolean;
}

/**
 * For this time (ms) after a failed write, the disk counts as full. Background jobs write continually. If none of their
 * writes fails during this time, there is free space again.
 */
const REMEMBERED_MS = 60_000;

/** Creates the detector of a full disk, which remembers failed writes. Also registers the metric `database_full`. */
export function createFullness(now: () => Date, registry: Registry): Fullness {
  let until = 0;
  const isFull = () => now().getTime() < until;
  const gauge: Gauge = new Gauge({
    name: 'database_full',
    help: '1 while writes fail because the disk of the database is full, otherwise 0.',
    aggregator: 'max',
    registers: [registry],
    collect: () => gauge.set(isFull() ? 1 : 0),
  });
  return {
    isFull,
    noteFailure(error) {
      if (isNoRoom(error)) until = now().getTime() + REMEMBERED_MS;
    },
  };
}

function isNoRoom(error: unknown): boolean {
  for (let depth = 0, current = error; depth < 5 && typeof current === 'object' && current !== null; depth += 1) {
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (NO_ROOM.test(String(code))) return true;
    current = cause;
  }
  return false;
}
