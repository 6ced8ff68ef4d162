// Conditions, sorting and paging that all lists share.

import { type RawBuilder, sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTable } from '../table.ts';

/** The last row of the previous page; the next page begins after it, newest first. */
export interface Position {
  createdAt: Date;
  id: string;
}

/** Builds equalities for the defined properties of a filter, on the columns of `table` with their names. */
export function equalities<Filter extends object>(
  table: string,
  filter: Filter,
  members: readonly (keyof Filter & string)[],
): Sql[] {
  return members.flatMap((member) =>
    filter[member] === undefined ? [] : [sql`${sql.ref(`${table}.${member}`)} = ${filter[member]}`],
  );
}

/** Joins all parts with `and`; no parts = true. */
export function allOf(parts: readonly Sql[]): RawBuilder<boolean> {
  return parts.length === 0 ? sql`true` : sql`${sql.join(parts, sql` and `)}`;
}

/** Selects rows that match all parts, newest first, after the previous page; `key` orders rows of the same instant. */
export function newestFirst<Row extends object>(
  table: Pick<ReadTable<Row>, 'rows'>,
  key: Sql,
  parts: readonly Sql[],
  after: Position | undefined,
  rows: number,
) {
  const behind = after ? [sql`(created_at, ${key}) < (${after.createdAt}, ${after.id})`] : [];
  const list = table.rows().where(allOf([...parts, ...behind]));
  return list
    .orderBy(sql`created_at`, 'desc')
    .orderBy(key, 'desc')
    .limit(rows);
}
