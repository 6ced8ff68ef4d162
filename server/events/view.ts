import type { EventRow, WebhookRow } from '../db/entities/events.ts';
import { type DeliveryStory, type EventFilter, listEvents } from '../db/queries/events.ts';
import type { EventPorts } from './ports.ts';

/** The JSON form of an event. The API and webhooks use the same form. */
export function viewEvent({ id, type, createdAt, sequence, payload }: Omit<EventRow, 'notifyUrl' | 'dedupe'>) {
  return {
    id,
    type,
    createdAt: createdAt.toISOString(),
    sequence: Number(sequence),
    data: { object: payload },
  };
}

/** The JSON form of an event for administrators. It also contains the application and the project. */
export function viewConsoleEvent(event: EventRow) {
  const { clientId, project, objectNo } = event;
  return { ...viewEvent(event), clientId, project, objectNo };
}

/** The JSON form of a webhook, without the secret. The secret is returned only when it is created. */
export function viewWebhook(row: WebhookRow, now: Date) {
  const isGrace = row.previousExpiresAt !== null && row.previousExpiresAt > now;
  return {
    clientId: row.clientId,
    url: row.url,
    types: row.types,
    enabled: row.enabled,
    disabledReason: row.disabledReason,
    previousSecretExpiresAt: isGrace ? (row.previousExpiresAt?.toISOString() ?? null) : null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

/** The JSON form of a delivery, with all its attempts. */
export function viewDelivery({ delivery, type, tries }: DeliveryStory) {
  return {
    id: delivery.id,
    eventId: delivery.eventId,
    type,
    target: delivery.target,
    url: delivery.url,
    state: delivery.state,
    attempts: delivery.attempts,
    nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
    lastStatus: delivery.lastStatus,
    lastError: delivery.lastError,
    createdAt: delivery.createdAt.toISOString(),
    finishedAt: delivery.finishedAt?.toISOString() ?? null,
    tries: tries.map(({ at, status, error, durationMs }) => ({ at: at.toISOString(), status, error, durationMs })),
  };
}

/** `next` is the sequence number after which the next page begins; null = there is no next page. */
export interface EventPage<Item> {
  items: Item[];
  next: bigint | null;
}

/** Creates the operations that read the event log by sequence number. No event is missed or returned twice. */
export function readEvents({ store }: Pick<EventPorts, 'store'>) {
  const page = async <Item>(
    filter: EventFilter,
    after: bigint,
    limit: number,
    view: (row: Awaited<ReturnType<typeof listEvents>>[number]) => Item,
  ): Promise<EventPage<Item>> => {
    const rows = await store.read((tx) => listEvents(tx, filter, after, limit + 1));
    const shown = rows.slice(0, limit);
    return { items: shown.map(view), next: rows.length > limit ? (shown.at(-1)?.sequence ?? null) : null };
  };
  return {
    own: (filter: EventFilter & { clientId: string }, after: bigint, limit: number) =>
      page(filter, after, limit, viewEvent),
    all: (filter: EventFilter, after: bigint, limit: number) => page(filter, after, limit, viewConsoleEvent),
  };
}

export type EventReading = ReturnType<typeof readEvents>;
