import type { OpenDatabase } from '../orm.ts';
import { createStore } from '../store.ts';
import { makeMonthsAhead, type MonthMade } from './ahead.ts';

/** What was done about the tables of months; `refused`: this role does not own the tables, so somebody else has to. */
export interface MonthsKept {
  months: MonthMade[];
  refused?: Error;
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Makes the tables of the months that come. Without it everything goes on: rows stand in the rest of their table. */
export async function keepMonths(database: OpenDatabase, now: Date): Promise<MonthsKept> {
  try {
    return {
      months: await makeMonthsAhead(
        createStore(database, () => {}),
        now,
      ),
    };
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    return { months: [], refused: error as Error };
  }
}
