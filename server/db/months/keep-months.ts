import type { OpenDatabase } from '../orm.ts';
import { createStore } from '../store.ts';
import { makeMonthsAhead, type MonthMade } from './ahead.ts';
import { divideByMonths, type HalfDivided, halfDivided, SMALL_BYTES } from './divide.ts';

/** What was done about the tables of months; `refused`: this role does not own the tables, so somebody else has to. */
export interface MonthsKept {
  divided: string[];
  months: MonthMade[];
  refused?: Error;
  /** When refused: tables that somebody else has begun to divide, and not ended. */
  begun: HalfDivided[];
}

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Divides what is not divided and makes the tables of the months that come; at a start only small tables are divided, so that it
 * takes no time. Without it everything goes on: rows stand in the undivided table, or in its rest.
 */
export async function keepMonths(database: OpenDatabase, now: Date, isStart = false): Promise<MonthsKept> {
  const kept: MonthsKept = { divided: [], months: [], begun: [] };
  if (database.kind !== 'postgres') return kept;
  const store = createStore(database, () => {});
  try {
    kept.divided = await divideByMonths(database, { now, ...(isStart && { atMost: SMALL_BYTES }) });
    kept.months = await makeMonthsAhead(store, now);
    return kept;
  } catch (error) {
    if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    return { ...kept, refused: error as Error, begun: await halfDivided(store) };
  }
}
