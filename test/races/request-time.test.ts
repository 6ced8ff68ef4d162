import test from 'ava';
import { TIMEOUTS } from '../../server/db/orm.ts';
import { watchWaits } from '../support/asked-waits.ts';
import { isLong } from '../support/counts.ts';
import { createDatabase } from '../support/database.ts';
import { layCable } from '../support/in-between.ts';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

/** The service's own bounds; in a short run half of each, for every one of them is waited out again and again. */
const BOUNDS = Object.fromEntries(Object.entries(TIMEOUTS).map(([name, ms]) => [name, isLong ? ms : ms / 2])) as Record<
  keyof typeof TIMEOUTS,
  number
>;

test('a database that swallows everything is waited for once, not once for each statement', async (t) => {
  const database = await createDatabase();
  t.teardown(() => database.drop());
  const cable = await layCable(t, database.url);
  const service = await startService(t, { url: cable.url, databaseTimeouts: BOUNDS });
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, { amount: 20 });
  const waits = watchWaits(t, BOUNDS);
  const asked: number[] = [];
  const pay = { subject: 'Late', amount: 5, payWay: 'alipay' };
  const refund = { orderNo: paid, refundAmount: 1 };
  const scenes: [string, () => Promise<unknown>][] = [
    ['pay', () => shop.call('POST', '/api/v2/payment/pay', pay, { 'idempotency-key': 'late-1' })],
    ['refund', () => shop.call('POST', '/api/v2/payment/refund', refund)],
    ['query', () => shop.call('GET', `/api/v2/payment/query/${paid}`)],
    ['close', () => shop.call('POST', `/api/v2/payment/close/${paid}`)],
  ];
  for (const [what, ask] of scenes)
    for (const statement of [1, 4, 7]) {
      await until('back', async () => (await shop.call('GET', `/api/v2/payment/query/${paid}`)).status === 200);
      waits.forget();
      // The black hole begins in the middle of the request: each statement before was answered.
      let passed = 0;
      waits.onQuery(() => void ((passed += 1) === statement && cable.swallow()));
      const { status } = (await ask()) as { status: number };
      waits.onQuery(() => {});
      cable.mend();
      const longest = Math.max(...waits.inVain());
      asked.push(longest);
      t.true(longest <= BOUNDS.request, `${what} waited ${longest} ms from its statement ${statement} on (${status})`);
    }
  t.true(asked.filter((ms) => ms > 0).length > 8, `${asked.join()}: the black hole was met`);
  t.log(`waited for in vain (ms): ${asked.join(', ')}`);
});
