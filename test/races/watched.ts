import { sql } from 'kysely';
import type { ExecutionContext } from 'ava';
import { postgresDatabase, type TestDatabase } from '../support/database.ts';

/** A database that records how many rows each statement deleted from some tables. */
export interface Watched extends TestDatabase {
  taken: (table: string) => Promise<number[]>;
}

/** Opens a database that records deletes from these tables. */
export async function watched(t: ExecutionContext, ...tables: string[]): Promise<Watched> {
  const on = await postgresDatabase(t);
  await watchDeletes(on, tables);
  return { ...on, taken: (table) => deletedFrom(on, table) };
}

/** Adds triggers that record deletes from these tables. */
async function watchDeletes({ store }: Pick<TestDatabase, 'store'>, tables: readonly string[]): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`create table taken (name text, n int)`;
    await tx.sql`create function note_taken() returns trigger language plpgsql as
       $$ begin insert into taken select tg_table_name, count(*) from gone; return null; end $$`;
    for (const table of tables)
      await tx.sql`create trigger note_taken after delete on ${sql.raw(table)} referencing old table as gone for each statement execute function note_taken()`;
  });
}

/** The deleted rows of each statement. */
async function deletedFrom({ store }: Pick<TestDatabase, 'store'>, table: string): Promise<number[]> {
  const rows = await store.read((tx) => tx.sql<{ n: number }>`select n from taken where n > 0 and name = ${table}`);
  return rows.map(({ n }) => Number(n));
}
