import { z } from 'zod';
import type { AdminCaller, RequestFacts } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { OpenLiveStream } from '../live/board.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import { Sequence } from './events.ts';
import { Timestamp } from './schemas/fields.ts';

const More = z.boolean().describe('Not all were counted: there are more.');

const OrderTally = z
  .object({
    status: z.string(),
    count: z.int(),
    more: More,
    amounts: z.array(z.object({ currency: z.string(), amount: z.number(), amountMinor: z.int() })),
  })
  .meta({ id: 'OrderTally' });

const LiveOrders = z
  .object({
    open: z.array(OrderTally).describe('Orders that are not over, up to 10000 of each status.'),
    past: z.object({
      since: Timestamp.describe('An hour ago, or later when more has happened than is read at first.'),
      statuses: z.array(OrderTally).describe('What was paid, closed, failed and refunded since then.'),
    }),
  })
  .meta({ id: 'LiveOrders' });

const LiveChannel = z
  .object({
    payWay: z.enum(PAY_WAYS),
    callsPerSecond: z.number().describe('Over the last minute, of all processes.'),
    p99Ms: z
      .int()
      .nullable()
      .describe('Ninety-nine of a hundred calls took no longer, to a tenth; null without calls.'),
    unknownPercent: z.number().nullable().describe('Percentage of calls with an unknown outcome.'),
    noticedAt: Timestamp.nullable().describe('The last genuine notification.'),
    silentSince: Timestamp.nullable().describe('The last answer or notification.'),
  })
  .meta({ id: 'LiveChannel' });

const LiveDue = z
  .object({
    kind: z.string(),
    count: z.int().describe('Rows that are due, up to 1000.'),
    more: More,
    underWay: z.int(),
    oldestAt: Timestamp.nullable().describe('Due time of the oldest row that no worker processes.'),
  })
  .meta({ id: 'LiveDue' });

const LiveWebhook = z
  .object({
    clientId: z.string(),
    name: z.string().nullable(),
    count: z.int().describe('Deliveries that wait, up to 1000.'),
    more: More,
    failing: z.int().describe('Of these, how many have failed at least once.'),
    oldestAt: Timestamp,
  })
  .meta({ id: 'LiveWebhook' });

const LiveExceptions = z
  .object({
    kinds: z.array(z.object({ kind: z.string(), count: z.int(), oldestAt: Timestamp, newestAt: Timestamp })),
    newest: z.array(
      z.object({
        id: z.string(),
        kind: z.string(),
        orderNo: z.string().nullable(),
        refundNo: z.string().nullable(),
        createdAt: Timestamp,
      }),
    ),
  })
  .meta({ id: 'LiveExceptions' });

const LiveReplica = z
  .object({
    id: z.string(),
    host: z.string(),
    pid: z.int(),
    worker: z.int().nullable().describe('Number among the workers of one supervisor; null when it serves alone.'),
    version: z.string(),
    startedAt: Timestamp,
    silent: z.boolean().describe('It has not reported itself for some seconds.'),
    loopDelayMs: z.object({ p99: z.number(), max: z.number() }),
    cpu: z.number().describe('Processors that were kept busy.'),
    memoryBytes: z.int(),
  })
  .meta({ id: 'LiveReplica' });

const LiveEvent = z
  .object({
    sequence: z.int(),
    type: z.string(),
    at: Timestamp,
    objectNo: z.string(),
    orderNo: z.string().nullable(),
    clientId: z.string(),
    project: z.string(),
    payWay: z.string().nullable(),
    amount: z.number().nullable(),
    currency: z.string().nullable(),
    subject: z.string().nullable(),
  })
  .meta({ id: 'LiveEvent' });

/** A message of the live feed. */
export const LiveMessage = z
  .object({
    at: Timestamp,
    orders: LiveOrders.optional(),
    channels: z.array(LiveChannel).optional(),
    due: z.array(LiveDue).optional(),
    webhooks: z.array(LiveWebhook).optional().describe('Applications with deliveries that wait, up to 100.'),
    exceptions: LiveExceptions.optional().describe('The newest 1000 open ones by kind, and the newest 50.'),
    replicas: z.array(LiveReplica).optional(),
    events: z
      .object({
        passed: z.int().describe('Events since the id of the message before: none is left out and none counted twice.'),
        types: z.record(z.string(), z.int()),
        rows: z
          .array(LiveEvent)
          .describe(
            'The newest of them, up to 100. In the first message of a feed without `Last-Event-ID`: the newest of the log.',
          ),
      })
      .optional(),
  })
  .meta({ id: 'LiveMessage' });

/** Dependencies of the live feed route. */
interface LiveConsole {
  openLive: OpenLiveStream;
  /** Throws if the administrator's credential is no longer valid or the role has changed. */
  recheck(request: Pick<RequestFacts, 'headers'>, caller: Pick<AdminCaller, 'role'>): Promise<unknown>;
}

/** A live feed of the service's state. */
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
   *       Server-sent events, for `payctl top`. The first message is `snapshot` with every section; then, once a second at most, `change`
   *       with the sections that changed, each whole, and how many events of the log passed, however many they are. The schema is that of
   *       the `data` of a message. The id is the sequence number of the newest event that is counted: with `Last-Event-ID` (or `after`) an
   *       interrupted feed continues and counts every event in between, on any replica. Processes report themselves only while a feed is
   *       open, so the first messages may lack some. The credential is rechecked before anything is sent and every second; when it is no
   *       longer valid the feed ends with the message `error`.
   */
  router.get(
    '/api/v1/live',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'service' },
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
