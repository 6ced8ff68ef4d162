import test from 'ava';
import { makeMonth, removeBillLines } from '../../server/db/queries/bill-lines.ts';
import type { Store } from '../../server/db/store.ts';
import { account } from '../support/bill-rows.ts';
import { type TestDatabase, postgresDatabase } from '../support/database.ts';

/** Noon, so many days after the day of the bills. */
const later = (days: number): Date => new Date(Date.parse('2026-11-20T12:00:00Z') + days * 86_400_000);

/** `day lines` of every day that has lines. */
async function days({ store }: Pick<TestDatabase, 'store'>): Promise<string[]> {
  const rows = await store.read(
    (tx) =>
      tx.sql<{
        day: string;
        n: number;
      }>`select day::text as day, count(*)::int as n from bill_lines group by day order by day`,
  );
  return rows.map(({ day, n }) => `${day} ${n}`);
}

/** Bills of 20 November, 30 November and 1 December, of three lines each. */
async function threeBills(store: Store): Promise<void> {
  const at = account(store);
  for (const day of [0, 10, 11]) await at.bill([{}, {}, {}], day);
}

test('lines of a past month are dropped at once, lines of the current month by day; bills stay', async (t) => {
  const on = await postgresDatabase(t);
  await makeMonth(on.store, '2026-11-20');
  await threeBills(on.store);
  t.deepEqual(await days(on), ['2026-11-20 3', '2026-11-30 3', '2026-12-01 3']);
  t.is(await removeBillLines(on.store, later(0)), 0);
  t.is(await removeBillLines(on.store, later(10)), 3, 'lines of the current month are dropped by day');
  t.deepEqual(await days(on), ['2026-11-30 3', '2026-12-01 3']);
  const both = await Promise.all([removeBillLines(on.store, later(11)), removeBillLines(on.store, later(11))]);
  t.deepEqual(both, [0, 0], 'a month is dropped, not emptied');
  t.deepEqual(await days(on), ['2026-12-01 3']);
  t.is(await removeBillLines(on.store, later(12)), 3, 'December has no table of its own');
  t.deepEqual(await days(on), []);
  const bills = await on.store.read((tx) => tx.bills.list({}));
  t.is(bills.length, 3);
});

test('a month can be filled again after it was dropped', async (t) => {
  const on = await postgresDatabase(t);
  await makeMonth(on.store, '2026-11-20');
  await threeBills(on.store);
  await removeBillLines(on.store, later(40));
  t.true(await makeMonth(on.store, '2026-11-20'));
  await account(on.store).bill([{}]);
  t.deepEqual(await days(on), ['2026-11-20 1']);
});

test('a role that may not drop a table deletes its rows, and a table that is being read stays until the next run', async (t) => {
  const on = await postgresDatabase(t);
  await makeMonth(on.store, '2026-11-20');
  await threeBills(on.store);
  const failing = (code: string): Store => ({
    ...on.store,
    autocommit: (work) =>
      on.store.autocommit((tx) =>
        work({
          ...tx,
          sql: (text, ...values) =>
            text[0]!.startsWith('drop table')
              ? Promise.reject(Object.assign(new Error('refused'), { code }))
              : tx.sql(text, ...values),
        }),
      ),
  });
  t.is(await removeBillLines(failing('55P03'), later(11)), 0);
  t.deepEqual(await days(on), ['2026-11-20 3', '2026-11-30 3', '2026-12-01 3']);
  t.is(await removeBillLines(failing('42501'), later(11)), 6);
  t.deepEqual(await days(on), ['2026-12-01 3']);
  await t.throwsAsync(removeBillLines(failing('42P01'), later(60)), { message: 'refused' });
});
