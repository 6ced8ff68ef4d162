import test from 'ava';
import { Registry } from 'prom-client';
import { composeBillFigures } from '../../../server/compose/database-figures.ts';
import type { Base } from '../../../server/compose/base.ts';
import type { Store } from '../../../server/db/store.ts';
import { billRow } from '../../support/bill-rows.ts';
import { postgresDatabase } from '../../support/database.ts';

/** The bill metrics of a service on 23 November 2026. */
async function figures(store: Store): Promise<string[]> {
  const registry = new Registry();
  const now = () => new Date('2026-11-23T12:00:00Z');
  composeBillFigures({ config: { simulated: false }, store, metrics: { registry }, now } as unknown as Base);
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('differences and the age of bills are read from the database at each scrape', async (t) => {
  const { store } = await postgresDatabase(t);
  t.true((await figures(store)).every((line) => /^bill_differences\{kind="\w+"\} 0$/.test(line)));
  const wechat = billRow({ payWay: 'wechat', account: '1900000001', mode: 'live' });
  const compared = { state: 'done' as const, matchedAt: new Date() };
  await store.transaction(async (tx) => {
    await tx.bills.insert({ ...wechat, ...compared, billNo: 'B1', day: '2026-11-20' });
    await tx.bills.insert({ ...wechat, billNo: 'B2', day: '2026-11-22', state: 'waiting' });
    // Never compared since the 21st.
    await tx.bills.insert({ ...wechat, account: '1900000002', billNo: 'B3', day: '2026-11-21', state: 'waiting' });
    // A removed account and a simulator account.
    await tx.bills.insert({ ...wechat, ...compared, account: '1900000003', billNo: 'B4', day: '2026-11-01' });
    await tx.bills.insert({ ...wechat, ...compared, mode: 'simulator', billNo: 'B5', day: '2026-11-01' });
    for (const [key, state] of [
      ['a', 'open'],
      ['b', 'listed'],
      ['c', 'healed'],
      ['d', 'ended'],
    ] as const)
      await tx.billDifferences.insert({
        id: crypto.randomUUID(),
        billNo: 'B1',
        payWay: 'wechat',
        project: 'default',
        day: '2026-11-20',
        kind: 'paid_unknown_to_us',
        orderNo: 'P1',
        refundNo: null,
        key,
        ours: null,
        theirs: null,
        state,
        checks: 0,
        nextCheckAt: null,
        leasedUntil: null,
        queueKey: 'wechat live 1',
        answer: null,
        createdAt: new Date(),
        finishedAt: null,
      });
  });
  const found = await figures(store);
  t.true(found.includes('bill_differences{kind="paid_unknown_to_us"} 2'));
  t.true(found.includes('bill_differences{kind="fee_differs"} 0'));
  t.deepEqual(
    found.filter((line) => line.startsWith('bill_age_seconds')),
    ['1900000001', '1900000002'].map((account) => `bill_age_seconds{pay_way="wechat",account="${account}"} 259200`),
  );
});

test('the bill metrics are absent during a database outage', async (t) => {
  const store = { read: () => Promise.reject(new Error('gone')) } as unknown as Store;
  t.deepEqual(await figures(store), []);
});
