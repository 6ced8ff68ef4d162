import { BUSY } from '../../errors.ts';
import type { Store } from '../store.ts';
import { pendingRefunds } from './bill-lists.ts';
import { inParts, PART_ROWS } from './parts.ts';
import type { Removal } from './retention.ts';

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * The lines of bills of old days: whole months at once, and what stands in a month that is not over by its bills. The bills stay, with how the
 * refunds ended that their lines said were under way.
 */
export const removeBillLines: Removal = async (store, before, goesOn = () => true) => {
  const limit = before.toISOString().slice(0, 10);
  await keepPendingRefunds(store, limit);
  let removed = 0;
  for (const month of await monthsBefore(store, limit)) {
    if (!goesOn()) return removed;
    if ((await dropMonth(store, month)) === 'refused') removed += await removeOlder(store, month, limit, goesOn);
  }
  removed += await removeOlder(store, 'bill_lines_rest', limit, goesOn);
  const current = await store.read((tx) =>
    tx.sql<{ bill_no: string; day: string }>(
      `select bill_no, day::text as day from bills where day < cast(? as date) and day >= date_trunc('month', cast(? as date)) order by day`,
      [limit, limit],
    ),
  );
  for (const { bill_no: billNo, day } of current) {
    if (!goesOn()) return removed;
    removed += await removePart(
      store,
      'bill_lines',
      `t.bill_no = $1 and t.day = cast($2 as date)`,
      [billNo, day],
      goesOn,
    );
  }
  return removed;
};

/** Settlement asks the lines how these refunds ended, and could not any more. */
async function keepPendingRefunds(store: Store, limit: string): Promise<void> {
  const bills = await store.read((tx) =>
    tx.prepared<{ bill_no: string }>(
      `select bill_no from bills where day < cast($1 as date) and pending_refunds is null
          and exists (select 1 from jsonb_array_elements(sums) s where cast(s->>'pending' as int) > 0) order by day, bill_no`,
      [limit],
    ),
  );
  for (const { bill_no: billNo } of bills)
    await store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (bill) await tx.bills.update({ billNo }, { pendingRefunds: await pendingRefunds(tx, [bill]) });
    });
}

/** Tables of months that ended before a day. */
async function monthsBefore(store: Store, limit: string): Promise<string[]> {
  const rows = await store.read((tx) =>
    tx.sql<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'bill_lines'::regclass and c.relname ~ '^bill_lines_[0-9]{4}_[0-9]{2}$' order by c.relname`,
    ),
  );
  return rows.map(({ name }) => name).filter((name) => firstDayAfter(name) <= limit);
}

/** `bill_lines_2026_11` ends before `2026-12-01`. */
function firstDayAfter(name: string): string {
  const [year, month] = name.split('_').slice(2).map(Number) as [number, number];
  return new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
}

/** A role that may not is `refused`: the rows are removed instead. While others read the table it stays until the next hour. */
async function dropMonth(store: Store, name: string): Promise<'dropped' | 'refused' | 'busy'> {
  try {
    await store.autocommit((tx) => tx.sql(`drop table if exists "${name}"`));
    return 'dropped';
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    if (code === INSUFFICIENT_PRIVILEGE) return 'refused';
    if (BUSY.test(code)) return 'busy';
    throw error;
  }
}

function removeOlder(store: Store, table: string, limit: string, goesOn: () => boolean): Promise<number> {
  return removePart(store, table, 't.day < cast($1 as date)', [limit], goesOn);
}

function removePart(
  store: Store,
  table: string,
  condition: string,
  values: readonly unknown[],
  goesOn: () => boolean,
): Promise<number> {
  const text = `delete from ${table} where (bill_no, reading, line, day) in (
      select t.bill_no, t.reading, t.line, t.day from ${table} t where ${condition} limit ${PART_ROWS}) returning 1`;
  return inParts<true>(async () => {
    const { length } = await store.autocommit((tx) => tx.prepared(text, values));
    return { removed: length, next: length < PART_ROWS ? undefined : true };
  }, goesOn);
}
