import { billFigures } from '../db/queries/bills.ts';
import { DIFFERENCE_KINDS } from '../domain.ts';
import type { Base } from './base.ts';
import { figureGroup } from './figure-group.ts';

const DAY_MS = 86_400_000;
/** An account without a bill for so long is not asked for any. */
const WATCHED_DAYS = 8;

/** Adds the figures of bills. */
export function composeBillFigures({ config, store, metrics: { registry }, now, figuresEveryMs: everyMs }: Base): void {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const group = figureGroup({
    store,
    registry,
    ...(everyMs !== undefined && { everyMs }),
    read: (tx) => billFigures(tx, day(now().getTime() - WATCHED_DAYS * DAY_MS), config.simulated),
    show({ differences: open, newest }) {
      for (const kind of DIFFERENCE_KINDS) differences.set({ kind }, 0);
      for (const { kind, count } of open) differences.set({ kind }, count);
      for (const { payWay, account, day: last } of newest)
        age.set({ pay_way: payWay, account }, (Date.parse(day(now().getTime())) - Date.parse(last)) / 1000);
    },
  });
  const differences = group.gauge({
    name: 'bill_differences',
    help: "Differences between the channels' bills and the orders that are not ended, by kind.",
    labelNames: ['kind'],
  });
  const age = group.gauge({
    name: 'bill_age_seconds',
    help: 'Time since the newest day of which a bill was compared, in whole days; more than three days mean that bills do not come.',
    labelNames: ['pay_way', 'account'],
  });
}
