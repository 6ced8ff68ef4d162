import type { DeliveryAttemptRow, DeliveryRow, EventRow } from '../entities/events.ts';
import type { ReadTx, Tx } from '../store.ts';
import type { Position, Statement } from './orders.ts';
import { type Projects, ofProjects } from './reach.ts';
import { PART_ROWS } from './retention.ts';

/** Filters of the event log. */
export interface EventFilter {
  clientId?: string | undefined;
  project?: Projects | undefined;
  objectNo?: string | undefined;
  types?: readonly string[] | undefined;
  /** Only what happened at this instant or later. */
  since?: Date | undefined;
}

/** An event that is to be appended; `since` is when its object began. */
type EventDraft = Omit<EventRow, 'sequence'> & { since: Date };

/** The class of the advisory locks that say "I may be about to commit a number above this one". */
const APPENDING = 1_702_258_030;
/** Lock keys have 31 bits. */
const KEYS = 2_147_483_648;

/**
 * Appends an event, and in the same statement its delivery when somebody is to be told; undefined when the log has the
 * same (object, type, dedupe) already. The caller holds the lock of the object, because a unique index sees one month only.
 * Before a number is taken a shared lock names the number before it, until the commit: so readers know which numbers are
 * still open (settledHead).
 */
export async function appendEvent(
  tx: Tx,
  event: EventDraft,
): Promise<{ sequence: bigint; deliveryId: string | null } | undefined> {
  const [taken] = await tx.prepared<{ sequence: unknown }>(
    `select case when cast(pg_advisory_xact_lock_shared(${APPENDING}, cast(s.last % cast(? as bigint) as integer)) as text)
                      is not null
              then nextval('events_sequence_seq') end as sequence
       from (select last_value - case when is_called then 0 else 1 end as last from events_sequence_seq) s`,
    [KEYS],
  );
  const sequence = String(taken?.sequence);
  const [written] = await tx.prepared<{ id: string; delivery_id: string | null }>(
    `with told as (
        insert into events (sequence, id, type, client_id, project, object_no, dedupe, payload, notify_url, trace_parent, created_at)
        select cast(? as bigint), ?, ?, ?, ?, ?, ?, cast(? as jsonb), ?, ?, cast(? as timestamptz)
         where not exists (select 1 from events e where e.object_no = ? and e.type = ? and e.dedupe = ?
                              and e.created_at >= cast(? as timestamptz) - interval '1 day')
        on conflict do nothing returning id),
      sent as (
        insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
        select gen_random_uuid(), told.id, ?, case when cast(? as text) is null then 'webhook' else 'order' end,
               coalesce(cast(? as text), w.url), 'pending', 0, ?, ?
          from told left join webhooks w
            on w.client_id = ? and w.enabled and (cardinality(w.types) = 0 or ? = any (w.types))
         where coalesce(cast(? as text), w.url) is not null
        returning id)
      select told.id, (select sent.id from sent) as delivery_id from told`,
    // In groups of the statement's parts.
    [
      [sequence, event.id, event.type, event.clientId, event.project, event.objectNo, event.dedupe],
      [JSON.stringify(event.payload), event.notifyUrl, event.traceParent, event.createdAt],
      // A day for clocks of replicas that differ.
      [event.objectNo, event.type, event.dedupe, event.since],
      [event.clientId, event.notifyUrl, event.notifyUrl, event.createdAt, event.createdAt],
      [event.clientId, event.type, event.notifyUrl],
    ].flat(),
  );
  return written && { sequence: BigInt(sequence), deliveryId: written.delivery_id };
}

/**
 * The highest number below which nothing can appear any more. Read the log in a later statement: a lock goes only after
 * its commit can be seen, so whatever is not locked here is visible there.
 */
export async function settledHead(tx: ReadTx): Promise<bigint> {
  const [row] = await tx.sql<{ head: unknown }>(
    `select least(s.last, (
        select min(s.last - (s.last - cast(l.objid as bigint) + ${KEYS}) % ${KEYS})
          from pg_locks l
         where l.locktype = 'advisory' and l.objsubid = 2 and cast(l.classid as bigint) = ${APPENDING}
           and l.database = (select d.oid from pg_database d where d.datname = current_database()))) as head
       from (select last_value - case when is_called then 0 else 1 end as last from events_sequence_seq) s`,
  );
  return BigInt(String(row?.head ?? 0));
}

/**
 * Events after a number in the order of the log, nothing that a late commit could still come before; at most `rows`. With
 * `settled`, a number that was settled before, all that pass up to it: the head itself may go back, for a writer that gets
 * its lock late names an older number.
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
  const { sql, parameters } = eventListStatement(filter, { after, head }, rows);
  const found = await tx.sql<{ sequence: unknown }>(sql, parameters);
  if (found.length === 0) return [];
  const numbers = found.map(({ sequence }) => BigInt(String(sequence)));
  return tx.events.list({ sequence: numbers }, { orderBy: { sequence: 'asc' } });
}

/** The statement of the event log, for the list and its EXPLAIN test; each type is read from its own part of the index. */
export function eventListStatement(
  filter: EventFilter,
  { after, head }: { after: bigint; head: bigint },
  rows: number,
): Statement {
  const { where, parameters } = conditions(filter, after, head);
  const tail = `order by e.sequence limit ${rows}`;
  const { types } = filter;
  if (!types || types.length === 0)
    return { sql: `select e.sequence from events e where ${where} ${tail}`, parameters };
  const one = `(select e.sequence from events e where ${where} and e.type = ? ${tail})`;
  return {
    sql: `select e.sequence from (${types.map(() => one).join(' union all ')}) e ${tail}`,
    parameters: types.flatMap((type) => [...parameters, type]),
  };
}

function conditions(filter: EventFilter, after: bigint, head: bigint): { where: string; parameters: unknown[] } {
  const parts = ['e.sequence > ?', 'e.sequence <= ?'];
  const parameters: unknown[] = [String(after), String(head)];
  const add = (part: string, ...values: unknown[]) => {
    parts.push(part);
    parameters.push(...values);
  };
  if (filter.clientId !== undefined) add('e.client_id = ?', filter.clientId);
  if (filter.project !== undefined) add(...ofProjects('e.project', filter.project));
  if (filter.objectNo !== undefined) add('e.object_no = ?', filter.objectNo);
  // Numbers and times run nearly together: the lowest number among the first that are late enough is where it begins.
  if (filter.since !== undefined)
    add(
      `e.sequence >= (select min(f.sequence) from
         (select s.sequence from events s where s.created_at >= ? order by s.created_at, s.sequence limit 1000) f)
       and e.created_at >= ?`,
      filter.since,
      filter.since,
    );
  return { where: parts.join(' and '), parameters };
}

/** Filters of the delivery list. */
export interface DeliveryFilter {
  clientId: string;
  state?: string | undefined;
  eventId?: string | undefined;
}

/** A delivery with its attempts and the type of its event. */
export interface DeliveryStory {
  delivery: DeliveryRow;
  type: string;
  tries: DeliveryAttemptRow[];
}

/** Deliveries of an app, newest first, one more than asked. */
export async function listDeliveries(
  tx: ReadTx,
  { clientId, state, eventId }: DeliveryFilter,
  after: Position | undefined,
  limit: number,
): Promise<DeliveryStory[]> {
  const parts = ['d.client_id = ?'];
  const parameters: unknown[] = [clientId];
  const add = (part: string, ...values: unknown[]) => {
    parts.push(part);
    parameters.push(...values);
  };
  if (state !== undefined) add('d.state = ?', state);
  if (eventId !== undefined) add('d.event_id = ?', eventId);
  if (after) add('(d.created_at, d.id) < (?, cast(? as uuid))', after.createdAt, after.id);
  const found = await tx.sql<{ id: string }>(
    `select d.id from deliveries d where ${parts.join(' and ')} order by d.created_at desc, d.id desc limit ${limit + 1}`,
    parameters,
  );
  const deliveries = found.length === 0 ? [] : await tx.deliveries.list({ id: found.map(({ id }) => id) });
  const stories = await withTries(tx, deliveries);
  const byId = new Map(stories.map((story) => [story.delivery.id, story]));
  return found.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Adds to deliveries what was tried. */
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
    tries: byDelivery.get(delivery.id) ?? [],
  }));
}

/**
 * Cancels what still waits for the webhook of an app, as much as one statement can bear. What is beyond that, or is just
 * being sent, is cancelled when its turn comes.
 */
export async function cancelDeliveries(tx: Tx, clientId: string, now: Date): Promise<void> {
  await tx.prepared(
    `update deliveries set state = 'cancelled', next_attempt_at = null, leased_until = null, finished_at = $2
      where id = any (array(
        select id from deliveries where client_id = $1 and state = 'pending' and target = 'webhook' limit $3
           for update skip locked))`,
    [clientId, now, PART_ROWS],
  );
}
