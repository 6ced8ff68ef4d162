import { createServer, type ServerResponse } from 'node:http';
import { listenOnFreePort } from '../../support/free-port.ts';

interface LiveServerOptions {
  eventsPerSecond: number;
  /** Number of connections to cut, each after its second message or in the middle of it. */
  cuts: number;
  /** Interval between messages in milliseconds. */
  everyMs: number;
}

/** A service with only the live feed; its event log grows from the first request on. */
interface LiveServer {
  url: string;
  cuts: number;
  /** Current number of events in the log. */
  events(): number;
  /** Stops the growth of the log. */
  freeze(): void;
  close(): Promise<void>;
}

/** Starts the live feed on a free port; the log grows by the real clock from the first request on. */
export async function startLiveServer({ eventsPerSecond, cuts, everyMs }: LiveServerOptions): Promise<LiveServer> {
  let begun: number | undefined;
  let frozen: number | undefined;
  const events = (): number =>
    frozen ?? (begun === undefined ? 0 : Math.floor(((performance.now() - begun) * eventsPerSecond) / 1000));
  const server = createServer((request, response) => {
    if (request.url !== '/api/v1/live') return void response.writeHead(404).end();
    // A client without a cursor receives only events after its request.
    const from = Number(request.headers['last-event-id'] ?? events());
    begun ??= performance.now();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    serve(response, from);
  });
  const live: LiveServer = {
    url: `http://127.0.0.1:${await listenOnFreePort(server)}`,
    cuts: 0,
    events,
    freeze: () => void (frozen ??= events()),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
  return live;

  function serve(response: ServerResponse, from: number): void {
    let cursor = from;
    response.write(messageOf('snapshot', cursor, (cursor = events())));
    const timer = setInterval(() => {
      const text = messageOf('change', cursor, (cursor = events()));
      if (live.cuts >= cuts) return void response.write(text);
      live.cuts += 1;
      clearInterval(timer);
      // Alternates complete and truncated messages; a truncated message must not be counted.
      response.write(live.cuts % 2 === 0 ? text : text.slice(0, text.length / 2), () => response.destroy());
    }, everyMs);
    response.once('close', () => clearInterval(timer));
  }
}

/** A live feed message about the events after `after` up to `upTo`. */
export function messageOf(kind: 'snapshot' | 'change', after: number, upTo: number): string {
  const passed = upTo - after;
  const at = new Date().toISOString();
  const rows = Array.from({ length: Math.min(passed, 100) }, (_, place) =>
    eventAt(upTo - Math.min(passed, 100) + place + 1),
  );
  const events = { passed, types: passed > 0 ? { 'order.paid': passed } : {}, rows };
  const data = kind === 'snapshot' ? { at, ...sections(upTo), events } : { at, orders: sections(upTo).orders, events };
  return `id: ${upTo}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
}

function eventAt(sequence: number) {
  return {
    sequence,
    type: 'order.paid',
    at: new Date().toISOString(),
    objectNo: `P20261121055800${String(sequence).padStart(10, '0')}`,
    orderNo: `P20261121055800${String(sequence).padStart(10, '0')}`,
    clientId: 'app_7Kd2mQxW9bTzR4vLp1Ns',
    project: 'default',
    payWay: 'alipay',
    amount: 12.5,
    currency: 'CNY',
    subject: '红茶 Tea',
  };
}

function sections(paid: number) {
  const tally = (status: string, count: number) => ({
    status,
    count,
    more: false,
    amounts: count > 0 ? [{ currency: 'CNY', amount: count * 12.5, amountMinor: count * 1250 }] : [],
  });
  const at = '2026-11-21T06:04:00.000Z';
  return {
    orders: {
      open: [tally('created', 1), tally('pending', 12), tally('closing', 0)],
      past: {
        since: at,
        statuses: [tally('paid', paid), tally('closed', 2), tally('failed', 0), tally('refunded', 1)],
      },
    },
    channels: ['alipay', 'wechat', 'paypal'].map((payWay) => ({
      payWay,
      callsPerSecond: 3.25,
      p99Ms: 120,
      unknownPercent: payWay === 'paypal' ? 12.5 : 0,
      noticedAt: at,
      silentSince: at,
    })),
    due: [
      { kind: 'order', count: 3, more: false, underWay: 1, oldestAt: at },
      { kind: 'delivery', count: 0, more: false, underWay: 0, oldestAt: null },
    ],
    webhooks: [{ clientId: 'app_1', name: '茶馆', count: 1000, more: true, failing: 12, oldestAt: at }],
    exceptions: {
      kinds: [{ kind: 'late_paid', count: 1, oldestAt: at, newestAt: at }],
      newest: [
        {
          id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
          kind: 'late_paid',
          orderNo: 'P202611210558007K2MQX9WBT',
          refundNo: null,
          createdAt: at,
        },
      ],
    },
    replicas: [
      {
        id: 'r-1',
        host: 'pay-1',
        pid: 4711,
        worker: 1,
        version: '0.1.0',
        startedAt: at,
        silent: false,
        loopDelayMs: { p99: 3.2, max: 12 },
        cpu: 0.25,
        memoryBytes: 180_000_000,
      },
    ],
  };
}
