// Conditions, order and pages that all lists share.

import { type RawBuilder, sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTable } from '../table.ts';

/** Where a page begins: strictly after this row, newest first. */
export interface Position {
  createdAt: Date;
  id: string;
}

/** The equalities of those members of a filter that are there, on the columns of `table` that have their names. */
export function equalities<Filter extends object>(
  table: string,
  filter: Filter,
  members: readonly (keyof Filter & string)[],
): Sql[] {
  return members.flatMap((member) =>
    filter[member] === undefined ? [] : [sql`${sql.ref(`${table}.${member}`)} = ${filter[member]}`],
  );
}

/** A condition of all parts; of none it is true. */
export function allOf(parts: readonly Sql[]): RawBuilder<boolean> {
  return parts.length === 0 ? sql`true` : sql`${sql.join(parts, sql` and `)}`;
}

/** Whole rows of a table that fulfil all parts, newest first, behind the last one of the page before; `key` tells rows of one instant apart. */
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
