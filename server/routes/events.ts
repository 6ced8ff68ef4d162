import { z } from 'zod';
import type { EventPage, EventReading, viewDelivery } from '../events/view.ts';
import type { OpenEventStream } from '../events/stream.ts';
import { EVENT_TYPES, MERCHANT_EVENT_TYPES } from '../events/record.ts';
import type { WebhookOperations } from '../events/webhooks.ts';
import { requireConfirmed } from '../http/authenticate.ts';
import type { AdminCaller, Caller, Page, RequestFacts, WebhookContract } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { CoinEntry } from './coins.ts';
import { Dispute } from './disputes.ts';
import { forApplications } from './schemas/audience.ts';
import {
  CHANGE_OWN_WEBHOOK_ERRORS,
  ROTATE_WEBHOOK_ERRORS,
  SEND_EVENT_ERRORS,
  SET_WEBHOOK_ERRORS,
} from './schemas/errors.ts';
import { Code, HttpUrl, Id, Instant, Limit, Paging, Timestamp, pageOf } from './schemas/fields.ts';
import { PreparedSecret, actorOf } from './schemas/identity.ts';
import { OrderEntry, PayWayName, Refund } from './schemas/orders.ts';
import { SkillCoinOrder } from './skillpay.ts';

const knownTypes: ReadonlySet<string> = new Set(EVENT_TYPES);

export const Sequence = z
  .string()
  .regex(/^\d{1,18}$/, 'must be a sequence number')
  .transform((text) => BigInt(text));

const EventTypes = z
  .string()
  .max(512)
  .transform((text) => [...new Set(text.split(','))])
  .refine((types) => types.every((type) => knownTypes.has(type)), `must be among ${EVENT_TYPES.join(', ')}`)
  .meta({ description: 'Event types, comma-separated.', examples: ['order.paid,refund.succeeded'] });

const Since = Instant.optional().describe('Returns only events at or after this time.');

const EventsQuery = z.object({
  after: Sequence.optional().describe(
    'Sequence number of the last received event. The response contains the events after it.',
  ),
  cursor: Sequence.optional().describe('Same as `after`: `page.nextCursor` of the previous page.'),
  types: EventTypes.optional(),
  since: Since,
  limit: Limit,
});

const EventFilters = {
  clientId: Id.optional(),
  project: Code.optional(),
  objectNo: Id.optional().describe('Number of the order or refund that the events are about.'),
  since: Since,
};

/** An event, in the same form in responses of the event log and in webhook messages. */
const Event = z
  .object({
    id: z.string(),
    type: z.string(),
    createdAt: Timestamp,
    sequence: z.int().describe('Sequence number of the event in the event log. The numbers increase; gaps are normal.'),
    data: z.object({ object: z.record(z.string(), z.unknown()) }),
  })
  .meta({ id: 'Event' });

const ConsoleEvent = Event.extend({ clientId: z.string(), project: z.string(), objectNo: z.string() }).meta({
  id: 'ConsoleEvent',
});

const Delivery = z
  .object({
    id: z.string(),
    eventId: z.string(),
    type: z.string(),
    target: z
      .enum(['webhook', 'order', 'test'])
      .describe(
        '`webhook`: the webhook of the application. `order`: the `notifyUrl` of the order. `test`: a test message.',
      ),
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

const Webhook = z
  .object({
    clientId: z.string(),
    url: z
      .string()
      .nullable()
      .describe(
        'URL to which the events are sent; null if the application has only a signing secret, for the `notifyUrl` of orders.',
      ),
    types: z.array(z.string()).describe('Event types that are sent; empty = all types.'),
    enabled: z.boolean(),
    disabledReason: z.string().nullable(),
    previousSecretExpiresAt: Timestamp.nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    secret: z.string().optional().describe('Signing secret `whsec_…`, returned only once, when it is created.'),
  })
  .meta({ id: 'Webhook' });

/** Fields that are absent from the request stay unchanged. */
const WebhookInput = z
  .object({
    url: HttpUrl.optional(),
    types: z.array(z.enum(MERCHANT_EVENT_TYPES)).max(MERCHANT_EVENT_TYPES.length).optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'WebhookInput' });

function eventPage<Item>({ items, next }: EventPage<Item>): Page<Item> {
  return { data: items, page: { nextCursor: next === null ? null : String(next), hasMore: next !== null } };
}

const StreamQuery = z.object({ ...EventFilters, types: EventTypes.optional(), after: Sequence.optional() });

interface EventConsole {
  events: EventReading;
  openStream: OpenEventStream;
  resend: WebhookOperations['resend'];
  /** Throws if the administrator's credential is no longer valid or the role has changed. */
  recheck(request: Pick<RequestFacts, 'headers'>, caller: Pick<AdminCaller, 'role'>): Promise<unknown>;
}

/** Routes for administrators: list and stream the events of all applications, and deliver an event again. */
export function eventRoutes({ events, openStream, resend, recheck }: EventConsole): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/events:
   *   get:
   *     tags: [Events]
   *     operationId: listEvents
   *     summary: List events after a sequence number
   *     description: >-
   *       Oldest first. Gaps in the sequence are normal. Reading with a cursor never misses an event, even if the event was committed
   *       late.
   */
  router.get(
    '/api/v1/events',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'filter' },
        query: EventsQuery.extend(EventFilters),
        returns: ConsoleEvent,
        list: true,
      },
      async ({ query: { after, cursor, limit, ...filter } }) =>
        eventPage(await events.all(filter, cursor ?? after ?? 0n, limit)),
    ),
  );

  /**
   * @openapi
   * /api/v1/events/stream:
   *   get:
   *     tags: [Events]
   *     operationId: streamEvents
   *     summary: Stream events
   *     description: >-
   *       Server-sent events. The first message is `ready`, with the sequence number after which the stream starts. Then each event
   *       follows, with its sequence number as ID. `Last-Event-ID` (or `after`) resumes an interrupted stream; `since` starts in the
   *       past; by default the stream starts now. The credential is checked again before events are sent and every second. When it is no
   *       longer valid, the stream ends with the message `error`.
   */
  router.get(
    '/api/v1/events/stream',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'filter' },
        query: StreamQuery,
        headers: z.object({ 'last-event-id': Sequence.optional() }),
        raw: 'stream',
        answers: { 200: { 'text/event-stream': 'text' } },
      },
      ({ query: { after, ...filter }, headers, request, caller }) =>
        new Reply({
          headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
          body: openStream({
            filter,
            after: headers['last-event-id'] ?? after,
            stillAllowed: () => recheck(request, caller),
          }),
        }),
    ),
  );

  /**
   * @openapi
   * /api/v1/events/{id}/resend:
   *   post:
   *     tags: [Events]
   *     operationId: resendEvent
   *     summary: Redeliver an event
   *     description: >-
   *       Sends the event again, with the same ID, to the `notifyUrl` of the order or to the webhook of the application. A pending
   *       delivery is sent immediately.
   */
  router.post(
    '/api/v1/events/:id/resend',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'event' },
        params: z.object({ id: Id }),
        returns: Delivery,
        status: 201,
        errors: SEND_EVENT_ERRORS,
      },
      ({ params, caller, request }) => resend(actorOf(caller, request), params.id),
    ),
  );
  return router;
}

const Offered = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    resource: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    payWay: PayWayName,
    expiresAt: Timestamp,
  })
  .meta({ id: 'SkillOffered' });
const Fulfilled = z
  .object({
    ...Offered.pick({ outTradeNo: true, orderNo: true, resource: true }).shape,
    ...Offered.pick({ amountMinor: true, currency: true, payWay: true }).partial().shape,
    userId: z.string().optional().describe('ID of the user whose coins paid the call, if it was paid with coins.'),
    coin: SkillCoinOrder.shape.coin.optional().describe('Price in coins, if the call was paid with coins.'),
    fulfilledAt: Timestamp,
  })
  .meta({ id: 'SkillFulfilled' });
const CredentialChange = z
  .object({
    clientId: z.string(),
    change: z
      .enum(['created', 'widened', 'enabled', 'secret', 'webhook', 'webhook_secret'])
      .describe(
        '`created`, `enabled`: the application was created or enabled. `widened`: it got more scopes, IP addresses, money or trust. `secret`: it got a new secret. `webhook`, `webhook_secret`: its webhook got another URL or a new secret.',
      ),
    by: z
      .string()
      .describe('Name of the administrator, or `client_id` of an application that changed its own webhook.'),
  })
  .meta({ id: 'CredentialChange' });
const CoinPosting = CoinEntry.extend({ available: z.int() }).meta({ id: 'CoinPosting' });

const WEBHOOK_EVENTS: Readonly<Record<(typeof EVENT_TYPES)[number], WebhookContract>> = {
  'order.paid': { when: 'An order was paid.', object: OrderEntry },
  'order.paid_late': {
    when: 'A payment arrived after the order had ended; the payment is refunded.',
    object: OrderEntry,
  },
  'order.closed': { when: 'An order was closed.', object: OrderEntry },
  'order.failed': { when: 'An order failed.', object: OrderEntry },
  'order.payer_action_required': { when: 'The payer must act before the payment can complete.', object: OrderEntry },
  'order.exception': { when: 'An order needs manual review.', object: OrderEntry },
  'refund.approval_requested': { when: 'A refund waits for a second administrator.', object: Refund },
  'refund.succeeded': { when: 'A refund reached the payer.', object: Refund },
  'refund.failed': { when: 'A refund failed; its amount can be refunded again.', object: Refund },
  'refund.abnormal': { when: 'A refund cannot reach the payer and needs manual review.', object: Refund },
  'dispute.opened': { when: 'A payer disputes a payment.', object: Dispute },
  'dispute.updated': { when: 'A dispute changed.', object: Dispute },
  'dispute.closed': { when: 'A dispute was decided.', object: Dispute },
  'skillpay.offered': { when: 'A pay-per-call resource was offered for payment.', object: Offered },
  'skillpay.fulfilled': { when: 'A pay-per-call resource was delivered.', object: Fulfilled },
  'coin.credited': { when: 'Coins were added to an account.', object: CoinPosting },
  'coin.debited': { when: 'Coins were deducted from an account.', object: CoinPosting },
  'app.credentials_changed': {
    when: 'An application got a new credential or more rights. Only administrators see the event, in the event log.',
    object: CredentialChange,
  },
};

/** Routes for applications: read their own events, and have one delivered again. */
export function ownEventRoutes({ events, resend }: Pick<EventConsole, 'events' | 'resend'>): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/events:
   *   get:
   *     tags: [Event log]
   *     operationId: listOwnEvents
   *     summary: List own events after a sequence number
   *     description: >-
   *       Oldest first. Store the `sequence` of the last event, and request the events after it. This never misses an event, even if the
   *       event was committed late, and returns no event twice. Gaps in the sequence are normal.
   */
  router.get(
    '/api/v2/events',
    endpoint(
      {
        auth: { scope: 'payment:read' },
        query: EventsQuery,
        returns: Event,
        list: true,
        webhooks: WEBHOOK_EVENTS,
      },
      async ({ query: { types, since, after, cursor, limit }, caller }) =>
        eventPage(await events.own({ clientId: caller.clientId, types, since }, cursor ?? after ?? 0n, limit)),
    ),
  );

  /**
   * @openapi
   * /api/v2/events/{id}/resend:
   *   post:
   *     tags: [Event log]
   *     operationId: resendOwnEvent
   *     summary: Redeliver an own event
   *     description: >-
   *       Sends the event again, with the same ID, to the `notifyUrl` of the order or to the webhook. A pending delivery is sent
   *       immediately.
   *     parameters:
   *       - { name: id, in: path, example: evt_5f0c2b6e8a179d3f01935b2e }
   */
  router.post(
    '/api/v2/events/:id/resend',
    endpoint(
      {
        auth: { scope: 'webhook:write' },
        params: z.object({ id: Id }),
        returns: Delivery,
        status: 201,
        errors: SEND_EVENT_ERRORS,
      },
      async ({ params, caller, request }) =>
        shownTo(caller, await resend(actorOf(caller, request), params.id, caller.clientId)),
    ),
  );
  return router;
}

const ByClientId = z.object({ client_id: Id });
const Rotation = z
  .object({ graceSeconds: z.int().min(0).max(604_800).default(0), ...PreparedSecret })
  .optional()
  .meta({ id: 'WebhookSecretRotation' });
const DeliveriesQuery = z.object({
  ...Paging,
  state: z.enum(['pending', 'delivered', 'failed', 'cancelled']).optional(),
  eventId: Id.optional(),
});

const anyApp = {
  prefix: '/api/v1/api-apps/:client_id/webhook',
  params: ByClientId,
  read: { admin: 'viewer', projectScope: 'app' },
  send: { admin: 'operator', projectScope: 'app' },
  write: { admin: 'admin', projectScope: 'app' },
  rotate: { admin: 'admin', projectScope: 'app', confirmed: 'where-live' },
  setErrors: SET_WEBHOOK_ERRORS,
  rotateErrors: ROTATE_WEBHOOK_ERRORS,
} as const;
const own = forApplications('/api/v2/webhook', 'webhook:read', 'webhook:write');
const ownApp = {
  ...own,
  params: z.object({}),
  send: own.write,
  rotate: own.write,
  setErrors: CHANGE_OWN_WEBHOOK_ERRORS,
  rotateErrors: CHANGE_OWN_WEBHOOK_ERRORS,
} as const;

/** Routes for administrators: manage the webhook of an application. */
export function webhookRoutes(webhooks: WebhookOperations): RouteGroup {
  return buildWebhooks(webhooks, anyApp);
}

/** Routes for applications: manage the own webhook. */
export function ownWebhookRoutes(webhooks: WebhookOperations): RouteGroup {
  return buildWebhooks(webhooks, ownApp);
}

/** The application of a request: an application's own, or the one in an administrator's path. */
function appOf({ caller, params }: { caller: Caller; params: { [name: string]: unknown } }): string {
  return caller.kind === 'app' ? caller.clientId : String(params['client_id']);
}

/** Faults before a connection, which would tell an application whether an internal host exists. */
const ADDRESS_FAULT = /^(?:address_refused|unresolvable): .*/s;
const ADDRESS_ERROR = 'address_refused: The host of the URL does not resolve, or its address is not allowed.';

/** A delivery as administrators see it; an application does not learn why an address was not used. */
function shownTo<D extends ReturnType<typeof viewDelivery>>({ kind }: Caller, delivery: D): D {
  if (kind !== 'app') return delivery;
  const shown = (error: string | null) => error?.replace(ADDRESS_FAULT, ADDRESS_ERROR) ?? null;
  const tries = delivery.tries.map((one) => ({ ...one, error: shown(one.error) }));
  return { ...delivery, lastError: shown(delivery.lastError), tries };
}

function buildWebhooks(webhooks: WebhookOperations, audience: typeof anyApp | typeof ownApp): RouteGroup {
  const { prefix, params, read, send, write, rotate, setErrors, rotateErrors } = audience;
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook:
   *   get:
   *     tags: [Webhooks]
   *     operationId: getWebhook
   *     summary: Get the webhook of an application
   * /api/v2/webhook:
   *   get:
   *     tags: [Own webhook]
   *     operationId: getOwnWebhook
   *     summary: Get the webhook of the application of the token
   */
  router.get(
    prefix,
    endpoint({ auth: read, params, returns: Webhook }, (input) => webhooks.get(appOf(input))),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook:
   *   put:
   *     tags: [Webhooks]
   *     operationId: setWebhook
   *     summary: Set the webhook of an application
   *     description: >-
   *       Omitted fields keep their values. A new webhook without `types` receives all types. The response that creates the webhook
   *       (201) contains the `whsec_` secret, which is returned only once. Messages are signed according to Standard Webhooks and
   *       retried for 72 hours. If the receiver returns 410, the webhook is disabled.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { url: 'https://shop.example/hooks', types: [order.paid, refund.succeeded], enabled: true }
   * /api/v2/webhook:
   *   put:
   *     tags: [Own webhook]
   *     operationId: setOwnWebhook
   *     summary: Set the webhook of the application of the token
   *     description: >-
   *       Omitted fields keep their values. A new webhook without `types` receives all types. The response that creates the webhook
   *       (201) contains the `whsec_` secret, which is returned only once. Messages are signed according to Standard Webhooks and
   *       retried for 72 hours. If the receiver returns 410, the webhook is disabled.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { url: 'https://shop.example/hooks', types: [order.paid, refund.succeeded], enabled: true }
   */
  router.put(
    prefix,
    endpoint(
      {
        auth: write,
        params,
        body: WebhookInput,
        returns: Webhook,
        answers: { 201: { 'application/json': z.object({ data: Webhook }) } },
        errors: setErrors,
      },
      async (input) => {
        const { caller, request, body } = input;
        const mayRedirect = caller.kind === 'admin' ? () => requireConfirmed(caller, 'where-live') : undefined;
        const { created, webhook } = await webhooks.put(actorOf(caller, request), appOf(input), body, mayRedirect);
        return new Reply({ status: created ? 201 : 200, data: webhook });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook:
   *   delete:
   *     tags: [Webhooks]
   *     operationId: deleteWebhook
   *     summary: Delete the webhook of an application
   *     description: >-
   *       Events are no longer sent to it, and its pending deliveries are cancelled. The signing secret stays, because it also signs the
   *       messages to the `notifyUrl` of orders.
   * /api/v2/webhook:
   *   delete:
   *     tags: [Own webhook]
   *     operationId: deleteOwnWebhook
   *     summary: Delete the webhook of the application of the token
   *     description: >-
   *       Events are no longer sent to it, and its pending deliveries are cancelled. The signing secret stays, because it also signs the
   *       messages to the `notifyUrl` of orders.
   */
  router.delete(
    prefix,
    endpoint({ auth: write, params, status: 204 }, (input) =>
      webhooks.remove(actorOf(input.caller, input.request), appOf(input)),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/rotate-secret:
   *   post:
   *     tags: [Webhooks]
   *     operationId: rotateWebhookSecret
   *     summary: Rotate the signing secret of a webhook
   *     description: >-
   *       The response contains the new secret, which is returned only once. During the grace period every message is signed with both
   *       secrets. With `prepare`, the old secret does not expire yet: for 15 minutes messages are signed with both secrets (and no
   *       longer with a secret from an earlier rotation). The new secret replaces the old one when a second request to this operation
   *       sends it as `secret`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { graceSeconds: 86400 }
   * /api/v2/webhook/rotate-secret:
   *   post:
   *     tags: [Own webhook]
   *     operationId: rotateOwnWebhookSecret
   *     summary: Rotate the signing secret of the own webhook
   *     description: >-
   *       The response contains the new secret, which is returned only once. During the grace period every message is signed with both
   *       secrets. With `prepare`, the old secret does not expire yet: for 15 minutes messages are signed with both secrets (and no
   *       longer with a secret from an earlier rotation). The new secret replaces the old one when a second request to this operation
   *       sends it as `secret`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { graceSeconds: 86400 }
   */
  router.post(
    `${prefix}/rotate-secret`,
    endpoint({ auth: rotate, params, body: Rotation, returns: Webhook, errors: rotateErrors }, (input) => {
      const actor = actorOf(input.caller, input.request);
      return webhooks.rotateSecret(actor, appOf(input), input.body ?? { graceSeconds: 0 });
    }),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/test:
   *   post:
   *     tags: [Webhooks]
   *     operationId: testWebhook
   *     summary: Send a test message to a webhook
   *     description: Sends one signed `webhook.test` message without retries. The response contains the result.
   * /api/v2/webhook/test:
   *   post:
   *     tags: [Own webhook]
   *     operationId: testOwnWebhook
   *     summary: Send a test message to the own webhook
   *     description: Sends one signed `webhook.test` message without retries. The response contains the result.
   */
  router.post(
    `${prefix}/test`,
    endpoint({ auth: send, params, returns: Delivery, errors: SEND_EVENT_ERRORS }, async (input) =>
      shownTo(input.caller, await webhooks.test(actorOf(input.caller, input.request), appOf(input))),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/deliveries:
   *   get:
   *     tags: [Webhooks]
   *     operationId: listDeliveries
   *     summary: List webhook deliveries
   *     description: Newest first, with all attempts.
   * /api/v2/webhook/deliveries:
   *   get:
   *     tags: [Own webhook]
   *     operationId: listOwnDeliveries
   *     summary: List the deliveries to the own webhook and to the `notifyUrl` of own orders
   *     description: Newest first, with all attempts.
   */
  router.get(
    `${prefix}/deliveries`,
    endpoint({ auth: read, params, query: DeliveriesQuery, returns: Delivery, list: true }, async (input) => {
      const { cursor, limit, ...filter } = input.query;
      const page = await webhooks.deliveries({ clientId: appOf(input), ...filter }, cursor, limit);
      return pageOf({ ...page, items: page.items.map((delivery) => shownTo(input.caller, delivery)) });
    }),
  );
  return router;
}
