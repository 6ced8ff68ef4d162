import type { ReadTx } from '../store.ts';
import type { Statement } from './orders.ts';
import { ofProjects, type Projects } from './reach.ts';

/** A period, the beginnings of its days, and whose orders. */
export interface StatsRange {
  from: Date;
  to: Date;
  starts: readonly Date[];
  mode: string;
  project?: Projects | undefined;
}

/** Orders that began on a day; days count from 1. */
export interface Counted {
  day: number;
  state: string;
  count: number;
}

/** Money of a day in one channel and currency, minor units. */
export interface Summed {
  day: number;
  payWay: string;
  currency: string;
  count: number;
  minor: bigint;
}

type Raw = { day: number; state: string; count: string; pay_way: string; currency: string; minor: string };

/** How many orders began on each day, by the state that they have now; unpaid ones that were removed count as well. */
export async function countCreated(tx: ReadTx, range: StatsRange): Promise<Counted[]> {
  const kept = createdStatement(range);
  const gone = removedStatement(range);
  const rows = [...(await tx.sql<Raw>(kept.sql, kept.parameters)), ...(await tx.sql<Raw>(gone.sql, gone.parameters))];
  return rows.map(({ day, state, count }) => ({ day: Number(day), state, count: Number(count) }));
}

/** What was paid on each day. */
export function sumPaid(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return summed(tx, paidStatement(range));
}

/** What was given back on each day of what was counted as paid: money beside an order was never counted. */
export function sumRefunded(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return summed(tx, refundedStatement(range));
}

/** Answered by the index orders_created alone. */
export function createdStatement(range: StatsRange): Statement {
  return {
    sql: `select width_bucket(created_at, ?::timestamptz[]) as day, state, count(*)::text as count from orders
           where created_at >= ?::timestamptz and created_at < ?::timestamptz and mode = ?${ofProject(range, 'project')}
           group by 1, 2`,
    parameters: parameters(range),
  };
}

/** Answered by the key of removed_orders. */
function removedStatement(range: StatsRange): Statement {
  return {
    sql: `select width_bucket(period_at, ?::timestamptz[]) as day, state, sum(count)::text as count from removed_orders
           where period_at >= ?::timestamptz and period_at < ?::timestamptz and mode = ?${ofProject(range, 'project')}
           group by 1, 2`,
    parameters: parameters(range),
  };
}

/** Answered by the index orders_paid alone. */
export function paidStatement(range: StatsRange): Statement {
  return {
    sql: `select width_bucket(paid_at, ?::timestamptz[]) as day, pay_way, currency, count(*)::text as count,
                 sum(paid)::text as minor
            from orders
           where paid_at is not null and paid_at >= ?::timestamptz and paid_at < ?::timestamptz
             and mode = ?${ofProject(range, 'project')}
           group by 1, 2, 3`,
    parameters: parameters(range),
  };
}

/** Answered by the index refunds_succeeded and the key of the orders. */
export function refundedStatement(range: StatsRange): Statement {
  return {
    sql: `select width_bucket(r.finished_at, ?::timestamptz[]) as day, o.pay_way, o.currency, count(*)::text as count,
                 sum(r.amount)::text as minor
            from refunds r join orders o on o.order_no = r.order_no
           where r.state = 'succeeded' and not r.surplus and r.finished_at >= ?::timestamptz and r.finished_at < ?::timestamptz
             and o.mode = ?${ofProject(range, 'o.project')}
           group by 1, 2, 3`,
    parameters: parameters(range),
  };
}

async function summed(tx: ReadTx, { sql, parameters: values }: Statement): Promise<Summed[]> {
  const rows = await tx.sql<Raw>(sql, values);
  return rows.map(({ day, pay_way, currency, count, minor }) => ({
    day: Number(day),
    payWay: pay_way,
    currency,
    count: Number(count),
    minor: BigInt(minor),
  }));
}

function ofProject({ project }: StatsRange, column: string): string {
  return project === undefined ? '' : ` and ${ofProjects(column, project)[0]}`;
}

function parameters({ from, to, starts, mode, project }: StatsRange): unknown[] {
  const days = `{${starts.map((start) => start.toISOString()).join(',')}}`;
  return [days, from, to, mode, ...(project === undefined ? [] : [ofProjects('', project)[1]])];
}
