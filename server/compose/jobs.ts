import { Counter } from 'prom-client';
import { DATABASE_TIME } from '../db/clock.ts';
import { type MonthlyRemoval, countParts, keepMonths, removeMonthly } from '../db/months.ts';
import { removeBillLines } from '../db/queries/bill-lines.ts';
import {
  bookCalls,
  dueBills,
  dueCoinCalls,
  dueConfirmations,
  dueDeliveries,
  dueDifferences,
  dueDisputes,
  dueEffectRows,
  dueFulfilments,
  dueOrders,
  dueQuestions,
  dueRefunds,
  planTask,
  takeTask,
} from '../db/queries/due.ts';
import {
  type Removal,
  deleteOldKeys,
  removeDeliveries,
  removeEffects,
  removeEvents,
  removeLimitUses,
  removeMessages,
  removeMoves,
  removeNotices,
  removeRefundQuestions,
  removeUnpaidOrders,
} from '../db/queries/retention.ts';
import { type Scheduler, createJobMetrics, createScheduler } from '../jobs/scheduler.ts';
import { createPace } from '../jobs/pace.ts';
import type { Task } from '../jobs/timetable.ts';
import { placesOfAccounts, placesOfReceivers } from '../jobs/lanes.ts';
import type { Base } from './base.ts';
import type { ComposedCatalog } from './catalog.ts';
import type { ComposedCredentials } from './credentials.ts';
import { composeBillFigures, composeDatabaseFigures, composeDueFigures } from './database-figures.ts';
import type { ComposedEvents, ComposedLive } from './events.ts';
import type { ComposedIdentity } from './identity.ts';
import type { ComposedPayments } from './payments.ts';
import type { ComposedSkillpay } from './skillpay.ts';

const HOUR = 3600;
const MONTHS_HOURS = 6;
const DAY_MS = 86_400_000;
/** Two months: an order that ends later gives nothing back that would still count. */
const LIMIT_USE_DAYS = 62;
/** A delivery is tried for three days: what is dropped of its attempts is older than anything of it that is shown. */
const ATTEMPT_DAYS = 7;

/** Assembles the clean-ups of what has had its time: a task of its own for each kind, so that none stops another. */
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
    help: 'Rows that were removed because their time was over (Retention.*), by kind.',
    labelNames: ['kind'],
    registers: [metrics.registry],
  });
  const dropped = new Counter({
    name: 'retention_parts_dropped_total',
    help: 'Months of a table that were dropped as a whole because their time was over (Retention.*), by table.',
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
  // They go with their deliveries where those go one by one.
  const none = (): Removal => async () => 0;
  return [
    { name: 'months', everySeconds: MONTHS_HOURS * HOUR, run: tellMonths },
    { name: 'count-parts', everySeconds: 24 * HOUR, run: () => countParts(database) },
    monthly('channel-messages', {
      table: 'channel_messages',
      days: retention.channelMessageDays,
      rows: removeMessages,
    }),
    monthly('notices', { table: 'notices', days: retention.noticeDays, rows: removeNotices }),
    monthly('deliveries', { table: 'deliveries', days: retention.deliveryDays, rows: removeDeliveries }),
    monthly('attempts', { table: 'delivery_attempts', days: retention.deliveryDays + ATTEMPT_DAYS, rows: none }),
    monthly('events', { table: 'events', days: retention.eventDays, rows: removeEvents }),
    monthly('history', { table: 'moves', days: retention.historyDays, rows: removeMoves }),
    task('effects', retention.effectDays, removeEffects),
    task('refund-questions', retention.refundQuestionDays, removeRefundQuestions),
    task('bill-lines', retention.billLineDays, removeBillLines),
    task('limit-uses', LIMIT_USE_DAYS, removeLimitUses),
    task('unpaid-orders', retention.unpaidOrderDays, removeUnpaidOrders),
  ];

  /** Tables of months are made ahead; what cannot be done is told, and nothing else suffers from it. */
  async function tellMonths(): Promise<void> {
    const { months, refused } = await keepMonths(database, now());
    for (const { name, result } of months)
      if (result === 'made') log('info', 'the table of a month was made', { table: name });
      else if (result === 'busy') log('warn', 'the table of a month could not be made yet', { table: name });
      else log('warn', 'rows of a month stand in the rest and stay there', { table: name });
    if (refused)
      log('warn', 'this database role may not make tables of months', {
        hint: 'Run payctl server migrate once a month, as the owner of the tables.',
        error: refused,
      });
  }
}

/** The parts that do something in the background. */
interface Needs {
  identity: Pick<ComposedIdentity, 'deleteExpiredRevocations' | 'deleteExpiredSessions' | 'anchor'>;
  credentials: Pick<ComposedCredentials, 'watchExpiry'>;
  events: Pick<ComposedEvents, 'deliver'>;
  payments: Pick<
    ComposedPayments,
    | 'checkOrder'
    | 'checkRefund'
    | 'askAboutRefund'
    | 'checkDispute'
    | 'findDisputes'
    | 'planBills'
    | 'workBill'
    | 'healDifference'
    | 'doEffect'
  >;
  skillpay: Pick<ComposedSkillpay, 'operations'>;
  catalog: Pick<ComposedCatalog, 'forgetDue'>;
  live: Pick<ComposedLive, 'lookForDue' | 'looked' | 'observe'>;
}

/** Assembles the scheduler: what is done for one due row of each kind, and what is done from time to time. */
export function composeJobs(base: Base, parts: Needs): Scheduler {
  const { config, store, limits, wakes, metrics, clock, now, log } = base;
  const { identity, credentials, events, payments, skillpay, catalog, live } = parts;
  const figures = createJobMetrics(metrics.registry);
  composeBillFigures(base);
  const { simulated, jobs } = config;
  const { resume, confirmDelivery, resumeCoinCall } = skillpay.operations;
  const { callsPerSecond } = jobs;
  const pace =
    callsPerSecond === 0
      ? undefined
      : createPace({
          perSecond: callsPerSecond,
          now,
          bookCalls: (tx, at, calls) => bookCalls(tx, callsPerSecond, at, calls),
        });
  const asking = placesOfAccounts(jobs);
  // What is rare, and asks no more than it must.
  const asksLittle = placesOfAccounts({
    perAccount: Math.ceil(jobs.perAccount / 4),
    perChannel: Math.max(2, Math.ceil(jobs.perChannel / 4)),
  });
  // A file may be a gigabyte.
  const readsFiles = { ...placesOfAccounts({ perAccount: 1, perChannel: 2 }), width: 4 };
  composeDatabaseFigures(base);
  const scheduler = createScheduler({
    store,
    now,
    log,
    async lookForDue(tx, rows, at) {
      const look = () => live.lookForDue(tx, [{ oldestLag: () => DATABASE_TIME }, ...rows], at);
      const [, ...due] = await clock.hear(look, ([time]) => time);
      return due;
    },
    takeTask,
    planTask,
    pace,
    ...figures,
    looked(lags) {
      figures.looked(lags);
      live.looked(lags);
    },
    kinds: [
      {
        name: 'order',
        about: 'orderNo',
        wokenBy: 'capture',
        rows: dueOrders(simulated),
        run: payments.checkOrder,
        ...asking,
      },
      {
        name: 'refund',
        about: 'refundNo',
        wokenBy: 'refund-check',
        rows: dueRefunds(simulated),
        run: payments.checkRefund,
        ...asking,
      },
      { name: 'refund-question', rows: dueQuestions(simulated), run: payments.askAboutRefund, ...asksLittle },
      { name: 'dispute', rows: dueDisputes(simulated), run: payments.checkDispute, ...asksLittle },
      { name: 'bill', wokenBy: 'bill', rows: dueBills(simulated), run: payments.workBill, ...readsFiles },
      { name: 'bill-difference', rows: dueDifferences(simulated), run: payments.healDifference, ...asksLittle },
      {
        name: 'confirmation',
        about: 'orderNo',
        rows: dueConfirmations(simulated),
        run: confirmDelivery,
        ...asksLittle,
      },
      // A lane is a project: its handlers, its coins and its stock.
      { name: 'fulfilment', about: 'orderNo', rows: dueFulfilments(simulated), run: resume, width: 32, laneWidth: 4 },
      { name: 'coin-call', about: 'orderNo', rows: dueCoinCalls(), run: resumeCoinCall, width: 32, laneWidth: 4 },
      { name: 'effect', rows: dueEffectRows(), run: payments.doEffect, width: 8, laneWidth: 4 },
      {
        name: 'delivery',
        wokenBy: 'deliver-event',
        rows: dueDeliveries(),
        run: events.deliver,
        ...placesOfReceivers(jobs.perReceiver),
      },
    ],
    tasks: [
      { name: 'expired-revocations', everySeconds: 3600, run: identity.deleteExpiredRevocations },
      { name: 'expired-sessions', everySeconds: 3600, run: identity.deleteExpiredSessions },
      { name: 'expired-limits', everySeconds: 3600, run: (goesOn) => limits.deleteExpired(now(), goesOn) },
      { name: 'old-keys', everySeconds: 3600, run: (goesOn) => deleteOldKeys(store, now(), goesOn) },
      ...composeRetention(base),
      { name: 'disputes', everySeconds: 3600, run: payments.findDisputes },
      { name: 'bills', everySeconds: 600, run: payments.planBills },
      { name: 'forget-payers', everySeconds: 60, run: catalog.forgetDue },
      { name: 'certificate-expiry', everySeconds: 86_400, run: credentials.watchExpiry },
      { name: 'audit-anchor', everySeconds: 3600, run: identity.anchor },
    ],
  });
  figures.observe(scheduler);
  live.observe(scheduler);
  composeDueFigures(base, scheduler.kinds);
  wakes.wake = scheduler.wake;
  return scheduler;
}
