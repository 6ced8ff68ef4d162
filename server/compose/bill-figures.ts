import { Gauge } from 'prom-client';
import { billFigures } from '../db/queries/bills.ts';
import { DIFFERENCE_KINDS } from '../payments/bills/bill-states.ts';
import type { Base } from './base.ts';

const DAY_MS = 86_400_000;
/** An account without a bill for so long is not asked for any. */
const WATCHED_DAYS = 8;

/**
 * Adds the figures of bills, read from the database whenever they are asked for: every replica tells the same. While the database does not answer
 * they are absent, and the other figures are not.
 */
export function composeBillFigures({ config, store, metrics, now }: Base): void {
  const registers = [metrics.registry];
  const differences = new Gauge({
    name: 'bill_differences',
    help: "Differences between the channels' bills and the orders that are not ended, by kind.",
    aggregator: 'max',
    labelNames: ['kind'],
    registers,
    collect: readOnce,
  });
  const age = new Gauge({
    name: 'bill_age_days',
    help: 'Days since the newest day of which a bill was compared; more than three means that bills do not come.',
    aggregator: 'max',
    labelNames: ['payWay', 'account'],
    registers,
    collect: readOnce,
  });

  /** Both are collected at the same time, and read together. */
  let reading: Promise<void> | undefined;
  function readOnce(): Promise<void> {
    reading ??= read().finally(() => (reading = undefined));
    return reading;
  }

  async function read(): Promise<void> {
    differences.reset();
    age.reset();
    const day = (at: number) => new Date(at).toISOString().slice(0, 10);
    const today = now().getTime();
    const found = await store
      .read((tx) => billFigures(tx, day(today - WATCHED_DAYS * DAY_MS), config.simulated))
      .catch(() => undefined);
    if (!found) return;
    for (const kind of DIFFERENCE_KINDS) differences.set({ kind }, 0);
    for (const { kind, count } of found.differences) differences.set({ kind }, count);
    for (const { payWay, account, day: last } of found.newest)
      age.set({ payWay, account }, Math.round((Date.parse(day(today)) - Date.parse(last)) / DAY_MS));
  }
}
