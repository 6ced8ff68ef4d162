import { MOST_DUE, countDue } from '../db/queries/due.ts';
import {
  type ChannelActivity,
  type LiveEvent,
  MOST_COUNTED,
  MOST_WAITING,
  OPEN_STATUSES,
  type OpenException,
  type OpenExceptions,
  type OpenOrders,
  type PastEvents,
  type SeenReplica,
  type WaitingDeliveries,
  channelActivityStatement,
  listReplicas,
  newestExceptionsStatement,
  openExceptionsStatement,
  openOrdersStatement,
  waitingDeliveriesStatement,
} from '../db/queries/figures.ts';
import type { Sql } from '../db/kysely.ts';
import type { ReadTx } from '../db/store.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import { majorNumber } from '../money.ts';
import type { DueKinds, LivePorts } from './ports.ts';
import { quantileOf } from './process.ts';

/** Maximum number of open exceptions (cases that an operator must decide) that the live feed lists. */
const SHOWN_EXCEPTIONS = 50;
/** A process without a report for `SILENT_SECONDS` is shown as silent. After `GONE_SECONDS` it is not shown at all. */
const SILENT_SECONDS = 8;
const GONE_SECONDS = 30;

/** Reads the figures from the database. Each statement reads a limited number of rows. */
export function readFigures({ store, now, due, simulated }: Pick<LivePorts, 'store' | 'now' | 'due' | 'simulated'>) {
  return store.read(async (tx) => {
    const kinds = due();
    const orders = await ask<OpenOrders>(tx, openOrdersStatement(simulated));
    const counts = await countDue(
      tx,
      kinds.tables.map(({ dueCount }) => dueCount(now())),
    );
    const webhooks = await ask<WaitingDeliveries>(tx, waitingDeliveriesStatement());
    const exceptions = await ask<OpenExceptions>(tx, openExceptionsStatement());
    const newest = await ask<OpenException>(tx, newestExceptionsStatement(SHOWN_EXCEPTIONS));
    const activity = await ask<ChannelActivity>(tx, channelActivityStatement());
    const replicas = await listReplicas(tx, GONE_SECONDS);
    return {
      open: openOrders(orders),
      channels: PAY_WAYS.map((payWay) => channel(payWay, replicas, activity)),
      due: dueWork(kinds, counts, replicas),
      webhooks: webhooks.map(waiting),
      exceptions: { kinds: exceptions.map(exceptionKind), newest: newest.map(exception) },
      replicas: replicas.map(replica),
    };
  });
}

export type Figures = Awaited<ReturnType<typeof readFigures>>;

function ask<Row>(tx: ReadTx, statement: Sql): Promise<Row[]> {
  return tx.sql<Row>`${statement}`;
}

/** Converts the orders in one status to the format of the live feed. `more`: further orders were not counted. */
export function viewTally({ status, count, minor }: Tally, more = false) {
  const amounts = [...minor].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    status,
    count,
    more,
    amounts: amounts.map(([currency, sum]) => ({
      currency,
      // The sum may contain amounts of several channels, so all of them must have the same decimals. PayPal's decimals
      // differ from ISO 4217 for some currencies, but no other channel accepts these currencies.
      amount: majorNumber({ minor: sum, currency }),
      amountMinor: Number(sum),
    })),
  };
}

function openOrders(rows: readonly OpenOrders[]) {
  return OPEN_STATUSES.map((status) => {
    const mine = rows.filter((row) => row.status === status);
    const seen = mine.reduce((sum, row) => sum + row.seen, 0);
    const count = mine.reduce((sum, row) => sum + row.count, 0);
    const minor = new Map(mine.filter((row) => row.count > 0).map((row) => [row.currency, BigInt(row.minor)]));
    return viewTally({ status, count, minor }, seen > MOST_COUNTED);
  });
}

function channel(payWay: PayWay, replicas: readonly SeenReplica[], activity: readonly ChannelActivity[]) {
  const reports = replicas.flatMap(({ figures }) =>
    figures.channels.filter((one) => one.payWay === payWay).map((one) => ({ ...one, seconds: figures.seconds })),
  );
  const known = activity.find((one) => one.payWay === payWay);
  const calls = reports.reduce((sum, one) => sum + one.calls, 0);
  const unknown = reports.reduce((sum, one) => sum + one.unknown, 0);
  const answeredAt = latest(known?.answered, ...reports.map((one) => one.answeredAt));
  const noticedAt = latest(known?.noticed, ...reports.map((one) => one.noticedAt));
  return {
    payWay,
    callsPerSecond: rounded(
      reports.reduce((sum, one) => sum + one.calls / one.seconds, 0),
      2,
    ),
    p99Ms: quantileOf(
      reports.map(({ spread }) => spread),
      0.99,
    ),
    unknownPercent: calls === 0 ? null : rounded((100 * unknown) / calls, 1),
    noticedAt,
    silentSince: latest(answeredAt, noticedAt),
  };
}

function dueWork(kinds: DueKinds, counts: readonly number[], replicas: readonly SeenReplica[]) {
  const { at, seconds } = kinds.lags();
  return kinds.tables.map(({ name }, place) => {
    const count = counts[place] ?? 0;
    const lag = seconds[name] ?? 0;
    return {
      kind: name,
      count: Math.min(count, MOST_DUE),
      more: count > MOST_DUE,
      underWay: replicas.reduce((sum, { figures }) => sum + (figures.underWay[name] ?? 0), 0),
      // `lag` is the number of seconds since the oldest row became due. It ignores rows that a replica has leased.
      oldestAt: lag > 0 ? new Date(at.getTime() - lag * 1000).toISOString() : null,
    };
  });
}

function waiting({ clientId, name, count, failing, oldest }: WaitingDeliveries) {
  return {
    clientId,
    name,
    count: Math.min(count, MOST_WAITING),
    more: count > MOST_WAITING,
    failing: Math.min(failing, MOST_WAITING),
    oldestAt: iso(oldest),
  };
}

function exceptionKind({ kind, count, oldest, newest }: OpenExceptions) {
  return { kind, count, oldestAt: iso(oldest), newestAt: iso(newest) };
}

function exception({ id, kind, orderNo, refundNo, at }: OpenException) {
  return { id, kind, orderNo: orderNo === '' ? null : orderNo, refundNo, createdAt: iso(at) };
}

function replica({ id, host, pid, worker, version, started, silent, figures }: SeenReplica) {
  return {
    id,
    host,
    pid,
    worker,
    version,
    startedAt: iso(started),
    silent: silent > SILENT_SECONDS,
    loopDelayMs: figures.loopDelayMs,
    cpu: figures.cpu,
    memoryBytes: figures.memoryBytes,
  };
}

function latest(...instants: (number | string | null | undefined)[]): string | null {
  const known = instants.filter((one) => one !== null && one !== undefined).map((one) => new Date(one).getTime());
  return known.length === 0 ? null : iso(Math.max(...known));
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

const PAST_STATUSES = ['paid', 'closed', 'failed', 'refunded'] as const;
type PastStatus = (typeof PAST_STATUSES)[number];

const STATUS_OF: Readonly<Record<string, PastStatus>> = {
  'order.paid': 'paid',
  'order.paid_late': 'paid',
  'order.closed': 'closed',
  'order.failed': 'failed',
  'refund.succeeded': 'refunded',
};

/** Orders of one status: their number, and their amounts by currency in minor units. */
interface Tally {
  status: string;
  count: number;
  minor: Map<string, bigint>;
}

/** Counts the order events of the last sixty minutes, minute by minute; single events are not stored. */
export interface PastHour {
  add(event: Pick<LiveEvent, 'type' | 'currency' | 'minor' | 'createdAt'>): void;
  /**
   * `since` is the start of the counted period. The period is shorter than an hour if there were too many events to
   * read.
   */
  read(now: Date): { since: Date; statuses: Tally[] };
}

const MINUTES = 60;
const MINUTE_MS = 60_000;

/** Creates a `PastHour` from events of the past. These events are complete from the time `knownSince` on. */
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

/** Returns the minute in which the last hour began, as the number of minutes since 1970. */
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
