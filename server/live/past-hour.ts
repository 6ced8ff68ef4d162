import type { LiveEvent, PastEvents } from '../db/queries/live.ts';

/** What became of orders, as the log tells it. */
export const PAST_STATUSES = ['paid', 'closed', 'failed', 'refunded'] as const;
/** One of them. */
export type PastStatus = (typeof PAST_STATUSES)[number];

const STATUS_OF: Readonly<Record<string, PastStatus>> = {
  'order.paid': 'paid',
  'order.paid_late': 'paid',
  'order.closed': 'closed',
  'order.failed': 'failed',
  'refund.succeeded': 'refunded',
};

/** Orders of one status: how many, and their money by currency in minor units. */
export interface Tally {
  status: string;
  count: number;
  minor: Map<string, bigint>;
}

/** Counts what events tell of the last sixty minutes, minute by minute; nothing is kept of single events. */
export interface PastHour {
  add(event: Pick<LiveEvent, 'type' | 'currency' | 'minor' | 'createdAt'>): void;
  /** The last hour up to now, and since when it is known. */
  read(now: Date): { since: Date; statuses: Tally[] };
}

const MINUTES = 60;
const MINUTE_MS = 60_000;

/** Begins with what was read of the log at once; `knownSince` is where that begins. */
export function createPastHour(past: readonly PastEvents[], knownSince: Date): PastHour {
  const minutes = new Map<number, Tally[]>();
  for (const { type, currency, minute, count, minor } of past) note(type, currency, minute, count, BigInt(minor));
  return {
    add: ({ type, currency, minor, createdAt }) =>
      note(type, currency, Math.floor(createdAt.getTime() / MINUTE_MS), 1, BigInt(minor ?? 0)),
    read(now) {
      const first = firstMinute(now);
      for (const minute of minutes.keys()) if (minute < first) minutes.delete(minute);
      const statuses = PAST_STATUSES.map(empty);
      for (const tally of [...minutes.values()].flat())
        merge(
          statuses.find(({ status }) => status === tally.status)!,
          tally,
        );
      return { since: new Date(Math.max(first * MINUTE_MS, knownSince.getTime())), statuses };
    },
  };

  function note(type: string, currency: string | null, minute: number, count: number, minor: bigint): void {
    const status = STATUS_OF[type];
    if (!status) return;
    const tallies = minutes.get(minute) ?? [];
    minutes.set(minute, tallies);
    let tally = tallies.find((one) => one.status === status);
    if (!tally) tallies.push((tally = empty(status)));
    merge(tally, { count, minor: new Map(currency === null ? [] : [[currency, minor]]) });
  }
}

/** The first minute that still belongs to the last hour. */
function firstMinute(now: Date): number {
  return Math.floor(now.getTime() / MINUTE_MS) - MINUTES;
}

function empty(status: string): Tally {
  return { status, count: 0, minor: new Map() };
}

function merge(into: Tally, { count, minor }: Omit<Tally, 'status'>): void {
  into.count += count;
  for (const [currency, sum] of minor) into.minor.set(currency, (into.minor.get(currency) ?? 0n) + sum);
}
