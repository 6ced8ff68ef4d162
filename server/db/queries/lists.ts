// Conditions, sorting and paging that all lists share.

import { type RawBuilder, sql } from 'kysely';
import type { Sql } from '../kysely.ts';
import type { ReadTable } from '../table.ts';

/** The last row of the previous page. The next page contains older rows only. */
export interface Position {
  createdAt: Date;
  id: string;
}

/** The condition `column = value` for each of the named filter fields that has a value. */
export function equalities<Filter extends object>(
  table: string,
  filter: Filter,
  members: readonly (keyof Filter & string)[],
): Sql[] {
  return members.flatMap((member) =>
    filter[member] === undefined ? [] : [sql`${sql.ref(`${table}.${member}`)} = ${filter[member]}`],
  );
}

/** Joins all conditions with `and`. An empty list gives `true`. */
export function allOf(parts: readonly Sql[]): RawBuilder<boolean> {
  return parts.length === 0 ? sql`true` : sql`${sql.join(parts, sql` and `)}`;
}

/** Selects rows newest first, after the previous page. `key` sorts rows that were created at the same instant. */
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
