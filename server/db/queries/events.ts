import { type RawBuilder, sql } from 'kysely';
import type { DeliveryAttemptRow, DeliveryRow, EventRow } from '../entities/events.ts';
import { asJson } from '../kysely.ts';
import type { ReadTx, Tx } from '../store.ts';
import { allOf, equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';
import { PART_ROWS } from './retention.ts';

export interface EventFilter {
  clientId?: string | undefined;
  project?: Projects | undefined;
  objectNo?: string | undefined;
  types?: readonly string[] | undefined;
  /** Only events that were recorded at this instant or later. */
  since?: Date | undefined;
}

/** An event to append; `since` is the creation time of the object that the event is about. */
type EventDraft = Omit<EventRow, 'sequence'> & { since: Date };

/**
 * The first key of the PostgreSQL advisory locks that writers of events hold until their commit. The second key is the
 * sequence number that was the highest one when the writer took the lock.
 */
const APPENDING = 1_702_258_030;
/** The second key is taken modulo this value, because a key of an advisory lock has only 31 usable bits. */
const KEYS = 2_147_483_648;

/**
 * Appends an event, and its webhook delivery if there is a receiver. Returns undefined if the log already contains an
 * event with this `objectNo`, `type` and `dedupe`. The caller must lock the row of the object, because the unique index
 * covers only one month. The writer takes a shared lock on the number of the latest event and holds it until its
 * commit. From these locks `settledHead` knows which later numbers may still be uncommitted.
 */
export async function appendEvent(
  tx: Tx,
  event: EventDraft,
): Promise<{ sequence: bigint; deliveryId: string | null } | undefined> {
  const { type, objectNo, dedupe, clientId, notifyUrl, createdAt } = event;
  const [written] = await tx.sql<{ sequence: bigint; deliveryId: string | null }>`
    with taken as materialized (
        select case when cast(pg_advisory_xact_lock_shared(${APPENDING}::int, cast(s.last % ${KEYS}::bigint as integer)) as text) is not null
                 then nextval('events_sequence_seq') end as sequence
          from (select last_value - case when is_called then 0 else 1 end as last from events_sequence_seq) s),
      recorded as (
        insert into events (sequence, id, type, client_id, project, object_no, dedupe, payload, notify_url, trace_parent, created_at)
        select taken.sequence, ${event.id}, ${type}, ${clientId}, ${event.project}, ${objectNo}, ${dedupe},
               ${asJson(event.payload)}, ${notifyUrl}, ${event.traceParent}, ${createdAt}::timestamptz
          from taken
         -- One day of tolerance for different clocks of replicas.
         where not exists (select 1 from events e where e.object_no = ${objectNo} and e.type = ${type} and e.dedupe = ${dedupe}
                              and e.created_at >= ${event.since}::timestamptz - interval '1 day')
        on conflict do nothing returning id, sequence),
      sent as (
        insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
        select gen_random_uuid(), recorded.id, ${clientId}, case when ${notifyUrl}::text is null then 'webhook' else 'order' end,
               coalesce(${notifyUrl}::text, w.url), 'pending', 0, ${createdAt}, ${createdAt}
          from recorded left join webhooks w
            on w.client_id = ${clientId} and w.enabled and (cardinality(w.types) = 0 or ${type} = any (w.types))
         where coalesce(${notifyUrl}::text, w.url) is not null
        returning id)
    select recorded.sequence, (select sent.id from sent) as delivery_id from recorded`;
  return written;
}

/**
 * Returns the sequence number up to which the event log is complete: no event with a lower or equal number can be added
 * later. Callers must read the events in a separate, later statement. PostgreSQL makes a commit visible before it
 * releases the lock of the writer. So the later statement sees the event of every writer whose lock is released.
 */
export async function settledHead(tx: ReadTx): Promise<bigint> {
  const [row] = await tx.sql<{ head: bigint | null }>`
    select least(s.last, (
        select min(s.last - (s.last - cast(l.objid as bigint) + ${KEYS}::bigint) % ${KEYS}::bigint)
          from pg_locks l
         where l.locktype = 'advisory' and l.objsubid = 2 and cast(l.classid as bigint) = ${APPENDING}::bigint
           and l.database = (select d.oid from pg_database d where d.datname = current_database()))) as head
       from (select last_value - case when is_called then 0 else 1 end as last from events_sequence_seq) s`;
  return row?.head ?? 0n;
}

/**
 * Returns events whose sequence number is higher than `after`, sorted by sequence number; at most `rows`. Numbers above
 * `settled` are not read, because events with such numbers may still be uncommitted. If `settled` is absent,
 * `settledHead` is called. An earlier result of `settledHead` stays valid, even if a new call returns a lower number.
 */
export async function listEvents(
  tx: ReadTx,
  filter: EventFilter,
  after: bigint,
  rows: number,
  settled?: bigint,
): Promise<EventRow[]> {
  const head = settled ?? (await settledHead(tx));
  if (head <= after) return [];
  return eventList(tx, filter, { after, head }, rows).execute();
}

/** The statement of the event log, exported for the test that checks its EXPLAIN output. */
export function eventList(
  tx: Pick<ReadTx, 'events'>,
  filter: EventFilter,
  { after, head }: { after: bigint; head: bigint },
  rows: number,
) {
  const all = tx.events.rows().orderBy('sequence').limit(rows);
  const { types } = filter;
  if (!types || types.length === 0) return all.where(eventMatches('events', filter, after, head));
  const parts = types.map(
    (type) => sql`(select e.sequence from events e
      where ${eventMatches('e', filter, after, head)} and e.type = ${type} order by e.sequence limit ${rows})`,
  );
  return all.where(sql<boolean>`sequence in (${sql.join(parts, sql` union all `)})`);
}

function eventMatches(table: string, filter: EventFilter, after: bigint, head: bigint): RawBuilder<boolean> {
  const { project, since } = filter;
  const [sequence, createdAt] = [sql.ref(`${table}.sequence`), sql.ref(`${table}.created_at`)];
  const parts = [sql`${sequence} > ${after}`, sql`${sequence} <= ${head}`];
  parts.push(...equalities(table, filter, ['clientId', 'objectNo']));
  if (project !== undefined) parts.push(ofProjects(`${table}.project`, project));
  // Sequence numbers and times do not increase in exactly the same way. So the first 1,000 events at or after `since`
  // are found, and the log is read from the lowest sequence number among them.
  if (since !== undefined)
    parts.push(sql`${sequence} >= (select min(f.sequence) from
         (select s.sequence from events s where s.created_at >= ${since} order by s.created_at, s.sequence limit 1000) f)
       and ${createdAt} >= ${since}`);
  return allOf(parts);
}

export interface DeliveryFilter {
  clientId: string;
  state?: string | undefined;
  eventId?: string | undefined;
}

/** One attempt of a delivery. */
export type Try = Pick<DeliveryAttemptRow, 'at' | 'status' | 'error' | 'durationMs'>;

/** The last attempt of a delivery; undefined if there was none. */
export function lastTry({ lastAt, lastMs, lastStatus, lastError }: DeliveryRow): Try | undefined {
  if (lastAt === null || lastMs === null) return undefined;
  return { at: lastAt, status: lastStatus, error: lastError, durationMs: lastMs };
}

export interface DeliveryStory {
  delivery: DeliveryRow;
  type: string;
  tries: Try[];
}

/** The deliveries of an application, newest first, at most `limit` + 1 rows. */
export async function listDeliveries(
  tx: ReadTx,
  { clientId, state, eventId }: DeliveryFilter,
  after: Position | undefined,
  limit: number,
): Promise<DeliveryStory[]> {
  const parts = equalities('deliveries', { clientId, state, eventId }, ['clientId', 'state', 'eventId']);
  return withTries(tx, await newestFirst(tx.deliveries, sql`id`, parts, after, limit + 1).execute());
}

/** Adds the attempts and the event type to each delivery. */
export async function withTries(tx: ReadTx, deliveries: readonly DeliveryRow[]): Promise<DeliveryStory[]> {
  if (deliveries.length === 0) return [];
  const events = await tx.events.list({ id: deliveries.map(({ eventId }) => eventId) });
  const types = new Map(events.map(({ id, type }) => [id, type]));
  const tries = await tx.deliveryAttempts.list(
    { deliveryId: deliveries.map(({ id }) => id) },
    { orderBy: { id: 'asc' } },
  );
  const byDelivery = Map.groupBy(tries, ({ deliveryId }) => deliveryId);
  return deliveries.map((delivery) => ({
    delivery,
    type: types.get(delivery.eventId) ?? 'webhook.test',
    tries: [...(byDelivery.get(delivery.id) ?? []), lastTry(delivery)]
      .filter((one) => one !== undefined)
      .toSorted((one, other) => one.at.getTime() - other.at.getTime()),
  }));
}

/**
 * Cancels up to `PART_ROWS` pending deliveries, and returns their number; the rest, and those being sent, are cancelled
 * when they become due.
 */
export async function cancelDeliveries(tx: Tx, clientId: string, now: Date): Promise<number> {
  const cancelled = await tx.sql`
    update deliveries set state = 'cancelled', next_attempt_at = null, leased_until = null, finished_at = ${now}
     where id = any (array(
       select id from deliveries where client_id = ${clientId} and state = 'pending' and target = 'webhook' limit ${PART_ROWS}
          for update skip locked))
    returning id`;
  return cancelled.length;
}
