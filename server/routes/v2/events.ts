import type { EventReading } from '../../events/read.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { Event, eventPage, EventsQuery } from '../wire/events.ts';
import { WEBHOOK_EVENTS } from '../wire/webhook-events.ts';

/** The calling app's own events. */
export function ownEventRoutes(events: EventReading): RouteGroup {
  const router = routeGroup('/api/v2/events');

  /**
   * @openapi
   * /api/v2/events:
   *   get:
   *     tags: [Event log]
   *     operationId: listOwnEvents
   *     summary: List own events after a sequence number
   *     description: >
   *       Oldest first. Keep the `sequence` of the last event and request the events after it: a cursor never misses an event that is
   *       committed late, and returns none twice. Gaps in the sequence are normal.
   */
  router.get(
    '/',
    endpoint(
      {
        auth: { scope: 'payment:read' },
        query: EventsQuery,
        returns: Event,
        list: true,
        webhooks: WEBHOOK_EVENTS,
      },
      async ({ query: { types, after, cursor, limit }, caller }) =>
        eventPage(await events.own({ clientId: caller.clientId, types }, cursor ?? after ?? 0n, limit)),
    ),
  );
  return router;
}
