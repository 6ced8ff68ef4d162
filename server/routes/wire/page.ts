import type { Page } from '../../http/contract.ts';
import { type CursorPosition, writeCursor } from './fields.ts';

/**
 * Cuts a list that was read with one entry more than `limit` into a page;
 * the cursor is the position of the last entry that is shown.
 */
export function page<R, T>(
  rows: readonly R[],
  limit: number,
  position: (row: R) => CursorPosition,
  present: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  const hasMore = rows.length > limit;
  const last = shown.at(-1);
  return {
    data: shown.map(present),
    page: { nextCursor: hasMore && last ? writeCursor(position(last)) : null, hasMore },
  };
}
