import type { ExecutionContext } from 'ava';
import type { Service } from './service.ts';

interface LedgerOrder {
  orderNo: string;
  payWay: string;
  amount: number;
  paid: number;
  payments: number;
  refunded: number;
}

/** Returns the simulator's own ledger, by order. */
export async function ledgerOf(service: Service): Promise<Map<string, LedgerOrder>> {
  const { orders } = (await service.sim('/sim/ledger')) as unknown as { orders: LedgerOrder[] };
  return new Map(orders.map((order) => [order.orderNo, order]));
}

/** G16: compares the service's orders and refunds with the simulator's ledger: one event per transition, sums within bounds. Returns the number of orders. */
export async function assertLedgersMatch(t: ExecutionContext, service: Service): Promise<number> {
  for (let round = 0; round < 5 && (await isChannelAhead(service)); round += 1) await runUntilQuiet(service, 120, 120);
  const ledger = await ledgerOf(service);
  const { store } = service.app;
  const orders = await store.read((tx) => tx.orders.list({}));
  for (const order of orders) {
    const theirs = ledger.get(order.orderNo);
    const refunds = await store.read((tx) => tx.refunds.list({ orderNo: order.orderNo }));
    const surplus = refunds
      .filter((one) => one.surplus && one.state === 'succeeded')
      .reduce((sum, one) => sum + one.amount, 0n);
    const inSums = refunds
      .filter((one) => !one.surplus && one.state === 'succeeded')
      .reduce((sum, one) => sum + one.amount, 0n);
    t.is(order.refunded, inSums, `${order.orderNo}: refunded is the sum of its refunds`);
    if (order.paid > 0n || surplus === 0n)
      t.is(Number(order.paid), theirs?.paid ?? 0, `${order.orderNo} (${order.state}): paid`);
    t.is(Number(inSums + surplus), theirs?.refunded ?? 0, `${order.orderNo}: refunded`);
    t.true(order.refunded + order.refunding <= order.paid + order.overrun);
  }
  const twice = await store.read(
    (tx) =>
      tx.sql<{ n: number }>`select count(*)::int as n from (select object_no, type from events
      where type in ('order.paid', 'order.closed', 'order.paid_late', 'refund.succeeded') group by 1, 2
      having count(*) > greatest(1, (select count(*) from transitions m where m.refund_no = object_no and m.to_state = 'succeeded'))) d`,
  );
  t.is(twice[0]?.n, 0, 'one event per move');
  const silent = await store.read(
    (tx) =>
      tx.sql<{
        n: number;
      }>`select count(*)::int as n from transitions m where m.to_state = 'paid' and m.refund_no is null
      and not exists (select 1 from events e where e.object_no = m.order_no and e.type = 'order.paid')`,
  );
  t.is(silent[0]?.n, 0, 'every paid order was told');
  return orders.length;
}

/** Whether a refund succeeded at the channel while its answer was lost; the service finds out by its next query. */
async function isChannelAhead(service: Service): Promise<boolean> {
  const open = await service.app.store.read((tx) => tx.refunds.list({ state: ['pending', 'processing'] }));
  if (open.length === 0) return false;
  const ledger = await ledgerOf(service);
  const orders = await service.app.store.read((tx) => tx.orders.list({ orderNo: open.map(({ orderNo }) => orderNo) }));
  return orders.some(({ orderNo, refunded }) => Number(refunded) < (ledger.get(orderNo)?.refunded ?? 0));
}

/** Runs all due work in rounds, advancing the service's clock between them. */
export async function runUntilQuiet(service: Service, seconds: number, step = 1800): Promise<void> {
  await service.app.sweep.once();
  for (let passed = 0; passed < seconds; passed += step) {
    service.clock.advance(step);
    await service.sim('/sim/clock', { advanceSeconds: step });
    await service.app.sweep.once();
  }
}

/** G3: everything is final, listed as an exception, or due. Returns the numbers of all others. */
export async function unexplained(service: Service): Promise<string[]> {
  const rows = await service.app.store.read(
    (tx) =>
      tx.sql<{
        number: string;
      }>`select o.order_no as number from orders o where o.state not in ('paid', 'closed', 'failed') and o.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = o.order_no and e.state = 'open')
        union all
        select r.refund_no from refunds r where r.state not in ('succeeded', 'failed') and r.next_check_at is null
          and not exists (select 1 from order_exceptions e where e.order_no = r.order_no and e.state = 'open')`,
  );
  return rows.map(({ number }) => number);
}
