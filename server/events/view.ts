import type { DeliveryStory } from '../db/queries/deliveries.ts';
import type { EventRow, WebhookRow } from '../db/entities/events.ts';

/** The payload of an event, on the wire and in a webhook alike. */
export function viewEvent({ id, type, createdAt, sequence, payload }: Omit<EventRow, 'notifyUrl' | 'dedupe'>) {
  return {
    id,
    type,
    createdAt: createdAt.toISOString(),
    sequence: Number(sequence),
    data: { object: payload },
  };
}

/** The payload of an event. */
export type EventView = ReturnType<typeof viewEvent>;

/** An event as the console sees it: with whose it is. */
export function viewConsoleEvent(event: EventRow) {
  const { clientId, project, objectNo } = event;
  return { ...viewEvent(event), clientId, project, objectNo };
}

/** A webhook's settings; the secret is shown only when it is made. */
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

/** A delivery with everything that was tried. */
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
