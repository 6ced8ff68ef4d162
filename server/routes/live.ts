import { z } from 'zod';
import type { AdminCaller, RequestFacts } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { OpenLiveStream } from '../live/board.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import { Sequence } from './events.ts';
import { Timestamp } from './schemas/fields.ts';

const More = z.boolean().describe('True if there are more than were counted.');

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
    open: z.array(OrderTally).describe('Orders in progress, up to 10000 of each status.'),
    past: z.object({
      since: Timestamp.describe(
        'Start of the counted period: an hour ago, or later if too many events occurred in that hour.',
      ),
      statuses: z.array(OrderTally).describe('Orders that were paid, closed, failed or refunded since then.'),
    }),
  })
  .meta({ id: 'LiveOrders' });

const LiveChannel = z
  .object({
    payWay: z.enum(PAY_WAYS),
    callsPerSecond: z.number().describe('Calls per second over the last minute, of all processes.'),
    p99Ms: z
      .int()
      .nullable()
      .describe(
        '99th percentile of the call duration in milliseconds, with an error of about a tenth; null without calls.',
      ),
    unknownPercent: z.number().nullable().describe('Percentage of calls with an unknown result; null without calls.'),
    noticedAt: Timestamp.nullable().describe('Time of the last verified notification; null = none.'),
    silentSince: Timestamp.nullable().describe(
      'Time of the last response or notification of the channel; null = none.',
    ),
  })
  .meta({ id: 'LiveChannel' });

const LiveDue = z
  .object({
    kind: z.string(),
    count: z.int().describe('Number of due rows, up to 1000.'),
    more: More,
    underWay: z.int(),
    oldestAt: Timestamp.nullable().describe('Due time of the oldest row that no worker processes.'),
  })
  .meta({ id: 'LiveDue' });

const LiveWebhook = z
  .object({
    clientId: z.string(),
    name: z.string().nullable(),
    count: z.int().describe('Number of pending deliveries, up to 1000.'),
    more: More,
    failing: z.int().describe('Number of these deliveries that failed at least once.'),
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
    worker: z
      .int()
      .nullable()
      .describe('Number of the worker process under its supervisor; null if the process runs without a supervisor.'),
    version: z.string(),
    startedAt: Timestamp,
    silent: z.boolean().describe('True if the process has not reported for several seconds.'),
    loopDelayMs: z.object({ p99: z.number(), max: z.number() }),
    cpu: z.number().describe('CPU use, as the number of fully used processors.'),
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

export const LiveMessage = z
  .object({
    at: Timestamp,
    orders: LiveOrders.optional(),
    channels: z.array(LiveChannel).optional(),
    due: z.array(LiveDue).optional(),
    webhooks: z.array(LiveWebhook).optional().describe('Applications with pending deliveries, up to 100.'),
    exceptions: LiveExceptions.optional().describe(
      'Open exceptions: the newest 1000 counted by kind, and the newest 50 as a list.',
    ),
    replicas: z.array(LiveReplica).optional(),
    events: z
      .object({
        passed: z
          .int()
          .describe('Number of events since the ID of the previous message. Every event is counted exactly once.'),
        types: z.record(z.string(), z.int()),
        rows: z
          .array(LiveEvent)
          .describe(
            'The newest of these events, up to 100. In the first message of a feed without `Last-Event-ID`: the newest events of the log.',
          ),
      })
      .optional(),
  })
  .meta({ id: 'LiveMessage' });

interface LiveConsole {
  openLive: OpenLiveStream;
  /** Throws if the administrator's credential is no longer valid or the role has changed. */
  recheck(request: Pick<RequestFacts, 'headers'>, caller: Pick<AdminCaller, 'role'>): Promise<unknown>;
}

/** Route that sends the current state of the service as server-sent events, for `payctl top`. */
export function liveRoutes({ openLive, recheck }: LiveConsole): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/live:
   *   get:
   *     tags: [Live]
   *     operationId: followService
   *     summary: Follow the state of the service
   *     description: >-
   *       Server-sent events, for `payctl top`. The first message is `snapshot` with every section. Then `change` follows, at most once
   *       a second, with the complete new content of each section that changed and with the number of new events. The schema describes
   *       the `data` of a message. The ID of a message is the sequence number of the newest event that is counted. With `Last-Event-ID`
   *       (or `after`) an interrupted feed continues and counts every event in between, on any replica. Processes report themselves only
   *       while a feed is open, so the first messages may not contain all processes. The credential is checked again before anything is
   *       sent and every second. When it is no longer valid, the feed ends with the message `error`.
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
