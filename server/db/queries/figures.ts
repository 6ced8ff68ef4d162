// Figures of the metrics and of the live feed; each is bounded, whatever the database holds.

import type { PayWay } from '../../domain.ts';
import { ORDER_STATUS } from '../entities/orders.ts';
import type { ReplicaRow } from '../entities/service.ts';
import type { ReadTx, Tx } from '../store.ts';
import { type EventFilter, settledHead } from './events.ts';
import type { Statement } from './orders.ts';

/** Of anything no more rows are counted: a figure must not cost more than it tells. */
export const MOST_COUNTED = 10_000;

/** What waits for people and for receivers, and what time the database has. */
interface WaitingFigures {
  exceptions: { kind: string; count: number }[];
  /** Deliveries that were never tried, those that are tried again, and of the last that ended within a day those that were given up. */
  deliveries: { waiting: number; retrying: number; failed: number };
  at: Date;
}

interface Raw {
  exceptions: Record<string, number> | null;
  waiting: number;
  retrying: number;
  failed: number;
  at: string;
}

/** Counts what waits, by indexes and at most `MOST_COUNTED` rows of each, in one statement. */
export async function waitingFigures(tx: ReadTx, now: Date): Promise<WaitingFigures> {
  const open = (tried: string) =>
    `(select count(*)::int from (
        select 1 from deliveries where state = 'pending' and attempts ${tried} limit ${MOST_COUNTED}) d)`;
  const [row] = await tx.prepared<Raw>(
    `select (select json_object_agg(kind, n) from (
               select kind, count(*) as n from (
                 select kind from order_exceptions where state = 'open' limit ${MOST_COUNTED}) e group by kind) k) as exceptions,
            ${open('= 0')} as waiting, ${open('> 0')} as retrying,
            (select count(*)::int from (
               select state, target from deliveries where finished_at > cast($1 as timestamptz) - interval '1 day'
                order by finished_at desc limit ${MOST_COUNTED}) d where state = 'failed' and target <> 'test') as failed,
            clock_timestamp()::text as at`,
    [now],
  );
  const { exceptions, waiting = 0, retrying = 0, failed = 0, at = '' } = row ?? {};
  return {
    exceptions: Object.entries(exceptions ?? {}).map(([kind, count]) => ({ kind, count })),
    deliveries: { waiting, retrying, failed },
    at: new Date(at),
  };
}

/** When the first default certificate of a kind ends, over all projects whose channel is enabled; `simulated` = those of the simulator, too. */
export function firstEnds(tx: ReadTx, simulated: boolean): Promise<{ payWay: PayWay; kind: string; end: string }[]> {
  return tx.prepared(
    `select k.pay_way as "payWay", k.kind, min(k.not_after)::text as end
       from certs k
       join channel_states s on s.project = k.project and s.pay_way = k.pay_way and s.enabled
       join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.is_default and k.deleted_at is null and k.not_after is not null
        and (c.mode <> 'simulator' or cast($1 as boolean))
      group by k.pay_way, k.kind`,
    [simulated],
  );
}

/** Most deliveries that are counted of one application, and most applications. */
export const MOST_WAITING = 1_000;
const MOST_APPS = 100;
const MOST_EXCEPTIONS = 1_000;
/** The newest notices, among which the last one of each channel is looked for. */
const NEWEST_NOTICES = 1_000;

/** Statuses of orders that are not over. */
export const OPEN_STATUSES = ['created', 'pending', 'closing'] as const;

/** An instant as milliseconds, whichever database says it. */
const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

/** Open orders of one status and currency; `seen` counts those of the simulator, too. */
export interface OpenOrders {
  status: string;
  currency: string;
  count: number;
  seen: number;
  minor: string;
}

/** Answered by the index orders_status: of each status the newest, so many at most. */
export function openOrdersStatement(simulated: boolean): Statement {
  const newest = OPEN_STATUSES.map(
    (status) =>
      `(select '${status}' as status, currency, amount, ${simulated ? 'true' : `mode <> 'simulator'`} as counts from orders
         where ${ORDER_STATUS} = '${status}' order by created_at desc, order_no desc limit ${MOST_COUNTED + 1})`,
  );
  return {
    sql: `select status, currency, count(*) filter (where counts)::int as count, count(*)::int as seen,
                 coalesce(sum(amount) filter (where counts), 0)::text as minor
            from (${newest.join(' union all ')}) o group by status, currency order by status, currency`,
    parameters: [],
  };
}

/** Deliveries of one application that wait; `oldest` is the time of the oldest among those that were counted. */
export interface WaitingDeliveries {
  client_id: string;
  name: string | null;
  count: number;
  failing: number;
  oldest: number;
}

/** Answered by the index deliveries_open: one look for each application, and so many rows of each at most. */
export function waitingDeliveriesStatement(): Statement {
  const next = (after: string) =>
    `select d.client_id from deliveries d where d.state = 'pending' ${after} order by d.client_id limit 1`;
  return {
    sql: `with recursive apps as (
            select (${next('')}) as client_id, 1 as place
            union all
            select (${next('and d.client_id > a.client_id')}), a.place + 1 from apps a
             where a.client_id is not null and a.place < ${MOST_APPS})
          select a.client_id, p.name, w.count, w.failing, w.oldest
            from apps a left join api_apps p on p.client_id = a.client_id
            cross join lateral (
              select count(*)::int as count, count(*) filter (where attempts > 0)::int as failing, ${ms('min(created_at)')} as oldest
                from (select attempts, created_at from deliveries d
                       where d.state = 'pending' and d.client_id = a.client_id limit ${MOST_WAITING + 1}) d) w
           where a.client_id is not null and w.count > 0 order by w.count desc, a.client_id`,
    parameters: [],
  };
}

/** Open exceptions of one kind among the newest. */
export interface OpenExceptions {
  kind: string;
  count: number;
  oldest: number;
  newest: number;
}

/** Answered by the index of states of exceptions. */
export function openExceptionsStatement(): Statement {
  return {
    sql: `select kind, count(*)::int as count, ${ms('min(created_at)')} as oldest, ${ms('max(created_at)')} as newest
            from (select kind, created_at from order_exceptions where state = 'open'
                   order by created_at desc, id desc limit ${MOST_EXCEPTIONS + 1}) e
           group by kind order by kind`,
    parameters: [],
  };
}

/** One of the newest open exceptions. */
export interface OpenException {
  id: string;
  kind: string;
  order_no: string;
  refund_no: string | null;
  at: number;
}

/** Answered by the index of states of exceptions. */
export function newestExceptionsStatement(rows: number): Statement {
  return {
    sql: `select id::text as id, kind, order_no, refund_no, ${ms('created_at')} as at from order_exceptions
           where state = 'open' order by created_at desc, id desc limit ${rows}`,
    parameters: [],
  };
}

/** When a channel last answered and last sent a notice, as far as the database knows. */
export interface HeardChannel {
  pay_way: string;
  answered: number | null;
  noticed: number | null;
}

/** Answered by the few rows of channel_states and by the index notices_received_at_index. */
export function heardChannelsStatement(): Statement {
  return {
    sql: `select coalesce(c.pay_way, n.pay_way) as pay_way, c.answered, n.noticed
            from (select pay_way, ${ms('max(last_success_at)')} as answered from channel_states group by pay_way) c
            full join (select pay_way, ${ms('max(received_at)')} as noticed
                         from (select pay_way, received_at from notices order by received_at desc limit ${NEWEST_NOTICES}) m
                        group by pay_way) n on n.pay_way = c.pay_way`,
    parameters: [],
  };
}

/** A process that reported itself lately, and seconds since then. */
export type SeenReplica = Pick<ReplicaRow, 'id' | 'host' | 'pid' | 'worker' | 'version' | 'figures'> & {
  started: number;
  silent: number;
};

/** Processes that reported themselves within so many seconds, by the database's clock. */
export function listReplicas(tx: ReadTx, seconds: number): Promise<SeenReplica[]> {
  return tx.prepared<SeenReplica>(
    `select id::text as id, host, pid, worker, version, figures, ${ms('started_at')} as started,
            extract(epoch from clock_timestamp() - seen_at)::float8 as silent
       from replicas where seen_at > clock_timestamp() - make_interval(secs => ?)
      order by host, worker nulls first, started_at`,
    [seconds],
  );
}

/** What a process reports. */
type Report = Omit<ReplicaRow, 'seenAt' | 'followedUntil'>;

/** Writes a report; with `followedSeconds` all others know that somebody follows here. Who was silent for an hour is forgotten. */
export async function reportReplica(tx: Tx, report: Report, followedSeconds: number | null): Promise<void> {
  const { id, host, pid, worker, version, startedAt, figures } = report;
  await tx.prepared(
    `with gone as (delete from replicas where seen_at < clock_timestamp() - interval '1 hour')
     insert into replicas (id, host, pid, worker, version, started_at, seen_at, followed_until, figures)
     values (cast(? as uuid), ?, ?, ?, ?, ?, clock_timestamp(), clock_timestamp() + make_interval(secs => cast(? as float8)), cast(? as jsonb))
     on conflict (id) do update set seen_at = excluded.seen_at, followed_until = excluded.followed_until, figures = excluded.figures`,
    [id, host, pid, worker, version, startedAt, followedSeconds, JSON.stringify(figures)],
  );
}

/** For the look of the scheduler: a number while somebody follows at any process. */
export const FOLLOWED = `(select 1::float8 from replicas where followed_until > clock_timestamp() limit 1)`;

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

type RawEvent = Omit<LiveEvent, 'sequence' | 'createdAt'> & { sequence: string; at: number };

/** Longest text of a merchant that is shown, in characters. */
const MOST_SUBJECT = 80;

const MINOR = `coalesce(payload->>'amountMinor', payload->>'refundAmountMinor')`;

const SHOWN = `sequence::text as sequence, type, object_no as "objectNo", client_id as "clientId", project,
  ${ms('created_at')} as at, payload->>'orderNo' as "orderNo", payload->>'payWay' as "payWay", ${MINOR} as minor,
  payload->>'currency' as currency, left(payload->>'subject', ${MOST_SUBJECT}) as subject`;

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
  const found = await tx.prepared<RawEvent>(
    `select ${SHOWN} from events where sequence > cast(? as bigint) and sequence <= cast(? as bigint) order by sequence limit ?`,
    [String(after), String(head), rows],
  );
  return found.map(read);
}

/** The newest events up to a number, oldest first. */
export async function newestLiveEvents(tx: ReadTx, upTo: bigint, rows: number): Promise<LiveEvent[]> {
  const found = await tx.prepared<RawEvent>(
    `select ${SHOWN} from events where sequence <= cast(? as bigint) order by events.sequence desc limit ?`,
    [String(upTo), rows],
  );
  return found.map(read).toReversed();
}

function read({ sequence, at, ...event }: RawEvent): LiveEvent {
  return { ...event, sequence: BigInt(sequence), createdAt: new Date(at) };
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
export function pastEventsStatement(upTo: bigint, since: Date): Statement {
  return {
    sql: `with newest as materialized (
            select type, created_at, payload->>'currency' as currency, ${MINOR} as minor from events
             where sequence <= cast(? as bigint) order by sequence desc limit ${MOST_COUNTED})
          select type, currency, floor(extract(epoch from created_at) / 60)::int as minute, count(*)::int as count,
                 coalesce(sum(cast(minor as numeric)), 0)::text as minor,
                 (select count(*)::int from newest) as seen, (select ${ms('min(created_at)')} from newest) as oldest
            from newest where created_at >= cast(? as timestamptz) group by type, currency, minute`,
    parameters: [String(upTo), since.toISOString()],
  };
}
