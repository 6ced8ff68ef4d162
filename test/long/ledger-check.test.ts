import { sql } from 'kysely';
import test from 'ava';
import { BOOK_CHECKS, checkStatement, nextKeys, type WalkName, WALKS } from '../../server/db/queries/ledger-check.ts';
import { count } from '../support/counts.ts';
import { postgresDatabase, explain } from '../support/database.ts';
import { proveBooks } from '../support/prove.ts';
import { seedLedger } from '../support/seed-ledger.ts';

const TOTAL = count(1_000_000, 20_000);
const PAGE = 2_000;
/** The maximum rows per statement of a page, for any table size: five transitions or two events an order, plus a margin. */
const BOUND = 12 * PAGE;

test.beforeEach((t) => t.timeout(3_600_000));

test('the ledger check of many orders runs in pages, and each statement reads a bounded number of rows', async (t) => {
  const on = await postgresDatabase(t, 4);
  await seedLedger(on, TOTAL);
  const { store } = on;
  let statements = 0;
  let most = 0;
  for (const walk of Object.keys(WALKS) as WalkName[]) {
    const { table, key } = WALKS[walk];
    const [middle] = await store.read(
      (tx) =>
        tx.sql<{
          key: string;
        }>`select ${sql.raw(key)}::text as key from ${sql.raw(table)} order by ${sql.raw(key)} offset (select count(*) / 2 from ${sql.raw(table)}) limit 1`,
    );
    for (const after of [WALKS[walk].first, middle!.key]) {
      const { last } = await store.read((tx) => nextKeys(tx, walk, after, PAGE));
      for (const check of BOOK_CHECKS) {
        const statement = checkStatement(check, walk, { after, upTo: last });
        if (!statement) continue;
        const plan = await explain(store, () => statement);
        statements += 1;
        most = Math.max(most, plan.rows);
        t.true(plan.rows <= BOUND, `${check.check} of ${walk} after ${after}: ${plan.rows} rows touched`);
      }
    }
  }
  const { ok, pages, proofs } = await proveBooks(on, PAGE);
  t.true(ok, JSON.stringify(proofs.filter((proof) => !proof.ok)));
  await store.transaction(
    (tx) => tx.sql`update orders set refunded = refunded - 1 where order_no = (select max(order_no) from orders)`,
  );
  const lied = await proveBooks(on, PAGE);
  t.deepEqual(
    lied.proofs.filter((proof) => !proof.ok).map(({ check, count: n }) => [check, n]),
    [['refunded', 1]],
  );
  t.log(`${TOTAL} orders: ${pages} pages; ${statements} statements, the largest touched ${most} rows`);
});
