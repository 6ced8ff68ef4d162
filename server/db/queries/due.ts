// SQL statements of the background jobs. They find and lease the rows that must be processed now, limit the rate of
// channel calls, and schedule periodic tasks.

import { sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

/** Length of a lease (ms). A replica whose work takes longer renews it; otherwise another replica leases the row. */
const LEASE_MS = 60_000;

/** All rows of a queue depend on the same channel account, webhook receiver or project. */
export interface DueRow {
  id: string;
  queueKey: string;
  /** When the lease expires. */
  lease: Date;
}

interface Moment {
  now: Date;
  /** Length of the lease in tests; absent = `LEASE_MS`. */
  leaseMs?: number | undefined;
}

/** A request to lease the due rows that have waited longest, at most `capacity` rows of each queue. */
interface Claim extends Moment {
  capacity: ReadonlyMap<string, number>;
}

/**
 * A request to lease the due rows with these ids, except rows whose queue or group (for example the channel) is full,
 * because this process already runs as many jobs of it as it may.
 */
interface NamedClaim extends Moment {
  ids: readonly string[];
  fullQueues?: readonly string[];
  fullGroups?: readonly string[];
}

/** A request to renew the leases of rows in progress; `lease` is the end of the lease that this replica last wrote. */
export interface Renewal extends Moment {
  rows: readonly Pick<DueRow, 'id' | 'lease'>[];
}

/**
 * The result of renewing one lease. `renewed` = the lease now ends at `lease`. `over` = the lease is not renewed,
 * because the job itself or another transaction has rescheduled the row. `lost` = another replica has leased the row.
 * `busy` = the row is locked or deleted.
 */
export type Renewed = { kind: 'renewed'; lease: Date } | { kind: 'over' | 'lost' | 'busy' };

export interface DueRows {
  /** The queues that have due rows without a lease. */
  queues(tx: ReadTx, now: Date): Promise<string[]>;
  /** Leases the rows of each queue that have been due longest, in one statement. */
  claim(tx: Tx, claim: Claim): Promise<DueRow[]>;
  /** Leases the rows with the given ids. Rows that are not due are not leased. */
  claimNamed(tx: Tx, claim: NamedClaim): Promise<DueRow[]>;
  /** Renews, in one statement, the leases that this replica still holds. Returns the result for each row. */
  renew(tx: Tx, renewal: Renewal): Promise<Renewed[]>;
  /** SQL value: the number of seconds since the oldest unleased row became due; null = no unleased row is due. */
  oldestLag(now: Date): Sql;
  /** SQL value: the number of due rows, with or without a lease. Counts up to `MOST_DUE` + 1. */
  dueCount(now: Date): Sql;
  /** SQL value: the number of due rows without a lease, `MOST_COUNTED` at most. */
  waiting(now: Date): Sql;
}

export const MOST_DUE = 1_000;

/** A table with rows that become due. The texts are SQL; `d` is the alias of the table. */
interface DueTable {
  table: string;
  key: string;
  keyType?: 'text' | 'uuid';
  /** The column with the instant from which the row is due. */
  at: string;
  /** The column with the end of the lease. If it is the same as `at`, a lease also postpones the next attempt. */
  lease: string;
  /** The SQL of a row's queue key: exactly the text of the index, or PostgreSQL does not use the index. */
  queueKey: string;
  /** The SQL of a row's groups, a `text[]`. A group, such as a channel, has its own limit of concurrent jobs. */
  groups: string;
  /** The condition of the partial index on the queue key; absent = `at` is not null. Other rows are never due. */
  covered?: string;
  condition: string;
  /** A condition that selects queues by their key `s.queue_key`; absent = every queue. */
  open?: string;
}

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
    // The recursive query jumps from one queue to the next with the index. In each queue it reads only the first row
    // without a lease. So the cost depends on the number of queues, not on the number of waiting rows.
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
    // The subquery is `materialized`, because a plan that evaluates it twice would lease more rows than the limit.
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
    // The stored lease shows what happened to the row. Unchanged: the lease is renewed. At least one lease length
    // later: another replica has leased the row (`lost`). Any other value: the row was rescheduled (`over`). If lease
    // and due time share one column, a new due time may also be so late. In this case the row is `lost` only if the
    // lease of this replica had expired.
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

/** The queue key of a row, for a statement in which the table has the alias `row` instead of `d`. */
function queueKeyOf({ queueKey }: DueTable, row: string): string {
  return queueKey.replaceAll(/\bd\./g, `${row}.`);
}

/** Orders that must be queried or closed at the channel now. The queue is the channel account. */
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

/** Refunds that must be sent to the channel or queried now. The queue is the channel account. */
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

/** Refunds that the channel reported and about which it must be queried now. The queue is the channel account. */
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

/** Open disputes about which the channel must be queried now. The queue is the channel account. */
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

/** Bills that must be downloaded, read or compared. The queue is the channel account. */
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

/** Differences about which the channel must be queried. The queue is the channel account of the bill. */
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

/**
 * Paid calls of a skill that must be delivered now. The queue is the project. The column `next_attempt_at` is also the
 * lease, so leasing a row postpones its next attempt.
 */
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

/** Pay-per-call orders whose delivery must be confirmed to the channel now. The queue is the channel account. */
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

/** Finds and leases the unfinished calls that were paid with coins. The calls of one project form a queue. */
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

/**
 * Finds and leases side effects of order changes. They failed before, or they wait for an earlier side effect of the
 * same order. The queue is the project.
 */
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

/**
 * Webhook deliveries that must be sent now. The queue is the pair of application and receiver. The application and the
 * receiver also have limits of their own (groups), because many applications may use one receiver that fails.
 */
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

/** Leases one refund. Returns false if the refund is not due or already has a lease. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  const claimed = await dueRefunds(true).claimNamed(tx, { now, ids: [refundNo] });
  return claimed.length === 1;
}

/** For each table, how long its oldest unleased row has been due (in seconds); undefined = no such row. */
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

/** Reads several row counts (the SQL values `dueCount` and `waiting`) in one statement. */
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

/** SQL: the channel account of a row, in the format of `queueKeyOf` (payments/numbers.ts). */
function accountOf(row: string): string {
  return `(${row}.pay_way || ' ' || ${row}.mode || ' ' || ${row}.account)`;
}

/** The queue is the channel account, the group the channel. Without `simulated`, the simulator's rows are never due. */
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
 * Reserves time for channel calls, at most `perSecond` calls per queue for all replicas together. Returns for each
 * queue when its reserved time ends (ms since 1970). The rows are locked in the sequence of their keys, so that two
 * replicas never deadlock.
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

/** The key of the row in `rate_limits` that all replicas share; its `expire` is when the task is due again. */
const keyOf = (task: string): string => `task:${task}`;

/** Leases a due task for this replica. Returns false if another replica is running the task or has already run it. */
export async function takeTask(tx: Tx, task: string, now: Date, leasedUntil: Date): Promise<boolean> {
  const taken = await tx.sql`
    insert into rate_limits (key, points, expire) values (${keyOf(task)}, 1, ${leasedUntil.getTime()}::bigint)
      on conflict (key) do update set expire = excluded.expire where rate_limits.expire <= ${now.getTime()}::bigint
    returning key`;
  return taken.length === 1;
}

/** Stores when a scheduled task is due again. */
export async function planTask(tx: Tx, task: string, at: Date): Promise<void> {
  await tx.sql`update rate_limits set expire = ${at.getTime()}::bigint where key = ${keyOf(task)}`;
}
