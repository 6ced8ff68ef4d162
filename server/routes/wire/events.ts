import { z } from 'zod';
import { EVENT_TYPES } from '../../events/types.ts';
import type { EventPage } from '../../events/read.ts';
import type { Page } from '../../http/contract.ts';
import { Code, HttpUrl, Id, Instant, Limit, Timestamp } from './fields.ts';

const knownTypes: ReadonlySet<string> = new Set(EVENT_TYPES);

/** A number of the log as text. */
export const Sequence = z
  .string()
  .regex(/^\d{1,18}$/, 'must be a sequence number')
  .transform((text) => BigInt(text));

/** Types of events, comma-separated. */
export const EventTypes = z
  .string()
  .max(512)
  .transform((text) => [...new Set(text.split(','))])
  .refine((types) => types.every((type) => knownTypes.has(type)), `must be among ${EVENT_TYPES.join(', ')}`)
  .meta({ description: 'Types, comma-separated.', examples: ['order.paid,refund.succeeded'] });

/** How the log is read: everything after a number. */
export const EventsQuery = z.object({
  after: Sequence.optional().describe('Sequence of the last received event; returns the events after it.'),
  cursor: Sequence.optional().describe('Same as `after`: `page.nextCursor` of the previous page.'),
  types: EventTypes.optional(),
  limit: Limit,
});

/** The console's filters of events. */
export const EventFilters = {
  clientId: Id.optional(),
  project: Code.optional(),
  objectNo: Id.optional().describe('Number of the order or refund.'),
  since: Instant.optional().describe('Only events at or after this time.'),
};

/** An event: the payload of the log and of webhooks. */
export const Event = z
  .object({
    id: z.string(),
    type: z.string(),
    createdAt: Timestamp,
    sequence: z.int().describe('Increasing; gaps are normal.'),
    data: z.object({ object: z.record(z.string(), z.unknown()) }),
  })
  .meta({ id: 'Event' });

/** An event as the console sees it. */
export const ConsoleEvent = Event.extend({ clientId: z.string(), project: z.string(), objectNo: z.string() }).meta({
  id: 'ConsoleEvent',
});

/** One delivery of an event, with everything that was tried. */
export const Delivery = z
  .object({
    id: z.string(),
    eventId: z.string(),
    type: z.string(),
    target: z
      .enum(['webhook', 'order', 'test'])
      .describe('The webhook of the application, the notifyUrl of the order, or a test.'),
    url: z.string(),
    state: z.enum(['pending', 'delivered', 'failed', 'cancelled']),
    attempts: z.int(),
    nextAttemptAt: Timestamp.nullable(),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    createdAt: Timestamp,
    finishedAt: Timestamp.nullable(),
    tries: z.array(
      z.object({ at: Timestamp, status: z.int().nullable(), error: z.string().nullable(), durationMs: z.int() }),
    ),
  })
  .meta({ id: 'Delivery' });

/** Settings of a webhook. */
export const Webhook = z
  .object({
    clientId: z.string(),
    url: z.string().nullable().describe('Null if only a secret exists, for the notifyUrl of orders.'),
    types: z.array(z.string()).describe('Empty means all.'),
    enabled: z.boolean(),
    disabledReason: z.string().nullable(),
    previousSecretExpiresAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    secret: z.string().optional().describe('`whsec_…`; shown only once, when it is created.'),
  })
  .meta({ id: 'Webhook' });

/** A change of a webhook; what is left out stays. */
export const WebhookInput = z
  .object({
    url: HttpUrl.optional(),
    types: z.array(z.enum(EVENT_TYPES)).max(EVENT_TYPES.length).optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'WebhookInput' });

/** A page of the log as the list that the wire shows. */
export function eventPage<Item>({ items, next }: EventPage<Item>): Page<Item> {
  return { data: items, page: { nextCursor: next === null ? null : String(next), hasMore: next !== null } };
}
