import { Counter } from 'prom-client';
import { DATABASE_TIME } from '../db/clock.ts';
import { type MonthlyRemoval, analyzeParts, keepMonths, removeMonthly } from '../db/months.ts';
import { removeBillLines } from '../db/queries/bill-lines.ts';
import { bookCalls, planTask, takeTask } from '../db/queries/due.ts';
import {
  type Removal,
  removeDeliveries,
  removeEffects,
  removeEvents,
  removeLimitUses,
  removeMessages,
  removeTransitions,
  removeNotifications,
  removeRefundLookups,
  removeUnpaidOrders,
} from '../db/queries/retention.ts';
import { type Scheduler, createJobMetrics, createScheduler } from '../jobs/scheduler.ts';
import { createCallRate } from '../jobs/call-rate.ts';
import type { Task } from '../jobs/timetable.ts';
import type { Base, Part } from './base.ts';
import { composeBillFigures, composeDatabaseFigures, composeDueFigures } from './database-figures.ts';
import type { ComposedLive } from './events.ts';

const HOUR = 3600;
const MONTHS_HOURS = 6;
const DAY_MS = 86_400_000;
/**
 * The table of limit uses states how much of each limit is used up. Its rows are kept for two months, because the
 * longest period of a limit is one month.
 */
const LIMIT_USE_DAYS = 62;
/**
 * Rows of delivery attempts (webhooks) are kept this many days longer than rows of deliveries. A delivery is retried
 * for three days, so the row of an attempt is removed only after the row of its delivery.
 */
const ATTEMPT_DAYS = 7;

/** Each kind of row has its own removal task, so that a failing task does not stop the others. */
function composeRetention({
  config,
  database,
  store,
  now,
  log,
  metrics,
}: Pick<Base, 'config' | 'database' | 'store' | 'now' | 'log' | 'metrics'>): Task[] {
  const removed = new Counter({
    name: 'retention_rows_removed_total',
    help: 'Rows that were removed because their retention period (Retention.*) was over, by kind.',
    labelNames: ['kind'],
    registers: [metrics.registry],
  });
  const dropped = new Counter({
    name: 'retention_parts_dropped_total',
    help: 'Monthly partitions of a table that were dropped because their retention period (Retention.*) was over, by table.',
    labelNames: ['table'],
    registers: [metrics.registry],
  });
  const { retention } = config;
  const task = (kind: string, days: number, remove: Removal): Task => ({
    name: `retention-${kind}`,
    everySeconds: HOUR,
    run: async (goesOn) => {
      const before = new Date(now().getTime() - days * DAY_MS);
      removed.inc({ kind }, await remove(store, before, goesOn));
    },
  });
  const monthly = (kind: string, removal: Omit<MonthlyRemoval, 'dropped'>): Task =>
    task(kind, removal.days, removeMonthly({ ...removal, dropped: (table) => dropped.inc({ table }) }));
  // Delivery attempts are deleted together with their delivery. So their task only drops old partitions and never
  // deletes single rows.
  const none = (): Removal => async () => 0;
  return [
    { name: 'months', everySeconds: MONTHS_HOURS * HOUR, run: createMonths },
    { name: 'count-parts', everySeconds: 24 * HOUR, run: () => analyzeParts(database) },
    monthly('channel-messages', {
      table: 'channel_messages',
      days: retention.channelMessageDays,
      rows: removeMessages,
    }),
    monthly('notices', { table: 'notifications', days: retention.noticeDays, rows: removeNotifications }),
    monthly('deliveries', { table: 'deliveries', days: retention.deliveryDays, rows: removeDeliveries }),
    monthly('attempts', { table: 'delivery_attempts', days: retention.deliveryDays + ATTEMPT_DAYS, rows: none }),
    monthly('events', { table: 'events', days: retention.eventDays, rows: removeEvents }),
    monthly('history', { table: 'transitions', days: retention.historyDays, rows: removeTransitions }),
    task('effects', retention.effectDays, removeEffects),
    task('refund-questions', retention.refundQuestionDays, removeRefundLookups),
    task('bill-lines', retention.billLineDays, removeBillLines),
    task('limit-uses', LIMIT_USE_DAYS, removeLimitUses),
    task('unpaid-orders', retention.unpaidOrderDays, removeUnpaidOrders),
  ];

  /** A failure is only logged, because rows are then stored in the default partition. */
  async function createMonths(): Promise<void> {
    const { months, refused } = await keepMonths(database, now());
    for (const { name, result } of months)
      if (result === 'made') log('info', 'the table of a month was created', { table: name });
      else if (result === 'busy') log('warn', 'the table of a month could not be created yet', { table: name });
      else log('warn', 'rows of a month are in the default partition and stay there', { table: name });
    if (refused)
      log('warn', 'this database role may not create the tables of months', {
        hint: 'Run payctl server migrate once a month, as the owner of the tables.',
        error: refused,
      });
  }
}

/** Creates the scheduler for the jobs and the periodic tasks of all parts. */
export function composeJobs(base: Base, parts: readonly Part[], live: ComposedLive): Scheduler {
  const { config, store, limits, wakes, metrics, clock, now, log } = base;
  const figures = createJobMetrics(metrics.registry);
  composeBillFigures(base);
  composeDatabaseFigures(base);
  const { callsPerSecond: perSecond } = config.jobs;
  const scheduler = createScheduler({
    store,
    now,
    log,
    async lookForDue(tx, rows, at) {
      const look = () => live.lookForDue(tx, [{ oldestLag: () => DATABASE_TIME }, ...rows], at);
      const [, ...due] = await clock.measure(look, ([time]) => time);
      return due;
    },
    takeTask,
    planTask,
    callRate:
      perSecond === 0
        ? undefined
        : createCallRate({ perSecond, now, bookCalls: (tx, at, calls) => bookCalls(tx, perSecond, at, calls) }),
    ...figures,
    looked(lags) {
      figures.looked(lags);
      live.looked(lags);
    },
    kinds: parts.flatMap(({ kinds = [] }) => kinds),
    tasks: [
      ...parts.flatMap(({ tasks = [] }) => tasks),
      { name: 'expired-limits', everySeconds: HOUR, run: (goesOn) => limits.deleteExpired(now(), goesOn) },
      ...composeRetention(base),
    ],
  });
  figures.observe(scheduler);
  live.observe(scheduler);
  composeDueFigures(base, scheduler.kinds);
  wakes.wake = scheduler.wake;
  return scheduler;
}
