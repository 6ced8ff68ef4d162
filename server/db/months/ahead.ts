import type { OpenDatabase } from '../orm.ts';
import { createStore, type Store } from '../store.ts';
import { whenFree } from './patient-lock.ts';
import { monthFrom, monthName, MONTHLY, type MonthlyTable, type Part, partsOf, REST } from './tables.ts';

/** So long before a month begins its table is there. */
const AHEAD_MS = 35 * 86_400_000;

/** What became of the months of a table; `rest`: there are rows of that month in the rest, and they stay there. */
export interface MonthMade {
  name: string;
  result: 'made' | 'busy' | 'rest';
}

/** Makes the tables of this month and of those that begin within five weeks, where there are none. */
export async function makeMonthsAhead(store: Store, now: Date): Promise<MonthMade[]> {
  const made: MonthMade[] = [];
  for (const table of MONTHLY) {
    const parts = await store.read((tx) => partsOf(tx, table));
    for (let month = monthFrom(now); month.getTime() < now.getTime() + AHEAD_MS; month = monthFrom(month, 1))
      if (!isCovered(parts, month))
        made.push({ name: monthName(table, month), result: await makeMonth(store, table, month) });
  }
  return made;
}

function isCovered(parts: readonly Part[], month: Date): boolean {
  return parts.some(({ from, to, isRest }) => !isRest && from !== null && from <= month && to !== null && month < to);
}

const CHECK_VIOLATION = '23514';
const DUPLICATE_TABLE = '42P07';

async function makeMonth(store: Store, table: MonthlyTable, month: Date): Promise<MonthMade['result']> {
  const name = monthName(table, month);
  const bounds = [month, monthFrom(month, 1)].map((at) => `'${at.toISOString()}'`);
  try {
    const isMade = await whenFree(store, async (tx) => {
      await tx.sql(`create table "${name}" (like "${table.name}_${REST}" including all)`);
      await tx.sql(
        `alter table "${table.name}" attach partition "${name}" for values from (${bounds[0]}) to (${bounds[1]})`,
      );
    });
    return isMade ? 'made' : 'busy';
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === CHECK_VIOLATION) return 'rest';
    // Another replica was faster.
    if (code === DUPLICATE_TABLE) return 'made';
    throw error;
  }
}

/** Has PostgreSQL count the rows of divided tables: it does so by itself for each part, but not for the whole. */
export async function countParts(database: OpenDatabase): Promise<void> {
  const own = (await database.reopen?.()) ?? database;
  try {
    const store = createStore(own, () => {});
    for (const { name } of MONTHLY) await store.autocommit((tx) => tx.sql(`analyze "${name}"`));
  } finally {
    if (own !== database) await own.close();
  }
}
