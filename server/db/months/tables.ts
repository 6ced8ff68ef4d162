import type { ReadTx } from '../store.ts';

/** A table that grows with every order, of which each month is a table of its own. */
export interface MonthlyTable {
  name: 'channel_messages' | 'moves' | 'notices' | 'events' | 'deliveries' | 'delivery_attempts';
  /** When a row was written; it never changes. */
  at: 'at' | 'created_at' | 'received_at';
  /** Of a month that is old enough: which rows keep it, with `$1` for the instant before which rows are old. */
  keeps?: string;
}

/** All of them. Orders, refunds and what a person must look at are never divided: they stay. */
export const MONTHLY: readonly MonthlyTable[] = [
  // What was counted again lately stays as long as a new message.
  { name: 'channel_messages', at: 'at', keeps: 'last_at >= $1' },
  { name: 'moves', at: 'at' },
  { name: 'notices', at: 'received_at' },
  { name: 'events', at: 'created_at' },
  { name: 'deliveries', at: 'created_at', keeps: `state = 'pending' or finished_at >= $1` },
  { name: 'delivery_attempts', at: 'at' },
];

/** The table of that name. */
export function monthlyTable(name: MonthlyTable['name']): MonthlyTable {
  return MONTHLY.find((table) => table.name === name)!;
}

/** A part of a divided table: rows from `from` until before `to`; the rest has neither. */
export interface Part {
  name: string;
  from: Date | null;
  to: Date | null;
  isRest: boolean;
}

/** The part for rows for which there is no month. */
export const REST = 'rest';

/** The parts of a table, oldest first and the rest last. */
export async function partsOf(tx: ReadTx, { name }: Pick<MonthlyTable, 'name'>): Promise<Part[]> {
  const rows = await tx.sql<{ name: string; from: unknown; to: unknown; rest: boolean }>(
    `select c.relname as name, cast(substring(b.bound from 'FROM \\(''([^'']+)''\\)') as timestamptz) as from,
            cast(substring(b.bound from 'TO \\(''([^'']+)''\\)') as timestamptz) as to, b.bound = 'DEFAULT' as rest
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      cross join lateral (select pg_get_expr(c.relpartbound, c.oid) as bound) b
      where i.inhparent = cast(? as regclass) order by b.bound = 'DEFAULT', 2`,
    [name],
  );
  const instant = (value: unknown) => (value === null ? null : new Date(String(value)));
  return rows.map((row) => ({ name: row.name, from: instant(row.from), to: instant(row.to), isRest: row.rest }));
}

/** The first instant of the month (UTC) that is so many months after that of an instant. */
export function monthFrom(at: Date, months = 0): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));
}

/** The name of a month's table: `events_2026_11`. */
export function monthName({ name }: Pick<MonthlyTable, 'name'>, month: Date): string {
  return `${name}_${month.toISOString().slice(0, 7).replace('-', '_')}`;
}
