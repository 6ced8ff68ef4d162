import { FOLLOWED } from '../db/queries/live.ts';
import { lookForDue } from '../db/queries/due.ts';
import type { DueRows } from '../db/queries/due-rows.ts';
import type { Identity } from '../identity/identity.ts';
import type { Scheduler, SchedulerParts } from '../jobs/scheduler.ts';
import { createBoard } from '../live/board.ts';
import { createCallMeter } from '../live/calls.ts';
import type { LivePorts } from '../live/ports.ts';
import { createReporter } from '../live/reporter.ts';
import { liveStreams } from '../live/stream.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import type { Ports } from '../payments/ports.ts';
import type { RouteGroup } from '../http/router.ts';
import { liveRoutes } from '../routes/live.ts';
import type { Base } from './base.ts';
import { createProcessGauge, describeProcess } from './process-figures.ts';
import { composeRecheck } from './recheck.ts';

/** What the live feed needs of other parts. */
interface Needs {
  identity: Pick<Identity, 'authenticators'>;
  isDraining: () => boolean;
}

/** What other parts tell the live feed. */
export interface ComposedLive {
  groups: RouteGroup[];
  asked: NonNullable<Ports['asked']>;
  /** Hears what is counted of money, and passes it on. */
  counting(count: Ports['count']): Ports['count'];
  /** Looks for due rows, and in the same statement whether somebody follows at another process. */
  lookForDue: SchedulerParts['lookForDue'];
  looked(lags: Record<string, number>): void;
  observe(scheduler: Pick<Scheduler, 'kinds' | 'busy'>): void;
  close(): Promise<void>;
}

/** Notices that came from the channel, whatever became of them. */
const NOT_FROM_CHANNEL: ReadonlySet<string> = new Set(['not_genuine', 'not_configured']);

/** Assembles the live feed. */
export function composeLive(base: Base, { identity, isDraining }: Needs): ComposedLive {
  const { config, store, now, log, worker, liveTimes } = base;
  const meter = createCallMeter(now);
  const gauge = createProcessGauge();
  let scheduler: Pick<Scheduler, 'kinds' | 'busy'> = { kinds: [], busy: () => ({}) };
  let lags: { at: Date; seconds: Record<string, number> } = { at: now(), seconds: {} };
  const ports: LivePorts = {
    store,
    now,
    log,
    process: describeProcess(worker),
    measure: () => ({ ...gauge(), ...meter.read(), underWay: scheduler.busy() }),
    due: () => ({
      tables: scheduler.kinds.map(({ name, rows: { dueCount } }) => ({ name, dueCount })),
      lags: () => lags,
    }),
    simulated: config.simulated,
  };
  const reporter = createReporter(ports, liveTimes.figuresMs);
  const board = createBoard(ports, reporter, liveTimes);
  const openLive = liveStreams(board, now, { isDraining });
  let lookedAt = now();
  return {
    groups: [liveRoutes({ openLive, recheck: composeRecheck(base, identity) })],
    asked: meter.asked,
    counting:
      (count) =>
      (name, labels = {}) => {
        count(name, labels);
        const payWay = PAY_WAYS.find((one) => one === labels['payWay']);
        if (name === 'notice' && payWay && !NOT_FROM_CHANNEL.has(labels['result'] ?? '')) meter.noticed(payWay);
      },
    async lookForDue(tx, rows, at) {
      const [followed, ...due] = await lookForDue(tx, [followedRows, ...rows], at);
      lookedAt = at;
      if (followed !== undefined) void reporter.report();
      return due;
    },
    looked(seconds) {
      lags = { at: lookedAt, seconds };
    },
    observe(one) {
      scheduler = one;
    },
    async close() {
      board.feed.stop();
      await reporter.leave();
    },
  };
}

const followedRows: Pick<DueRows, 'oldestLag'> = { oldestLag: FOLLOWED };
