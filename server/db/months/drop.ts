import type { Store } from '../store.ts';
import { whenFree } from './patient-lock.ts';
import { type MonthlyTable, type Part, partsOf } from './tables.ts';

/** A part that nobody sees any more; what is left of a drop that was cut short is dropped the next time. */
const GONE = '_gone';

/**
 * Drops the parts of a table that are older than an instant as a whole: each is detached in one short transaction and
 * dropped in another, so whoever writes waits for an instant only. Returns how many there were. A part with rows that are kept,
 * or that is in use all the time, stays until the next time.
 */
export async function dropOldParts(store: Store, table: MonthlyTable, before: Date): Promise<number> {
  const parts = await store.read((tx) => partsOf(tx, table));
  let dropped = 0;
  for (const { name, to, isRest } of parts) {
    if (isRest || to === null || to > before || (await hasKept(store, table, name, before))) continue;
    const isDetached = await whenFree(store, async (tx) => {
      await tx.sql(`alter table "${table.name}" detach partition "${name}"`);
      await tx.sql(`alter table "${name}" rename to "${name}${GONE}"`);
    });
    if (isDetached) dropped += 1;
  }
  await dropGone(store, table);
  return dropped;
}

async function hasKept(store: Store, { keeps }: MonthlyTable, part: string, before: Date): Promise<boolean> {
  if (keeps === undefined) return false;
  const rows = await store.read((tx) =>
    tx.prepared(`select 1 from "${part}" where ${keeps} limit 1`, keeps.includes('$1') ? [before] : []),
  );
  return rows.length > 0;
}

async function dropGone(store: Store, { name }: MonthlyTable): Promise<void> {
  const gone = await store.read((tx) =>
    tx.sql<{ name: string }>(
      `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = current_schema() and c.relkind = 'r' and c.relname ~ ? and not c.relispartition`,
      [`^${name}_[0-9]{4}_[0-9]{2}${GONE}$`],
    ),
  );
  for (const { name: table } of gone) await store.autocommit((tx) => tx.sql(`drop table if exists "${table}"`));
}

/** The parts from which old rows go one by one: the rest; every one when months are too long. */
export function partsByRow(parts: readonly Part[], everyPart: boolean): string[] {
  return parts.filter(({ isRest }) => everyPart || isRest).map(({ name }) => name);
}
