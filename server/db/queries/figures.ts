// Numbers for the metrics and for the live feed of the admin console. Each query reads a limited number of rows.

import { sql } from 'kysely';
import type { PayWay } from '../../domain.ts';
import { ORDER_STATUS } from '../entities/orders.ts';
import type { ReplicaRow } from '../entities/service.ts';
import { asJson, type Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { type EventFilter, settledHead } from './events.ts';

/** The maximum number of rows that a query counts, to limit its cost. */
export const MOST_COUNTED = 10_000;

/** Open exceptions (cases for an operator), unfinished webhook deliveries, and the database's time `at`. */
interface WaitingFigures {
  exceptions: { kind: string; count: number }[];
  /**
   * `waiting` = not yet attempted; `retrying` = after a failed attempt; `failed` = given up within the last day, among
   * the `MOST_COUNTED` deliveries that ended last.
   */
  deliveries: { waiting: number; retrying: number; failed: number };
  at: Date;
}

/** Counts open exceptions and deliveries in one statement, at most `MOST_COUNTED` rows of each kind. */
export async function waitingFigures(tx: ReadTx, now: Date): Promise<WaitingFigures> {
  const open = (tried: string) => sql`(select count(*)::int from (
        select 1 from deliveries where state = 'pending' and attempts ${sql.raw(tried)} limit ${MOST_COUNTED}) d)`;
  const [row] = await tx.sql<WaitingFigures['deliveries'] & { exceptions: Record<string, number> | null; at: Date }>`
    select (select json_object_agg(kind, n) from (
              select kind, count(*) as n from (
                select kind from order_exceptions where state = 'open' limit ${MOST_COUNTED}) e group by kind) k) as exceptions,
           ${open('= 0')} as waiting, ${open('> 0')} as retrying,
           (select count(*)::int from (
              select state, target from deliveries where finished_at > ${now}::timestamptz - interval '1 day'
               order by finished_at desc limit ${MOST_COUNTED}) d where state = 'failed' and target <> 'test') as failed,
           clock_timestamp() as at`;
  const { exceptions, at, ...deliveries } = row!;
  return { exceptions: Object.entries(exceptions ?? {}).map(([kind, count]) => ({ kind, count })), deliveries, at };
}

/**
 * The earliest expiry date by channel and kind of certificate. Only enabled channels count, and only certificates that
 * a configuration uses when it names no other one.
 */
export function firstEnds(tx: ReadTx, simulated: boolean): Promise<{ payWay: PayWay; kind: string; end: Date }[]> {
  return tx.sql`
    select k.pay_way, k.kind, min(k.not_after) as end
      from certs k
      join channel_states s on s.project = k.project and s.pay_way = k.pay_way and s.enabled
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     where k.is_default and k.deleted_at is null and k.not_after is not null
       and (c.mode <> 'simulator' or ${simulated}::boolean)
     group by k.pay_way, k.kind`;
}

export const MOST_WAITING = 1_000;
const MOST_APPS = 100;
const MOST_EXCEPTIONS = 1_000;
/** The last notification of each channel is searched among this many newest notifications. */
const NEWEST_NOTIFICATIONS = 1_000;

export const OPEN_STATUSES = ['created', 'pending', 'closing'] as const;

/** SQL: the instant in a column as milliseconds since 1970. */
const ms = (column: string): Sql => sql`(extract(epoch from ${sql.raw(column)}) * 1000)::float8`;

/**
 * `minor` is the sum of the amounts in minor units. `count` and `minor` may leave out orders of the simulator; `seen`
 * counts all orders.
 */
export interface OpenOrders {
  status: string;
  currency: string;
  count: number;
  seen: number;
  minor: string;
}

/** The statement that counts the newest open orders of each status. It uses the index orders_status. */
export function openOrdersStatement(simulated: boolean): Sql {
  const counts = simulated ? sql`true` : sql`mode <> 'simulator'`;
  const newest = OPEN_STATUSES.map(
    (status) => sql`(select ${sql.lit(status)} as status, currency, amount, ${counts} as counts from orders
         where ${sql.raw(ORDER_STATUS)} = ${sql.lit(status)} order by created_at desc, order_no desc limit ${MOST_COUNTED + 1})`,
  );
  return sql`select status, currency, count(*) filter (where counts)::int as count, count(*)::int as seen,
                 coalesce(sum(amount) filter (where counts), 0)::text as minor
            from (${sql.join(newest, sql` union all `)}) o group by status, currency order by status, currency`;
}

/** `oldest` is the creation time of the oldest counted delivery. */
export interface WaitingDeliveries {
  clientId: string;
  name: string | null;
  count: number;
  failing: number;
  oldest: number;
}

/** Counts pending deliveries per application, with one lookup in the index deliveries_open per application. */
export function waitingDeliveriesStatement(): Sql {
  const next = (after: Sql) =>
    sql`select d.client_id from deliveries d where d.state = 'pending' and ${after} order by d.client_id limit 1`;
  return sql`with recursive apps as (
            select (${next(sql`true`)}) as client_id, 1 as place
            union all
            select (${next(sql`d.client_id > a.client_id`)}), a.place + 1 from apps a
             where a.client_id is not null and a.place < ${MOST_APPS})
          select a.client_id, p.name, w.count, w.failing, w.oldest
            from apps a left join api_apps p on p.client_id = a.client_id
            cross join lateral (
              select count(*)::int as count, count(*) filter (where attempts > 0)::int as failing, ${ms('min(created_at)')} as oldest
                from (select attempts, created_at from deliveries d
                       where d.state = 'pending' and d.client_id = a.client_id limit ${MOST_WAITING + 1}) d) w
           where a.client_id is not null and w.count > 0 order by w.count desc, a.client_id`;
}

/** The number of open exceptions (cases for an operator) of one kind. Only the newest exceptions are counted. */
export interface OpenExceptions {
  kind: string;
  count: number;
  oldest: number;
  newest: number;
}

/** The statement that counts the newest open exceptions by kind. It uses the index on `state`. */
export function openExceptionsStatement(): Sql {
  return sql`select kind, count(*)::int as count, ${ms('min(created_at)')} as oldest, ${ms('max(created_at)')} as newest
            from (select kind, created_at from order_exceptions where state = 'open'
                   order by created_at desc, id desc limit ${MOST_EXCEPTIONS + 1}) e
           group by kind order by kind`;
}

export interface OpenException {
  id: string;
  kind: string;
  orderNo: string;
  refundNo: string | null;
  at: number;
}

/** The statement that lists the newest open exceptions. It uses the index on `state`. */
export function newestExceptionsStatement(rows: number): Sql {
  return sql`select id::text as id, kind, order_no, refund_no, ${ms('created_at')} as at from order_exceptions
           where state = 'open' order by created_at desc, id desc limit ${rows}`;
}

/** When the database last recorded a response and a notification of a channel. */
export interface ChannelActivity {
  payWay: string;
  answered: number | null;
  noticed: number | null;
}

/** The statement that reads `ChannelActivity` from the few rows of channel_states and from the newest notifications. */
export function channelActivityStatement(): Sql {
  return sql`select coalesce(c.pay_way, n.pay_way) as pay_way, c.answered, n.noticed
            from (select pay_way, ${ms('max(last_success_at)')} as answered from channel_states group by pay_way) c
            full join (select pay_way, ${ms('max(received_at)')} as noticed
                         from (select pay_way, received_at from notifications order by received_at desc limit ${NEWEST_NOTIFICATIONS}) m
                        group by pay_way) n on n.pay_way = c.pay_way`;
}

/** A process that has reported recently; `silent` = seconds since its last report. */
export type SeenReplica = Pick<ReplicaRow, 'id' | 'host' | 'pid' | 'worker' | 'version' | 'figures'> & {
  started: number;
  silent: number;
};

/** The processes that reported within the last `seconds`, by the database's clock. */
export function listReplicas(tx: ReadTx, seconds: number): Promise<SeenReplica[]> {
  return tx.sql`
    select id::text as id, host, pid, worker, version, figures, ${ms('started_at')} as started,
           extract(epoch from clock_timestamp() - seen_at)::float8 as silent
      from replicas where seen_at > clock_timestamp() - make_interval(secs => ${seconds})
     order by host, worker nulls first, started_at`;
}

type Report = Omit<ReplicaRow, 'seenAt' | 'followedUntil'>;

/** Stores a process's report. For `followedSeconds` it counts as having live feed subscribers; null = it has none. */
export async function reportReplica(tx: Tx, report: Report, followedSeconds: number | null): Promise<void> {
  const { id, host, pid, worker, version, startedAt, figures } = report;
  await tx.sql`
    with gone as (delete from replicas where seen_at < clock_timestamp() - interval '1 hour')
    insert into replicas (id, host, pid, worker, version, started_at, seen_at, followed_until, figures)
    values (${id}::uuid, ${host}, ${pid}, ${worker}, ${version}, ${startedAt}, clock_timestamp(),
            clock_timestamp() + make_interval(secs => ${followedSeconds}::float8), ${asJson(figures)})
    on conflict (id) do update set seen_at = excluded.seen_at, followed_until = excluded.followed_until, figures = excluded.figures`;
}

/** SQL value: 1 while any process has subscribers of the live feed, otherwise null. */
export const FOLLOWED: Sql = sql`(select 1::float8 from replicas where followed_until > clock_timestamp() limit 1)`;

export interface LiveEvent {
  sequence: bigint;
  type: string;
  objectNo: string;
  orderNo: string | null;
  clientId: string;
  project: string;
  payWay: string | null;
  minor: string | null;
  currency: string | null;
  subject: string | null;
  createdAt: Date;
}

const MOST_SUBJECT = 80;

const MINOR = sql`coalesce(payload->>'amountMinor', payload->>'refundAmountMinor')`;

const SHOWN = sql`sequence, type, object_no, client_id, project, created_at, payload->>'orderNo' as order_no,
  payload->>'payWay' as pay_way, ${MINOR} as minor, payload->>'currency' as currency,
  left(payload->>'subject', ${sql.lit(MOST_SUBJECT)}) as subject`;

/**
 * Like `listEvents`, but reads only the columns that the live feed shows. The filter is not used, because the live feed
 * shows all events.
 */
export async function listLiveEvents(
  tx: ReadTx,
  _filter: EventFilter,
  after: bigint,
  rows: number,
  settled?: bigint,
): Promise<LiveEvent[]> {
  const head = settled ?? (await settledHead(tx));
  if (head <= after) return [];
  return tx.sql`select ${SHOWN} from events where sequence > ${after} and sequence <= ${head} order by sequence limit ${rows}`;
}

/** The newest events up to the sequence number `upTo`, oldest first. */
export async function newestLiveEvents(tx: ReadTx, upTo: bigint, rows: number): Promise<LiveEvent[]> {
  const newest = sql`select ${SHOWN} from events where sequence <= ${upTo} order by sequence desc limit ${rows}`;
  return (await tx.sql<LiveEvent>`${newest}`).toReversed();
}

/**
 * `minor` is the sum of the amounts in minor units. `seen` is the number of all events that the statement has read, and
 * `oldest` is the time of the oldest one (ms since 1970). Each row contains the same `seen` and `oldest`.
 */
export interface PastEvents {
  type: string;
  currency: string | null;
  minute: number;
  count: number;
  minor: string;
  seen: number;
  oldest: number;
}

/** Counts events by minute: the newest events up to `upTo`, without events before `since`. It uses the primary key. */
export function pastEventsStatement(upTo: bigint, since: Date): Sql {
  return sql`with newest as materialized (
            select type, created_at, payload->>'currency' as currency, ${MINOR} as minor from events
             where sequence <= ${upTo} order by sequence desc limit ${MOST_COUNTED})
          select type, currency, floor(extract(epoch from created_at) / 60)::int as minute, count(*)::int as count,
                 coalesce(sum(cast(minor as numeric)), 0)::text as minor,
                 (select count(*)::int from newest) as seen, (select ${ms('min(created_at)')} from newest) as oldest
            from newest where created_at >= ${since}::timestamptz group by type, currency, minute`;
}
