import { countDue } from '../db/queries/due.ts';
import { MOST_DUE } from '../db/queries/due-rows.ts';
import { MOST_COUNTED } from '../db/queries/figures.ts';
import {
  heardChannelsStatement,
  type HeardChannel,
  listReplicas,
  MOST_WAITING,
  newestExceptionsStatement,
  OPEN_STATUSES,
  type OpenException,
  type OpenExceptions,
  openExceptionsStatement,
  type OpenOrders,
  openOrdersStatement,
  type SeenReplica,
  type WaitingDeliveries,
  waitingDeliveriesStatement,
} from '../db/queries/live.ts';
import type { Statement } from '../db/queries/orders.ts';
import type { ReadTx } from '../db/store.ts';
import { PAY_WAYS, type PayWay } from '../payments/channel.ts';
import { majorNumber } from '../payments/money.ts';
import { quantileOf } from './calls.ts';
import type { Tally } from './past-hour.ts';
import type { DueKinds, LivePorts } from './ports.ts';

/** Open exceptions that are shown one by one. */
const SHOWN_EXCEPTIONS = 50;
/** A process that has not reported for so long is told to be silent, and after the second time it is not shown. */
const SILENT_SECONDS = 8;
const GONE_SECONDS = 30;

/** Reads every figure that the database has, one bounded statement after the other. */
export function readFigures({ store, now, due, simulated }: Pick<LivePorts, 'store' | 'now' | 'due' | 'simulated'>) {
  return store.read(async (tx) => {
    const kinds = due();
    const orders = await ask<OpenOrders>(tx, openOrdersStatement(simulated));
    const counts = await countDue(
      tx,
      kinds.tables.map(({ dueCount }) => dueCount),
      now(),
    );
    const webhooks = await ask<WaitingDeliveries>(tx, waitingDeliveriesStatement());
    const exceptions = await ask<OpenExceptions>(tx, openExceptionsStatement());
    const newest = await ask<OpenException>(tx, newestExceptionsStatement(SHOWN_EXCEPTIONS));
    const heard = await ask<HeardChannel>(tx, heardChannelsStatement());
    const replicas = await listReplicas(tx, GONE_SECONDS);
    return {
      open: openOrders(orders),
      channels: PAY_WAYS.map((payWay) => channel(payWay, replicas, heard)),
      due: dueWork(kinds, counts, replicas),
      webhooks: webhooks.map(waiting),
      exceptions: { kinds: exceptions.map(exceptionKind), newest: newest.map(exception) },
      replicas: replicas.map(replica),
    };
  });
}

/** What `readFigures` gives. */
export type Figures = Awaited<ReturnType<typeof readFigures>>;

function ask<Row>(tx: ReadTx, { sql, parameters }: Statement): Promise<Row[]> {
  return tx.prepared<Row>(sql, parameters);
}

/** Orders of a status as they are shown: `more` when not all were counted. */
export function viewTally({ status, count, minor }: Tally, more = false) {
  const amounts = [...minor].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    status,
    count,
    more,
    amounts: amounts.map(([currency, sum]) => ({
      currency,
      // Of the channels PayPal alone has other decimals than ISO 4217, and alone takes those currencies.
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

function channel(payWay: PayWay, replicas: readonly SeenReplica[], heard: readonly HeardChannel[]) {
  const reports = replicas.flatMap(({ figures }) =>
    figures.channels.filter((one) => one.payWay === payWay).map((one) => ({ ...one, seconds: figures.seconds })),
  );
  const known = heard.find((one) => one.pay_way === payWay);
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
      // Of the rows that nobody has.
      oldestAt: lag > 0 ? new Date(at.getTime() - lag * 1000).toISOString() : null,
    };
  });
}

function waiting({ client_id, name, count, failing, oldest }: WaitingDeliveries) {
  return {
    clientId: client_id,
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

function exception({ id, kind, order_no, refund_no, at }: OpenException) {
  return { id, kind, orderNo: order_no === '' ? null : order_no, refundNo: refund_no, createdAt: iso(at) };
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
