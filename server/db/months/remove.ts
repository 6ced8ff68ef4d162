import type { Removal } from '../queries/retention.ts';
import { noteRemoved } from '../queries/removed-history.ts';
import { dropOldParts, partsByRow } from './drop.ts';
import { monthlyTable, type MonthlyTable, partsOf } from './tables.ts';

/** Below this, a month more would be too long: rows go one by one from every part. */
const DAYS_OF_A_MONTH = 31;

/** How one of the tables of months loses what is old. */
export interface MonthlyRemoval {
  table: MonthlyTable['name'];
  days: number;
  /** Removes rows of one part. */
  rows: (part: string) => Removal;
  /** Hears of each part that was dropped as a whole. */
  dropped: (table: string) => void;
}

/**
 * Removes what is older: months as a whole once they are over, rows one by one from the rest, or where months would keep them
 * for much longer than asked for.
 */
export function removeMonthly({ table: name, days, rows, dropped }: MonthlyRemoval): Removal {
  const table = monthlyTable(name);
  return async (store, before, goesOn = () => true) => {
    await noteRemoved(store, name, before);
    const whole = await dropOldParts(store, table, before).catch(asNotAllowed);
    for (let left = whole ?? 0; left > 0; left -= 1) dropped(name);
    let removed = 0;
    const now = await store.read((tx) => partsOf(tx, table));
    for (const part of partsByRow(now, whole === undefined || days < DAYS_OF_A_MONTH))
      if (goesOn()) removed += await rows(part)(store, before, goesOn);
    return removed;
  };
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** A role that does not own the tables removes their rows. */
function asNotAllowed(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== INSUFFICIENT_PRIVILEGE) throw error;
}
