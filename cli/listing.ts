import type { Query } from './api-client.ts';
import type { Context } from './context.ts';
import { UsageError } from './errors.ts';
import type { Row, View } from './values.ts';
import { isDrawn, watch, type WatchFlags } from './watch.ts';

/** The flags of every list. */
export interface ListFlags {
  limit?: number;
  all?: boolean;
  cursor?: string;
}

/** Prints a list, page by page where the format allows it; says on stderr when more rows exist. */
export async function printList(
  { api, print, terminal }: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags,
  /** Sees the rows of each page. */
  look: (rows: readonly Row[]) => void = () => {},
): Promise<void> {
  const held: Row[] = [];
  let printed = 0;
  let lag = 0;
  /** Younger than a second is what a list is anyhow by the time it is read. */
  const tellLag = async () => {
    if (lag >= 1) await print.note(`These rows may be ${Math.round(lag)} s old: they come from a read replica.`);
  };
  for await (const page of api.pages(path, {
    ...query,
    limit: flags.limit ?? (flags.all ? 200 : undefined),
    cursor: flags.cursor,
  })) {
    look(page.rows);
    lag = Math.max(lag, page.lagSeconds ?? 0);
    if (print.linewise) {
      await print.list(page.rows, view, { continued: printed > 0 });
      printed += page.rows.length;
    } else held.push(...page.rows);
    if (terminal.out.closed) return;
    if (flags.all || page.nextCursor === null) continue;
    if (!print.linewise) await print.list(held, view);
    await tellLag();
    return print.note(`There are more rows: add --all, or --cursor ${page.nextCursor}`);
  }
  if (!print.linewise) await print.list(held, view);
  await tellLag();
  if (held.length === 0 && printed === 0 && print.format === 'table') await print.note(`No ${view.noun} found.`);
}

/** A page that a look reads, and how many pages it reads to find where the look before began. */
const WATCHED_ROWS = 200;
const MOST_PAGES = 50;

/** Watches the newest rows of a list: on a terminal as many as it has room for, in a pipe every row that is new or changed among them. */
export function watchList(
  context: Context,
  path: string,
  query: Query,
  view: View,
  flags: ListFlags & WatchFlags,
): Promise<void> {
  if (flags.all || flags.cursor !== undefined)
    throw new UsageError('--watch shows the newest rows, without --all and --cursor.');
  const { api, terminal } = context;
  const drawn = isDrawn(context);
  const look = async (isKnown: (row: Row) => boolean): Promise<Row[]> => {
    const limit = flags.limit ?? (drawn ? Math.max(1, Math.min(WATCHED_ROWS, terminal.out.rows - 3)) : undefined);
    const found: Row[] = [];
    let pages = 0;
    for await (const { rows } of api.pages(path, { ...query, limit })) {
      found.push(...rows);
      pages += 1;
      // In a pipe nothing is left out: more than a page may have come since the last look.
      if (drawn || isFirst || pages === MOST_PAGES || rows.some(isKnown)) break;
    }
    isFirst = false;
    return found;
  };
  let isFirst = true;
  return watch(context, flags, { view, look });
}
