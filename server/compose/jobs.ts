import {
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
} from '../db/queries/due.ts';
import { DATABASE_TIME } from '../db/clock.ts';
import { bookCalls } from '../db/queries/call-rate.ts';
import { deleteOldKeys } from '../db/queries/idempotency.ts';
import { planTask, takeTask } from '../db/queries/timetable.ts';
import { createJobMetrics } from '../jobs/metrics.ts';
import { createPace } from '../jobs/pace.ts';
import { createScheduler, type Scheduler } from '../jobs/scheduler.ts';
import { placesOfAccounts, placesOfReceivers } from '../jobs/widths.ts';
import type { Base } from './base.ts';
import type { ComposedCatalog } from './catalog.ts';
import type { ComposedCredentials } from './credentials.ts';
import type { ComposedEvents } from './events.ts';
import type { ComposedIdentity } from './identity.ts';
import type { ComposedPayments } from './payments.ts';
import { composeBillFigures } from './bill-figures.ts';
import type { ComposedLive } from './live.ts';
import { composeDatabaseFigures, composeDueFigures } from './database-figures.ts';
import { composeRetention } from './retention.ts';
import type { ComposedSkillpay } from './skillpay.ts';

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
      const look = () => live.lookForDue(tx, [{ oldestLag: DATABASE_TIME }, ...rows], at);
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
