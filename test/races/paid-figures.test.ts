import test from 'ava';
import { PAY_WAYS } from '../../server/payments/channel.ts';
import { count } from '../support/counts.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { type Service, startService, until } from '../support/service.ts';

/** The payment counts of a replica by channel and by source of the report. */
async function paidFigures({ app }: Service): Promise<Map<string, number>> {
  const found = await app.metrics.registry.getSingleMetric('orders_paid_total')!.get();
  return new Map(found.values.map(({ labels, value }) => [`${labels['pay_way']} ${labels['by']}`, value]));
}

test('concurrent reports of a payment on two replicas count the order once', async (t) => {
  const one = await startService(t);
  const { databaseUrl: url, simulator } = one;
  const two = await startService(t, { url, simulator, now: one.clock.now });
  const shop = await one.merchant();
  const each = count(40, 6);
  const placed = PAY_WAYS.flatMap((payWay) => Array.from({ length: each }, () => payWay));
  const orders = await Promise.all(placed.map((payWay) => placeOrder(shop, { payWay })));
  const sql = (statement: string) => one.app.database.em.fork().execute(statement);
  await Promise.all(
    orders.map(async (orderNo, turn) => {
      await one.sim('/sim/pay', { orderNo });
      if (turn % 2 === 0) return;
      // Both replicas query the channel, and its notification arrives meanwhile.
      await sql(`update orders set checked_at = null, next_check_at = now() where order_no = '${orderNo}'`);
      const query = (at: Service) => shop.callAt(at.url, 'GET', `/api/v2/payment/query/${orderNo}`);
      await Promise.all([query(one), query(two), one.app.sweep.once(), two.app.sweep.once()]);
    }),
  );
  for (const orderNo of orders)
    await until(`${orderNo} paid`, async () => {
      await one.app.sweep.once();
      return (await stateOf(one, orderNo)) === 'paid';
    });
  const figures = await Promise.all([one, two].map(paidFigures));
  const sums = new Map<string, number>();
  for (const [series, value] of figures.flatMap((map) => [...map])) {
    const [payWay = ''] = series.split(' ');
    sums.set(payWay, (sums.get(payWay) ?? 0) + value);
  }
  t.deepEqual(sums, new Map(PAY_WAYS.map((payWay) => [payWay, each])));
  const told = figures.flatMap((map, replica) =>
    [...map].filter(([, value]) => value > 0).map((pair) => [replica, ...pair].join(' ')),
  );
  t.log(`${orders.length} orders: ${told.join(', ')}`);
});

test('a payment whose commit fails is not counted until it is reported again', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await service.sim('/sim/pay', { orderNo });
  const sql = (statement: string) => service.app.database.em.fork().execute(statement);
  await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`);
  await sql(
    `create constraint trigger refuse after update on orders deferrable initially deferred for each row execute function refuse()`,
  );
  const query = async () => {
    await sql(
      `set session_replication_role = replica; update orders set checked_at = null; reset session_replication_role`,
    );
    return shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  };
  t.is((await query()).status, 500);
  t.is((await paidFigures(service)).get('wechat poll'), 0);
  await sql('drop trigger refuse on orders');
  t.is((await query()).body.data.status, 'paid');
  t.is((await paidFigures(service)).get('wechat poll'), 1);
});
