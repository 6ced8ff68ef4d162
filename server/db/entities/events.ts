import { defineEntity, p } from '@mikro-orm/core';
import { code, instant, json, text, words, type RowOf } from './columns.ts';

/** One event of the event log; db/queries/events.ts assigns the sequence numbers. */
export const EventEntity = defineEntity({
  name: 'Event',
  tableName: 'events',
  properties: {
    sequence: p.bigint().primary().autoincrement(),
    id: code().unique(),
    type: code(),
    clientId: code(),
    project: code(),
    objectNo: code(),
    dedupe: p.string().length(128),
    payload: json<Record<string, unknown>>(),
    notifyUrl: text().nullable(),
    /** W3C `traceparent` of the request that caused the event; null = not traced. */
    traceParent: p.string().length(55).nullable(),
    createdAt: instant(),
  },
  uniques: [{ properties: ['objectNo', 'type', 'dedupe'] }],
  indexes: [
    { properties: ['clientId', 'sequence'] },
    { properties: ['project', 'sequence'] },
    { properties: ['type', 'sequence'] },
    { properties: ['createdAt'] },
  ],
});

/** If `url` is null, the secret only signs deliveries to the notifyUrl of orders. */
export const WebhookEntity = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  properties: {
    clientId: code().primary(),
    url: text().nullable(),
    types: words(),
    enabled: p.boolean(),
    encryptedSecret: text(),
    previousEncryptedSecret: text().nullable(),
    previousExpiresAt: instant().nullable(),
    disabledReason: text().nullable(),
    createdAt: instant(),
    updatedAt: instant(),
  },
});

/** The delivery of one event to one URL. `nextAttemptAt` and `leasedUntil` determine when the next attempt is due. */
export const DeliveryEntity = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  properties: {
    id: p.uuid().primary(),
    eventId: code(),
    clientId: code(),
    /** The source of the URL: the application's webhook, the order's notifyUrl, or a test that is sent once. */
    target: p.string().length(16).$type<'webhook' | 'order' | 'test'>(),
    url: text(),
    state: p.string().length(16).$type<'pending' | 'delivered' | 'failed' | 'cancelled'>(),
    attempts: p.integer(),
    nextAttemptAt: instant().nullable(),
    leasedUntil: instant().nullable(),
    // The last attempt. Most deliveries need only one, so only earlier attempts are rows of their own.
    lastAt: instant().nullable(),
    lastMs: p.integer().nullable(),
    lastStatus: p.integer().nullable(),
    lastError: text().nullable(),
    createdAt: instant(),
    finishedAt: instant().nullable(),
  },
  indexes: [
    { properties: ['clientId', 'createdAt'] },
    { properties: ['eventId'] },
    {
      name: 'deliveries_open',
      expression: `create index "deliveries_open" on "deliveries" ("client_id") where state = 'pending'`,
    },
    {
      name: 'deliveries_due',
      expression: `create index "deliveries_due" on "deliveries" ("next_attempt_at") where state = 'pending'`,
    },
    {
      name: 'deliveries_due_queues',
      expression: `create index "deliveries_due_queues" on "deliveries" ((client_id || ' //' || coalesce(substring(url from '^[a-z]+://([^/\\x3f#]*)'), '')), "next_attempt_at") where state = 'pending'`,
    },
    {
      name: 'deliveries_finished',
      expression: `create index "deliveries_finished" on "deliveries" ("finished_at") where finished_at is not null`,
    },
  ],
});

/** An attempt before the last one, or one that ended after its delivery had succeeded. */
export const DeliveryAttemptEntity = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempts',
  properties: {
    id: p.bigint().primary().autoincrement(),
    deliveryId: p.uuid().index(),
    at: instant(),
    status: p.integer().nullable(),
    error: text().nullable(),
    durationMs: p.integer(),
  },
});

export type EventRow = RowOf<typeof EventEntity>;
export type WebhookRow = RowOf<typeof WebhookEntity>;
export type DeliveryRow = RowOf<typeof DeliveryEntity>;
export type DeliveryAttemptRow = RowOf<typeof DeliveryAttemptEntity>;
