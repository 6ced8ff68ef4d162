// Statements of the jobs: due rows and their leases, the rate of calls, and the tasks of the timetable.

import { sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

/** A row that is due is somebody's for this long; who is still at it renews it, or another replica takes it. */
const LEASE_MS = 60_000;

/** A claimed row, in its lane: rows of one lane wait for the same outside party. */
export interface DueRow {
  id: string;
  queueKey: string;
  /** Until when it is the claimer's. */
  lease: Date;
}

/** When something is claimed or renewed, and for how long. */
interface Moment {
  now: Date;
  /** Another length than the service's own; for tests. */
  leaseMs?: number | undefined;
}

/** What to claim of a backlog: of each lane so many rows at most. */
interface Claim extends Moment {
  capacity: ReadonlyMap<string, number>;
}

/** Rows to claim by name, but none of these lanes and groups. */
interface NamedClaim extends Moment {
  ids: readonly string[];
  fullQueues?: readonly string[];
  fullGroups?: readonly string[];
}

/** Rows under way, each with the lease that its claim, or the last renewal, wrote. */
export interface Renewal extends Moment {
  rows: readonly Pick<DueRow, 'id' | 'lease'>[];
}

/**
 * What became of a lease: `renewed` to that instant; `over` when the work itself, or what was heard meanwhile, has planned the row
 * anew; `lost` when somebody else has claimed it; `busy` when the row is locked just now, or gone.
 */
export type Renewed = { kind: 'renewed'; lease: Date } | { kind: 'over' | 'lost' | 'busy' };

/** Rows of one table that can be due. */
export interface DueRows {
  /** The lanes that have rows which are due and nobody's. */
  queues(tx: ReadTx, now: Date): Promise<string[]>;
  /** Leases rows that are due, the oldest of each lane, so that no other replica takes them too; one statement. */
  claim(tx: Tx, claim: Claim): Promise<DueRow[]>;
  /** The same for rows that are named. */
  claimNamed(tx: Tx, claim: NamedClaim): Promise<DueRow[]>;
  /** Prolongs the leases that are still as they were written, in one statement; gives what became of each. */
  renew(tx: Tx, renewal: Renewal): Promise<Renewed[]>;
  /** For how many seconds the oldest row without a lease has been due, as a value in SQL; null for none. */
  oldestLag(now: Date): Sql;
  /** How many rows are due, leased or not, as a value in SQL; the oldest are counted, `MOST_DUE` and one more. */
  dueCount(now: Date): Sql;
  /** How many rows without a lease are due, `MOST_COUNTED` at most, as a value in SQL. */
  waiting(now: Date): Sql;
}

/** More due rows of a kind are not counted. */
export const MOST_DUE = 1_000;

/** A table that can have due rows; the texts are SQL about its row `d`. */
interface DueTable {
  table: string;
  key: string;
  keyType?: 'text' | 'uuid';
  /** When it is due. */
  at: string;
  /** Until when it is somebody's: a column of its own, or `at` itself where a claim puts the attempt off. */
  lease: string;
  /** Which lane a row is in, as the table's index of lanes has it. */
  queueKey: string;
  /** The groups across lanes that a row belongs to, a `text[]`. */
  groups: string;
  /** What the index of lanes covers; only what it covers can be due. */
  covered?: string;
  condition: string;
  /** Which lanes count at all, about their name `s.queueKey`. */
  open?: string;
}

/** The statements over one table. */
function dueRows(due: DueTable): DueRows {
  const { table, key, keyType = 'text', at, lease, groups, condition, open = 'true' } = due;
  const [from, id, type, dueAt, leased] = [table, key, keyType, at, lease].map((text) => sql.raw(text));
  const [queueKey, isOpen, counts, inGroups] = [due.queueKey, open, condition, groups].map((text) => sql.raw(text));
  const hasOwnLease = lease !== at;
  const isCovered = sql.raw(due.covered ?? `d.${at} is not null`);
  const isFree = (now: Sql) => (hasOwnLease ? sql`(d.${leased} is null or d.${leased} <= ${now})` : sql`true`);
  const isReached = (now: Sql) => sql`${isCovered} and d.${dueAt} <= ${now}`;
  const isDue = (now: Sql) => sql`${isReached(now)} and ${isFree(now)} and ${counts}`;
  const picked = sql`select d.${id} as id, ${queueKey} as queue_key from ${from} d`;
  const leasePicked = (until: Sql) => sql`update ${from} t set ${leased} = ${until}
       from picked where t.${id} = picked.id returning picked.id::text as id, ${sql.raw(queueKeyOf(due, 't'))} as queue_key`;
  const withLease = (found: readonly Pick<DueRow, 'id' | 'queueKey'>[], lease: Date): DueRow[] =>
    found.map((row) => ({ ...row, lease }));
  return {
    oldestLag(at) {
      const now = instant(at);
      return sql`(select extract(epoch from ${now} - d.${dueAt})::float8 from ${from} d
                  where ${isDue(now)} order by d.${dueAt} limit 1)`;
    },
    dueCount: (at) => sql`(select count(*)::int from (select ${counts} as counts from ${from} d
                  where ${isReached(instant(at))} order by d.${dueAt} limit ${MOST_DUE + 1}) c where c.counts)`,
    waiting: (at) =>
      sql`(select count(*)::int from (select 1 from ${from} d where ${isDue(instant(at))} limit ${MOST_COUNTED}) n)`,
    // From lane to lane by their index, and in each to the first row that is nobody's: what it costs depends on how many lanes
    // there are, not on how many rows wait in them.
    async queues(tx, at) {
      const now = instant(at);
      const rows = await tx.sql<{ queueKey: string }>`
        with recursive seen(queue_key) as (
          (select ${queueKey} from ${from} d where ${isCovered} order by ${queueKey} limit 1)
          union all
          select (select ${queueKey} from ${from} d where ${isCovered} and ${queueKey} > s.queue_key order by ${queueKey} limit 1)
            from seen s where s.queue_key is not null)
        select s.queue_key from seen s, lateral (
            select d.${dueAt} as at from ${from} d where ${queueKey} = s.queue_key and ${isCovered} and ${isFree(now)} and ${counts}
             order by d.${dueAt} limit 1) first
         where s.queue_key is not null and ${isOpen} and first.at <= ${now}`;
      return rows.map((row) => row.queueKey);
    },
    // Materialized: a plan that evaluates the limited part twice would lease more than the limit.
    async claim(tx, { capacity, ...moment }) {
      const { now, until, lease: ends } = bounds(moment);
      return withLease(
        await tx.sql`
        with picked as materialized (
          select p.id from unnest(${[...capacity.keys()]}::text[], ${[...capacity.values()]}::int[]) as l(queue_key, capacity), lateral (
            ${picked} where ${queueKey} = l.queue_key and ${isDue(now)} order by d.${dueAt} limit l.capacity for update of d skip locked) p)
        ${leasePicked(until)}`,
        ends,
      );
    },
    async claimNamed(tx, { ids, fullQueues = [], fullGroups = [], ...moment }) {
      const { now, until, lease: ends } = bounds(moment);
      return withLease(
        await tx.sql`
        with picked as materialized (
          ${picked} where d.${id} = any(${ids}::${type}[]) and ${isDue(now)}
             and not (${queueKey} = any(${fullQueues}::text[])) and not (${inGroups} && ${fullGroups}::text[])
           order by d.${dueAt} for update of d skip locked)
        ${leasePicked(until)}`,
        ends,
      );
    },
    // Only a claim writes a lease that ends a whole lease after ours; one that the work itself has written ends earlier. Where a
    // claim puts the attempt off, what the work has planned may be as late, so it counts only when ours could have been taken.
    async renew(tx, { rows, ...moment }) {
      const { now, until, lease: ends } = bounds(moment);
      const couldBeTaken = hasOwnLease ? sql`true` : sql`h.lease <= ${until}`;
      const found = await tx.sql<{ place: bigint; became: 'renewed' | 'over' | 'lost' }>`
        with mine as (
          select * from unnest(${rows.map((row) => row.id)}::${type}[], ${rows.map((row) => row.lease)}::timestamptz[])
            with ordinality as m(id, lease, place)),
        held as materialized (
          select m.id, m.place, m.lease as mine, t.${leased} as lease from ${from} t join mine m on m.id = t.${id}
             for update of t skip locked),
        renewed as (
          update ${from} t set ${leased} = ${until} from held h where t.${id} = h.id and h.lease = h.mine returning h.place)
        select h.place,
               case when h.lease = h.mine then 'renewed'
                    when h.lease >= h.mine + (${until} - ${now}) and ${couldBeTaken} then 'lost'
                    else 'over' end as became
          from held h`;
      const became = new Map(found.map((one) => [Number(one.place), one.became]));
      return rows.map((_, place): Renewed => {
        const kind = became.get(place + 1) ?? 'busy';
        return kind === 'renewed' ? { kind, lease: ends } : { kind };
      });
    },
  };

  function bounds({ now, leaseMs = LEASE_MS }: Moment): { now: Sql; until: Sql; lease: Date } {
    const ends = new Date(now.getTime() + leaseMs);
    return { now: instant(now), until: instant(ends), lease: ends };
  }
}

function instant(at: Date): Sql {
  return sql`${at}::timestamptz`;
}

/** The lane of a row by another name than `d`. */
function queueKeyOf({ queueKey }: DueTable, row: string): string {
  return queueKey.replaceAll(/\bd\./g, `${row}.`);
}

/** Orders, by the account at their channel. */
export function dueOrders(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'orders',
    key: 'order_no',
    at: 'next_check_at',
    lease: 'leased_until',
    queueKey: accountOf('d'),
    condition: 'true',
  });
}

/** Refunds, by the account of their order. */
export function dueRefunds(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'refunds',
    key: 'refund_no',
    at: 'next_check_at',
    lease: 'leased_until',
    queueKey: 'd.queue_key',
    condition: 'true',
  });
}

/** Questions about refunds that a channel named, by the account of their order. */
export function dueLookups(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'refund_lookups',
    key: 'id',
    keyType: 'uuid',
    at: 'next_at',
    lease: 'leased_until',
    queueKey: 'd.queue_key',
    covered: `d.state = 'open'`,
    condition: 'true',
  });
}

/** Disputes that are not decided, by the account at their channel. */
export function dueDisputes(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'disputes',
    key: 'dispute_no',
    at: 'next_check_at',
    lease: 'leased_until',
    queueKey: accountOf('d'),
    condition: 'true',
  });
}

/** Bills that are to be asked for, read or compared, by account. */
export function dueBills(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'bills',
    key: 'bill_no',
    at: 'next_check_at',
    lease: 'leased_until',
    queueKey: accountOf('d'),
    condition: 'true',
  });
}

/** Differences between bills and orders that the channel is to be asked about, by the account of the bill. */
export function dueDifferences(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'bill_differences',
    key: 'id',
    keyType: 'uuid',
    at: 'next_check_at',
    lease: 'leased_until',
    queueKey: 'd.queue_key',
    condition: `d.state = 'open'`,
  });
}

/** Pay-per-call fulfilments, by project; their own lease belongs to the work, so the next attempt is put off instead. */
export function dueFulfilments(simulated: boolean): DueRows {
  return dueRows({
    table: 'skill_orders',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    ...ofProjects,
    condition: simulated ? 'true' : `(select o.mode from orders o where o.order_no = d.order_no) <> 'simulator'`,
  });
}

/** Deliveries that are to be confirmed to the channel whose agent paid, by the account of the order. */
export function dueConfirmations(simulated: boolean): DueRows {
  return ofAccounts(simulated, {
    table: 'skill_orders',
    key: 'order_no',
    at: 'confirm_at',
    lease: 'confirm_at',
    queueKey: 'd.queue_key',
    condition: 'true',
  });
}

/** Calls that coins paid and that are not done, by project. */
export function dueCoinCalls(): DueRows {
  return dueRows({
    table: 'coin_calls',
    key: 'order_no',
    at: 'next_attempt_at',
    lease: 'next_attempt_at',
    ...ofProjects,
    condition: 'true',
  });
}

/** Effects of orders that could not be done with their move, by project. */
export function dueEffectRows(): DueRows {
  return dueRows({
    table: 'due_effects',
    key: 'id',
    keyType: 'uuid',
    at: 'next_at',
    lease: 'leased_until',
    ...ofProjects,
    covered: `d.state = 'due'`,
    condition: 'true',
  });
}

/** Deliveries to merchants, by application and receiver; each of the two is a group, for many may send to one that is dead. */
export function dueDeliveries(): DueRows {
  const queueKey = `(d.client_id || ' //' || coalesce(substring(d.url from '^[a-z]+://([^/?#]*)'), ''))`;
  return dueRows({
    table: 'deliveries',
    key: 'id',
    keyType: 'uuid',
    at: 'next_attempt_at',
    lease: 'leased_until',
    queueKey,
    groups: `string_to_array(${queueKey}, ' ')`,
    covered: `d.state = 'pending'`,
    condition: 'true',
  });
}

/** Leases one refund if it is due and nobody has it. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  const claimed = await dueRefunds(true).claimNamed(tx, { now, ids: [refundNo] });
  return claimed.length === 1;
}

/** `oldestLag` of each table, in one statement. */
export function lookForDue(
  tx: ReadTx,
  tables: readonly Pick<DueRows, 'oldestLag'>[],
  now: Date,
): Promise<(number | undefined)[]> {
  return valuesOf(
    tx,
    tables.map(({ oldestLag }) => oldestLag(now)),
  );
}

/** The counts of `DueRows` (`dueCount`, `waiting`) in one statement. */
export async function countDue(tx: ReadTx, counts: readonly Sql[]): Promise<number[]> {
  return (await valuesOf(tx, counts)).map((count) => count ?? 0);
}

async function valuesOf(tx: ReadTx, values: readonly Sql[]): Promise<(number | undefined)[]> {
  if (values.length === 0) return [];
  const columns = values.map((value, at) => sql`${value} as ${sql.ref(`due${at}`)}`);
  const [row] = await tx.sql<Record<string, number | null>>`select ${sql.join(columns)}`;
  return values.map((_, at) => row?.[`due${at}`] ?? undefined);
}

const ofProjects = { queueKey: 'd.project', groups: `'{}'::text[]` } as const;

/** An account at a channel, as `queueKeyOf` of payments/numbers.ts names it. */
function accountOf(row: string): string {
  return `(${row}.pay_way || ' ' || ${row}.mode || ' ' || ${row}.account)`;
}

/** A channel is a group of its accounts. Without `simulated` those of the simulator are frozen. */
function ofAccounts(simulated: boolean, table: Omit<DueTable, 'groups'>): DueRows {
  const part = (queueKey: string, place: number) => `split_part(${queueKey}, ' ', ${place})`;
  const groups = `array[${part(table.queueKey, 1)}]`;
  if (simulated) return dueRows({ ...table, groups });
  const isLive = (queueKey: string) => `${part(queueKey, 2)} <> 'simulator'`;
  return dueRows({
    ...table,
    groups,
    condition: `${table.condition} and ${isLive(table.queueKey)}`,
    open: isLive('s.queue_key'),
  });
}

/**
 * Books calls of lanes that are made now at so many a second; gives the instants up to which each lane is booked (ms). The calls of a lane are
 * a row of `rate_limits`, whichever replica makes them; `expire` is the instant up to which they are booked. The rows are locked in the order of
 * their keys, so that two replicas never wait for each other.
 */
export async function bookCalls(
  tx: Tx,
  perSecond: number,
  now: Date,
  calls: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const queues = [...calls.keys()];
  const ms = queues.map((queueKey) => Math.ceil(((calls.get(queueKey) ?? 0) * 1000) / perSecond));
  const at = now.getTime();
  const rows = await tx.sql<{ queueKey: string; expire: bigint }>`
    insert into rate_limits as booked (key, points, expire)
    select 'calls:' || c.queue_key, 0, ${at}::bigint + c.ms
      from unnest(${queues}::text[], ${ms}::bigint[]) as c(queue_key, ms) order by 1
    on conflict (key) do update set expire = greatest(booked.expire, ${at}::bigint) + excluded.expire - ${at}::bigint
    returning substr(key, 7) as queue_key, expire`;
  return new Map(rows.map(({ queueKey, expire }) => [queueKey, Number(expire)]));
}

/**
 * A task of the timetable is a counter in `rate_limits` that may be used once in its period, whichever replica comes
 * first; `expire` is when it is due again.
 */
const keyOf = (task: string): string => `task:${task}`;

/** Takes a task that is due for all replicas together; false when another has it or has done it. */
export async function takeTask(tx: Tx, task: string, now: Date, leasedUntil: Date): Promise<boolean> {
  const taken = await tx.sql`
    insert into rate_limits (key, points, expire) values (${keyOf(task)}, 1, ${leasedUntil.getTime()}::bigint)
      on conflict (key) do update set expire = excluded.expire where rate_limits.expire <= ${now.getTime()}::bigint
    returning key`;
  return taken.length === 1;
}

/** Says when a task is due again. */
export async function planTask(tx: Tx, task: string, at: Date): Promise<void> {
  await tx.sql`update rate_limits set expire = ${at.getTime()}::bigint where key = ${keyOf(task)}`;
}
