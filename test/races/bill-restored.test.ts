import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import type { Store, Tx } from '../../server/db/store.ts';
import { type BilledShop, billedShop } from '../support/billed-shop.ts';
import { proveBooks } from '../support/prove.ts';
import { startService } from '../support/service.ts';

type Backup = ReadonlyMap<string, string>;

/** All tables except the database's own and the audit log, whose lines are immutable. */
const TABLES = `select c.relname as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname not in ('schema_migrations', 'schema_origin', 'audit_log', 'audit_keys')`;

async function backUp(store: Store): Promise<Backup> {
  return store.read(async (tx) => {
    const rows = new Map<string, string>();
    for (const { name } of await tx.sql<{ name: string }>`${sql.raw(TABLES)}`) {
      const [found] = await tx.sql<{
        rows: string;
      }>`select coalesce(json_agg(t), '[]')::text as rows from "${sql.raw(name)}" t`;
      rows.set(name, found!.rows);
    }
    return rows;
  });
}

/** Everything since the backup is lost. */
async function restore(store: Store, backup: Backup): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`truncate ${sql.raw([...backup.keys()].map((name) => `"${name}"`).join(', '))}`;
    await putBack(tx, backup);
  });
}

/** Reinserts missing rows and deletes nothing. */
async function putBack(tx: Tx, backup: Backup): Promise<void> {
  for (const [name, rows] of backup)
    await tx.sql`insert into "${sql.raw(name)}" select * from json_populate_recordset(null::"${sql.raw(name)}", cast(${rows} as json)) on conflict do nothing`;
}

const audited = async (shop: BilledShop): Promise<boolean | undefined> =>
  (await proveBooks({ store: shop.service.app.store })).proofs.find(({ check }) => check === 'bills')?.ok;

for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
  test(`${payWay}: after a restore the bill lists every lost payment and refund, and no check passes until they are back`, async (t: ExecutionContext) => {
    const service = await startService(t);
    const { store } = service.app;
    const shop = await billedShop(service, payWay);
    const kept = await shop.paid();
    const before = await backUp(store);
    const lost = [await shop.paid(), await shop.paid()] as const;
    await shop.refunded(lost[0]);
    await shop.refunded(kept);
    const [known] = await store.read((tx) => tx.refunds.list({ orderNo: lost[0] }));
    const after = await backUp(store);

    await restore(store, before);
    t.is(await store.read((tx) => tx.orders.find({ orderNo: lost[0] })), undefined);
    await shop.nextDay();
    await shop.refetch();

    const rows = await store.read((tx) => tx.billDifferences.list({ kind: 'order_unknown_here' }));
    t.deepEqual(
      rows.map(({ orderNo, refundNo, state }) => `${orderNo} ${refundNo ?? 'payment'} ${state}`).toSorted(),
      [...lost.map((orderNo) => `${orderNo} payment listed`), `${lost[0]} ${known!.refundNo} listed`].toSorted(),
    );
    const listed = await shop.exceptions();
    t.is(listed.filter(({ kind }) => kind === 'order_unknown_here').length, 3);
    t.is((await shop.bill()).notOurs, 0);
    // The lost payments and refunds of orders that still exist are queried as usual.
    t.true(await shop.knowsRefund(kept, ''));
    t.is(await audited(shop), false);

    await store.transaction((tx) =>
      putBack(
        tx,
        new Map([...after].filter(([name]) => ['orders', 'refunds', 'transitions', 'events'].includes(name))),
      ),
    );
    await shop.rerun();
    t.deepEqual(
      (await store.read((tx) => tx.billDifferences.list({ kind: 'order_unknown_here' }))).map(({ state }) => state),
      ['healed', 'healed', 'healed'],
    );
    t.deepEqual(
      (await shop.exceptions()).filter(({ kind }) => kind === 'order_unknown_here'),
      [],
    );
    t.is(await audited(shop), true);
  });
