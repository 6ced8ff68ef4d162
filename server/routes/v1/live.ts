import { z } from 'zod';
import type { AdminCaller } from '../../http/callers.ts';
import type { RequestFacts } from '../../http/contract.ts';
import { endpoint, Reply } from '../../http/endpoint.ts';
import type { OpenLiveStream } from '../../live/stream.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { Sequence } from '../wire/events.ts';
import { LiveMessage } from '../wire/live.ts';

/** What the route of the live feed calls. */
export interface LiveConsole {
  openLive: OpenLiveStream;
  /** Throws when the administrator of a request is no longer let in, or has another role than then. */
  recheck(request: Pick<RequestFacts, 'headers'>, caller: Pick<AdminCaller, 'role'>): Promise<unknown>;
}

/** The service at a glance, as it changes. */
export function liveRoutes({ openLive, recheck }: LiveConsole): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/live:
   *   get:
   *     tags: [Live]
   *     operationId: followService
   *     summary: Follow the state of the service
   *     description: >
   *       Server-sent events, for `payctl top`. The first message is `snapshot` with every section; then, once a second at most, `change` with the
   *       sections that changed, each whole, and how many events of the log passed, however many they are. The schema is that of the `data` of a message. The id is the sequence number
   *       of the newest event that is counted: with `Last-Event-ID` (or `after`) an interrupted feed goes on and counts every event in between, whichever
   *       replica answers. Processes report themselves only while somebody follows, so the first messages may lack some.
   *       The credential is rechecked before anything is sent and every second; when it is no longer good the feed ends with the message `error`.
   */
  router.get(
    '/api/v1/live',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'service' },
        query: z.object({ after: Sequence.optional() }),
        headers: z.object({ 'last-event-id': Sequence.optional() }),
        raw: 'stream',
        answers: { 200: { 'text/event-stream': LiveMessage } },
      },
      ({ query: { after }, headers, request, caller }) =>
        new Reply({
          headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
          body: openLive({
            after: headers['last-event-id'] ?? after,
            stillAllowed: () => recheck(request, caller),
          }),
        }),
    ),
  );
  return router;
}
