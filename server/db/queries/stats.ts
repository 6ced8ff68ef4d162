import { type RawBuilder, sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTx } from '../store.ts';
import { ofProjects, type Projects } from './project-scope.ts';

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

/** How many orders began on each day, by the state that they have now; unpaid ones that were removed count as well. */
export async function countCreated(tx: ReadTx, range: StatsRange): Promise<Counted[]> {
  return [
    ...(await tx.sql<Counted>`${createdStatement(range)}`),
    ...(await tx.sql<Counted>`${removedStatement(range)}`),
  ];
}

/** The payments of each day. */
export async function sumPaid(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return toSummed(await tx.sql<Raw>`${paidStatement(range)}`);
}

/** The refunds of each day, of money that was counted as paid: money beside an order was never counted. */
export async function sumRefunded(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return toSummed(await tx.sql<Raw>`${refundedStatement(range)}`);
}

/** Answered by the index orders_created alone. */
export function createdStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('created_at', range)} as day, state, count(*)::int as count from orders
    where ${isWithin('created_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2`;
}

/** Answered by the key of removed_orders. */
function removedStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('period_at', range)} as day, state, sum(count)::int as count from removed_orders
    where ${isWithin('period_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2`;
}

/** Answered by the index orders_paid alone. */
export function paidStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('paid_at', range)} as day, pay_way, currency, count(*)::int as count, sum(paid)::text as minor
     from orders
    where paid_at is not null and ${isWithin('paid_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2, 3`;
}

/** Answered by the index refunds_succeeded and the key of the orders. */
export function refundedStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('r.finished_at', range)} as day, o.pay_way, o.currency, count(*)::int as count,
          sum(r.amount)::text as minor
     from refunds r join orders o on o.order_no = r.order_no
    where r.state = 'succeeded' and not r.surplus and ${isWithin('r.finished_at', range)}
      and o.mode = ${range.mode} and ${ofProject(range, 'o.project')}
    group by 1, 2, 3`;
}

type Raw = Omit<Summed, 'minor'> & { minor: string };

function toSummed(rows: readonly Raw[]): Summed[] {
  return rows.map((row) => ({ ...row, minor: BigInt(row.minor) }));
}

function dayOf(column: string, { starts }: StatsRange): RawBuilder<number> {
  return sql`width_bucket(${sql.ref(column)}, ${starts}::timestamptz[])`;
}

function isWithin(column: string, { from, to }: StatsRange): RawBuilder<boolean> {
  return sql`${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to}`;
}

function ofProject({ project }: StatsRange, column: string): RawBuilder<boolean> {
  return project === undefined ? sql`true` : ofProjects(column, project);
}
