import { type RawBuilder, sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTx } from '../store.ts';
import { ofProjects, type Projects } from './project-scope.ts';

/** A period, the instants at which its days begin (`starts`), and the mode and projects of the counted orders. */
export interface StatsRange {
  from: Date;
  to: Date;
  starts: readonly Date[];
  mode: string;
  project?: Projects | undefined;
}

/** `day` is the number of the day in the period, from 1. */
export interface Counted {
  day: number;
  state: string;
  count: number;
}

/** The sum of payments or refunds on one day, in one channel and currency; in minor units. */
export interface Summed {
  day: number;
  payWay: string;
  currency: string;
  count: number;
  minor: bigint;
}

/** Counts the orders created on each day by current state, including unpaid ones that retention has removed. */
export async function countCreated(tx: ReadTx, range: StatsRange): Promise<Counted[]> {
  return [
    ...(await tx.sql<Counted>`${createdStatement(range)}`),
    ...(await tx.sql<Counted>`${removedStatement(range)}`),
  ];
}

/** Sums the payments received on each day. */
export async function sumPaid(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return toSummed(await tx.sql<Raw>`${paidStatement(range)}`);
}

/**
 * Sums the refunds of each day. Refunds of a second payment of an order are left out, because the sum of payments does
 * not include second payments.
 */
export async function sumRefunded(tx: ReadTx, range: StatsRange): Promise<Summed[]> {
  return toSummed(await tx.sql<Raw>`${refundedStatement(range)}`);
}

/** The statement that counts created orders. It needs only the index orders_created, not the table. */
export function createdStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('created_at', range)} as day, state, count(*)::int as count from orders
    where ${isWithin('created_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2`;
}

/** The statement uses the primary key of `removed_orders`. */
function removedStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('period_at', range)} as day, state, sum(count)::int as count from removed_orders
    where ${isWithin('period_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2`;
}

/** The statement that sums payments. It needs only the index orders_paid, not the table. */
export function paidStatement(range: StatsRange): Sql {
  return sql`select ${dayOf('paid_at', range)} as day, pay_way, currency, count(*)::int as count, sum(paid)::text as minor
     from orders
    where paid_at is not null and ${isWithin('paid_at', range)} and mode = ${range.mode} and ${ofProject(range, 'project')}
    group by 1, 2, 3`;
}

/** The statement that sums refunds. It uses the index refunds_succeeded and the primary key of orders. */
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
