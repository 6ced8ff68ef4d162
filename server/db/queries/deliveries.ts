import type { DeliveryAttemptRow, DeliveryRow } from '../entities/events.ts';
import type { ReadTx, Tx } from '../store.ts';
import type { Position } from './orders.ts';
import { PART_ROWS } from './parts.ts';

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
