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
  lookForDue,
} from '../db/queries/due.ts';
import { deleteOldKeys } from '../db/queries/idempotency.ts';
import { dropOldQueue } from '../db/queries/old-queue.ts';
import { planTask, takeTask } from '../db/queries/timetable.ts';
import { createJobMetrics } from '../jobs/metrics.ts';
import { createScheduler, type Scheduler } from '../jobs/scheduler.ts';
import type { Base } from './base.ts';
import type { ComposedCatalog } from './catalog.ts';
import type { ComposedCredentials } from './credentials.ts';
import type { ComposedEvents } from './events.ts';
import type { ComposedIdentity } from './identity.ts';
import type { ComposedPayments } from './payments.ts';
import { composeBillFigures } from './bill-figures.ts';
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
}

/** Assembles the scheduler: what is done for one due row of each kind, and what is done from time to time. */
export function composeJobs(base: Base, parts: Needs): Scheduler {
  const { config, store, limits, wakes, metrics, now, log } = base;
  const { identity, credentials, events, payments, skillpay, catalog } = parts;
  const figures = createJobMetrics(metrics.registry);
  composeBillFigures(base);
  composeDatabaseFigures(base);
  const { debug } = config;
  const { resume } = skillpay.operations;
  const orders = {
    name: 'order',
    about: 'orderNo',
    wokenBy: 'capture',
    rows: dueOrders(debug),
    run: payments.checkOrder,
  } as const;
  const refunds = {
    name: 'refund',
    about: 'refundNo',
    wokenBy: 'refund-check',
    rows: dueRefunds(debug),
    run: payments.checkRefund,
  } as const;
  const scheduler = createScheduler({
    store,
    now,
    log,
    lookForDue,
    takeTask,
    planTask,
    ...figures,
    kinds: [
      // A lane is a channel: three of them.
      { ...orders, width: 32, laneWidth: 8 },
      { ...refunds, width: 32, laneWidth: 8 },
      { name: 'refund-question', rows: dueQuestions(debug), run: payments.askAboutRefund, width: 8, laneWidth: 4 },
      { name: 'dispute', rows: dueDisputes(debug), run: payments.checkDispute, width: 8, laneWidth: 4 },
      { name: 'bill', wokenBy: 'bill', rows: dueBills(debug), run: payments.workBill, width: 2, laneWidth: 1 },
      { name: 'bill-difference', rows: dueDifferences(debug), run: payments.healDifference, width: 8, laneWidth: 4 },
      { name: 'fulfilment', about: 'orderNo', rows: dueFulfilments(debug), run: resume, width: 16, laneWidth: 4 },
      {
        name: 'confirmation',
        about: 'orderNo',
        rows: dueConfirmations(debug),
        run: skillpay.operations.confirmDelivery,
        width: 8,
        laneWidth: 4,
      },
      {
        name: 'coin-call',
        about: 'orderNo',
        rows: dueCoinCalls(),
        run: skillpay.operations.resumeCoinCall,
        width: 16,
        laneWidth: 4,
      },
      // A lane is a project, as above: its coins and its stock.
      { name: 'effect', rows: dueEffectRows(), run: payments.doEffect, width: 8, laneWidth: 4 },
      // A lane is an application, or a receiver across them.
      {
        name: 'delivery',
        wokenBy: 'deliver-event',
        rows: dueDeliveries(),
        run: events.deliver,
        width: 96,
        laneWidth: 8,
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
      { name: 'old-queue', everySeconds: 3600, run: () => store.transaction(dropOldQueue) },
    ],
  });
  figures.observe(scheduler);
  composeDueFigures(base, scheduler.kinds);
  wakes.wake = scheduler.wake;
  return scheduler;
}
