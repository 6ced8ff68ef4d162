import { z } from 'zod';
import type { EventReading } from '../../events/read.ts';
import type { OpenEventStream } from '../../events/stream.ts';
import type { WebhookOperations } from '../../events/webhooks.ts';
import type { AdminCaller } from '../../http/callers.ts';
import type { RequestFacts } from '../../http/contract.ts';
import { endpoint, Reply } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { SEND_EVENT_ERRORS } from '../wire/errors.ts';
import { ConsoleEvent, Delivery, EventFilters, eventPage, EventsQuery, EventTypes, Sequence } from '../wire/events.ts';
import { Id } from '../wire/fields.ts';
import { actorOf } from '../wire/identity.ts';

const StreamQuery = z.object({ ...EventFilters, types: EventTypes.optional(), after: Sequence.optional() });

/** What the console's event routes call. */
export interface EventConsole {
  events: EventReading;
  openStream: OpenEventStream;
  resend: WebhookOperations['resend'];
  /** Throws when the administrator of a request is no longer let in, or has another role than then. */
  recheck(request: Pick<RequestFacts, 'headers'>, caller: Pick<AdminCaller, 'role'>): Promise<unknown>;
}

/** The event log of all apps: by number, as a stream, and sending again. */
export function eventRoutes({ events, openStream, resend, recheck }: EventConsole): RouteGroup {
  const router = routeGroup('/api/v1/events');

  /**
   * @openapi
   * /api/v1/events:
   *   get:
   *     tags: [Events]
   *     operationId: listEvents
   *     summary: List events after a sequence number
   *     description: Oldest first; gaps in the sequence are normal. A cursor never misses an event that is committed late.
   */
  router.get(
    '/',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'filter' },
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
   *     description: >
   *       Server-sent events. The first message is `ready`, with the sequence number after which the stream starts; then each event with its
   *       sequence as id. `Last-Event-ID` (or `after`) resumes an interrupted stream; `since` starts in the past;
   *       by default the stream starts now. The credential is rechecked before events are sent and every second; when it is no longer good the stream ends with the message `error`.
   */
  router.get(
    '/stream',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'filter' },
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
   *     description: >
   *       To the notifyUrl of the order or the webhook of the application, with the same id. A pending delivery is sent immediately.
   */
  router.post(
    '/:id/resend',
    endpoint(
      {
        auth: { admin: 'operator', reach: 'event' },
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
