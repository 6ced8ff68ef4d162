// Figures of the metrics and of the live feed; each is bounded, whatever the database holds.

import { sql } from 'kysely';
import type { PayWay } from '../../domain.ts';
import { ORDER_STATUS } from '../entities/orders.ts';
import type { ReplicaRow } from '../entities/service.ts';
import { asJson, type Sql } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { type EventFilter, settledHead } from './events.ts';

/** Of anything no more rows are counted: a figure must not cost more than it tells. */
export const MOST_COUNTED = 10_000;

/** What waits for people and for receivers, and what time the database has. */
interface WaitingFigures {
  exceptions: { kind: string; count: number }[];
  /** Deliveries that were never tried, those that are tried again, and of the last that ended within a day those that were given up. */
  deliveries: { waiting: number; retrying: number; failed: number };
  at: Date;
}

/** Counts what waits, by indexes and at most `MOST_COUNTED` rows of each, in one statement. */
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

/** When the first default certificate of a kind ends, over all projects whose channel is enabled; `simulated` = those of the simulator, too. */
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

/** Most deliveries that are counted of one application, and most applications. */
export const MOST_WAITING = 1_000;
const MOST_APPS = 100;
const MOST_EXCEPTIONS = 1_000;
/** The newest notices, among which the last one of each channel is looked for. */
const NEWEST_NOTIFICATIONS = 1_000;

/** Statuses of orders that are not over. */
export const OPEN_STATUSES = ['created', 'pending', 'closing'] as const;

/** An instant as milliseconds. */
const ms = (column: string): Sql => sql`(extract(epoch from ${sql.raw(column)}) * 1000)::float8`;

/** Open orders of one status and currency; `seen` counts those of the simulator, too. */
export interface OpenOrders {
  status: string;
  currency: string;
  count: number;
  seen: number;
  minor: string;
}

/** Answered by the index orders_status: of each status the newest, so many at most. */
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

/** Deliveries of one application that wait; `oldest` is the time of the oldest among those that were counted. */
export interface WaitingDeliveries {
  clientId: string;
  name: string | null;
  count: number;
  failing: number;
  oldest: number;
}

/** Answered by the index deliveries_open: one look for each application, and so many rows of each at most. */
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

/** Open exceptions of one kind among the newest. */
export interface OpenExceptions {
  kind: string;
  count: number;
  oldest: number;
  newest: number;
}

/** Answered by the index of states of exceptions. */
export function openExceptionsStatement(): Sql {
  return sql`select kind, count(*)::int as count, ${ms('min(created_at)')} as oldest, ${ms('max(created_at)')} as newest
            from (select kind, created_at from order_exceptions where state = 'open'
                   order by created_at desc, id desc limit ${MOST_EXCEPTIONS + 1}) e
           group by kind order by kind`;
}

/** One of the newest open exceptions. */
export interface OpenException {
  id: string;
  kind: string;
  orderNo: string;
  refundNo: string | null;
  at: number;
}

/** Answered by the index of states of exceptions. */
export function newestExceptionsStatement(rows: number): Sql {
  return sql`select id::text as id, kind, order_no, refund_no, ${ms('created_at')} as at from order_exceptions
           where state = 'open' order by created_at desc, id desc limit ${rows}`;
}

/** When a channel last answered and last sent a notice, as far as the database knows. */
export interface ChannelActivity {
  payWay: string;
  answered: number | null;
  noticed: number | null;
}

/** Answered by the few rows of channel_states and by the index notices_received_at_index. */
export function channelActivityStatement(): Sql {
  return sql`select coalesce(c.pay_way, n.pay_way) as pay_way, c.answered, n.noticed
            from (select pay_way, ${ms('max(last_success_at)')} as answered from channel_states group by pay_way) c
            full join (select pay_way, ${ms('max(received_at)')} as noticed
                         from (select pay_way, received_at from notifications order by received_at desc limit ${NEWEST_NOTIFICATIONS}) m
                        group by pay_way) n on n.pay_way = c.pay_way`;
}

/** A process that reported itself lately, and seconds since then. */
export type SeenReplica = Pick<ReplicaRow, 'id' | 'host' | 'pid' | 'worker' | 'version' | 'figures'> & {
  started: number;
  silent: number;
};

/** Processes that reported themselves within so many seconds, by the database's clock. */
export function listReplicas(tx: ReadTx, seconds: number): Promise<SeenReplica[]> {
  return tx.sql`
    select id::text as id, host, pid, worker, version, figures, ${ms('started_at')} as started,
           extract(epoch from clock_timestamp() - seen_at)::float8 as silent
      from replicas where seen_at > clock_timestamp() - make_interval(secs => ${seconds})
     order by host, worker nulls first, started_at`;
}

/** What a process reports. */
type Report = Omit<ReplicaRow, 'seenAt' | 'followedUntil'>;

/** Writes a report; with `followedSeconds` all others know that somebody follows here. Who was silent for an hour is forgotten. */
export async function reportReplica(tx: Tx, report: Report, followedSeconds: number | null): Promise<void> {
  const { id, host, pid, worker, version, startedAt, figures } = report;
  await tx.sql`
    with gone as (delete from replicas where seen_at < clock_timestamp() - interval '1 hour')
    insert into replicas (id, host, pid, worker, version, started_at, seen_at, followed_until, figures)
    values (${id}::uuid, ${host}, ${pid}, ${worker}, ${version}, ${startedAt}, clock_timestamp(),
            clock_timestamp() + make_interval(secs => ${followedSeconds}::float8), ${asJson(figures)})
    on conflict (id) do update set seen_at = excluded.seen_at, followed_until = excluded.followed_until, figures = excluded.figures`;
}

/** For the look of the scheduler: a number while somebody follows at any process. */
export const FOLLOWED: Sql = sql`(select 1::float8 from replicas where followed_until > clock_timestamp() limit 1)`;

/** As much of an event as the live feed shows. */
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

/** Longest text of a merchant that is shown, in characters. */
const MOST_SUBJECT = 80;

const MINOR = sql`coalesce(payload->>'amountMinor', payload->>'refundAmountMinor')`;

const SHOWN = sql`sequence, type, object_no, client_id, project, created_at, payload->>'orderNo' as order_no,
  payload->>'payWay' as pay_way, ${MINOR} as minor, payload->>'currency' as currency,
  left(payload->>'subject', ${sql.lit(MOST_SUBJECT)}) as subject`;

/** Events after a number in the order of the log, as `listEvents`; the live feed has no filter. */
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

/** The newest events up to a number, oldest first. */
export async function newestLiveEvents(tx: ReadTx, upTo: bigint, rows: number): Promise<LiveEvent[]> {
  const newest = sql`select ${SHOWN} from events where sequence <= ${upTo} order by sequence desc limit ${rows}`;
  return (await tx.sql<LiveEvent>`${newest}`).toReversed();
}

/** Events of one type and currency in one minute, and of all that were read how many and since when. */
export interface PastEvents {
  type: string;
  currency: string | null;
  minute: number;
  count: number;
  minor: string;
  seen: number;
  oldest: number;
}

/** Answered by the key of the log: what the newest events up to a number, so many at most, were since an instant. */
export function pastEventsStatement(upTo: bigint, since: Date): Sql {
  return sql`with newest as materialized (
            select type, created_at, payload->>'currency' as currency, ${MINOR} as minor from events
             where sequence <= ${upTo} order by sequence desc limit ${MOST_COUNTED})
          select type, currency, floor(extract(epoch from created_at) / 60)::int as minute, count(*)::int as count,
                 coalesce(sum(cast(minor as numeric)), 0)::text as minor,
                 (select count(*)::int from newest) as seen, (select ${ms('min(created_at)')} from newest) as oldest
            from newest where created_at >= ${since}::timestamptz group by type, currency, minute`;
}
