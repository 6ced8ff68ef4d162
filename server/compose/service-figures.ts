import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Called } from '../credentials/channels.ts';
import { VERSION } from '../http/version.ts';
import type { ThisProcess } from '../live/ports.ts';
import type { ProcessFigures } from '../db/entities/service.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import { PAYMENT_SOURCES, type PaymentSource } from '../payments/ledger.ts';

/** Matches the outcomes of channel calls that received no response. */
const NO_ANSWER = /^unknown_(timeout|network)$/;

export interface ServiceFigures {
  /** Counts and logs a channel call. */
  channelCalled: Called;
  orderPaid(paid: PaymentSource): void;
  webhookTried(result: 'delivered' | 'refused' | 'unanswered'): void;
  /** Sets by how much this machine's clock is ahead of the clock of a channel or of the database. */
  clockAhead(against: PayWay | 'database', seconds: number): void;
  /** Sets the function that reads the database's clock at each scrape. */
  readClocks(read: () => Promise<void>): void;
}

/** Registers the metrics of one process. */
export function createServiceFigures(registry: Registry, schema: string | null, logger: Logger): ServiceFigures {
  const registers = [registry];
  const calls = new Counter({
    name: 'channel_calls_total',
    help: 'Channel calls by outcome. unknown_… means that the service got no usable response; the rest of the name is the reason.',
    labelNames: ['pay_way', 'call', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'channel_call_duration_seconds',
    help: 'Duration of channel calls. A call includes all of its requests.',
    labelNames: ['pay_way', 'call'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 6, 10, 20],
    registers,
  });
  const paid = new Counter({
    name: 'orders_paid_total',
    help: 'Paid orders by the source that first reported the payment. notice: a notification. poll: a query to the channel. code: a query about a code that a shop scanned. payer: the returning payer. bill: a bill. person: an administrator. Each order is counted once.',
    labelNames: ['pay_way', 'by'],
    registers,
  });
  const tries = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver webhooks, by result. delivered: response with a 2xx status. refused: response with another status. unanswered: no complete response.',
    labelNames: ['result'],
    registers,
  });
  let readClocks = async (): Promise<void> => {};
  const skew = new Gauge({
    name: 'clock_skew_seconds',
    help: 'Seconds by which the clock of this machine is ahead of the clock of the database or of a channel (according to the Date header of its responses).',
    aggregator: 'max',
    labelNames: ['against'],
    registers,
    collect: () => readClocks(),
  });
  new Gauge({
    name: 'build_info',
    help: 'Always 1. The labels contain the versions of the service, of Node.js and of the database schema.',
    aggregator: 'max',
    labelNames: ['version', 'node', 'schema'],
    registers,
  }).set({ version: VERSION, node: process.versions.node, schema: schema ?? '' }, 1);
  // Every counter begins at 0, because Prometheus sees an increase only if the counter existed before.
  for (const payWay of PAY_WAYS) for (const by of PAYMENT_SOURCES) paid.inc({ pay_way: payWay, by }, 0);
  for (const result of ['delivered', 'refused', 'unanswered'] as const) tries.inc({ result }, 0);
  return {
    channelCalled({ payWay, call, outcome, seconds }) {
      calls.inc({ pay_way: payWay, call, outcome });
      durations.observe({ pay_way: payWay, call }, seconds);
      const level = NO_ANSWER.test(outcome) ? 'warn' : 'debug';
      logger[level]({ payWay, call, outcome, ms: Math.round(seconds * 1000) }, 'channel call');
    },
    orderPaid: ({ payWay, by }) => paid.inc({ pay_way: payWay, by }),
    webhookTried: (result) => tries.inc({ result }),
    readClocks: (read) => void (readClocks = read),
    clockAhead: (against, seconds) => skew.set({ against }, seconds),
  };
}

/** Describes this process, with a random id. */
export function describeProcess(worker: number | null): ThisProcess {
  const startedAt = new Date(performance.timeOrigin);
  return { id: randomUUID(), host: hostname(), pid: process.pid, worker, version: VERSION, startedAt };
}

/** Measures the load of the process between two calls; the first call starts the event loop measurement. */
export function createProcessGauge(): () => Pick<ProcessFigures, 'loopDelayMs' | 'cpu' | 'memoryBytes'> {
  let loop: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let since = { at: performance.timeOrigin, usage: { user: 0, system: 0 } };
  return () => {
    const before = since;
    since = { at: performance.timeOrigin + performance.now(), usage: process.cpuUsage() };
    const used = since.usage.user + since.usage.system - before.usage.user - before.usage.system;
    const loopDelayMs =
      loop && loop.count > 0 ? { p99: inMs(loop.percentile(99)), max: inMs(loop.max) } : { p99: 0, max: 0 };
    loop ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    loop.enable();
    loop.reset();
    return {
      loopDelayMs,
      cpu: Number((used / 1000 / Math.max(1, since.at - before.at)).toFixed(3)),
      memoryBytes: process.memoryUsage.rss(),
    };
  };
}

const RESOLUTION_MS = 20;

/** Converts an event loop delay to milliseconds and subtracts the resolution of the measuring timer. */
function inMs(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1e5) / 10 - RESOLUTION_MS);
}
