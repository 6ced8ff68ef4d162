import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import type { Store } from '../../server/db/store.ts';
import { embeddedDatabase, postgresDatabase } from '../support/database.ts';

type Scene = (t: ExecutionContext, store: Store) => Promise<void>;

/** All tables that scenes may have written to. */
const WRITTEN = `select tablename as name from pg_tables where schemaname = 'public' and tablename not in ('schema_migrations', 'projects')`;

/** Declares the scenes of a file: each on a PostgreSQL database, and all serially on an embedded one. */
export function scenesOnBoth(what: string): (title: string, run: Scene) => void {
  const scenes: Scene[] = [];
  test(`${what}: each of these on the embedded database`, async (t) => {
    const { store } = await embeddedDatabase(t);
    for (const scene of scenes) {
      await scene(t, store);
      await store.transaction(async (tx) => {
        const written = await tx.sql<{ name: string }>`${sql.raw(WRITTEN)}`;
        await tx.sql`truncate ${sql.raw(written.map(({ name }) => name).join(', '))} cascade`;
      });
    }
  });
  return (title, run) => {
    test(title, async (t) => run(t, (await postgresDatabase(t)).store));
    scenes.push(run);
  };
}
