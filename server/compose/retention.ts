import { Counter } from 'prom-client';
import {
  type Removal,
  removeDeliveries,
  removeEffects,
  removeLimitUses,
  removeMessages,
  removeNotices,
  removeRefundQuestions,
} from '../db/queries/retention.ts';
import { removeBillLines } from '../db/queries/bill-retention.ts';
import { removeUnpaidOrders } from '../db/queries/unpaid-orders.ts';
import type { Task } from '../jobs/timetable.ts';
import type { Base } from './base.ts';

const HOUR = 3600;
const DAY_MS = 86_400_000;
/** Two months: an order that ends later gives nothing back that would still count. */
const LIMIT_USE_DAYS = 62;

/** Assembles the clean-ups of what has had its time: a task of its own for each kind, so that none stops another. */
export function composeRetention({
  config,
  store,
  now,
  metrics,
}: Pick<Base, 'config' | 'store' | 'now' | 'metrics'>): Task[] {
  const removed = new Counter({
    name: 'retention_rows_removed_total',
    help: 'Rows that were removed because their time was over (Retention.*), by kind.',
    labelNames: ['kind'],
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
  return [
    task('channel-messages', retention.channelMessageDays, removeMessages),
    task('notices', retention.noticeDays, removeNotices),
    task('deliveries', retention.deliveryDays, removeDeliveries),
    task('effects', retention.effectDays, removeEffects),
    task('refund-questions', retention.refundQuestionDays, removeRefundQuestions),
    task('bill-lines', retention.billLineDays, removeBillLines),
    task('limit-uses', LIMIT_USE_DAYS, removeLimitUses),
    task('unpaid-orders', retention.unpaidOrderDays, removeUnpaidOrders),
  ];
}
