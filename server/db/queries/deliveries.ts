import type { DeliveryAttemptRow, DeliveryRow } from '../entities/events.ts';
import type { Tx } from '../tx.ts';
import type { Position } from './orders.ts';

/** A delivery is somebody's for this long; longer than one attempt may take. */
const LEASE_SECONDS = 60;
/** One receiver that is away must not keep the others waiting. */
const PER_APP = 5;

/** Claims deliveries that are due, a few of each app, so that no other replica sends them too; returns their ids. */
export async function claimDueDeliveries(tx: Tx, now: Date, limit: number): Promise<string[]> {
  return claim(
    tx,
    `select r.id from (
        select p.id, p.next_attempt_at, row_number() over (partition by p.client_id order by p.next_attempt_at) as place
          from (select * from deliveries where ${DUE} order by next_attempt_at limit 1000) p) r
      where r.place <= ${PER_APP} order by r.next_attempt_at limit ${Math.trunc(limit)}`,
    [now, now],
    now,
  );
}

/** Claims one delivery if it is due and nobody has it. */
export async function claimDueDelivery(tx: Tx, id: string, now: Date): Promise<boolean> {
  return (await claim(tx, `select cast(? as uuid)`, [id], now)).length === 1;
}

const DUE = `state = 'pending' and next_attempt_at <= ? and (leased_until is null or leased_until <= ?)`;

async function claim(tx: Tx, candidates: string, parameters: unknown[], now: Date): Promise<string[]> {
  const rows = await tx.sql<{ id: string }>(
    `update deliveries set leased_until = cast(? as timestamptz) + interval '${LEASE_SECONDS} seconds'
      where id in (select d.id from deliveries d where d.id in (${candidates}) and ${DUE} for update skip locked)
      returning id`,
    [now, ...parameters, now, now],
  );
  return rows.map(({ id }) => id);
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
  tx: Tx,
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
export async function withTries(tx: Tx, deliveries: readonly DeliveryRow[]): Promise<DeliveryStory[]> {
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
