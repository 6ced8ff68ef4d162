import test from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { configure } from './changed-identity.ts';
import { dispute, disputed, disputeOf, toldOf } from '../support/disputes.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startReplica } from '../support/replica.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

const HOUR = 3600;

async function stage(t: Parameters<typeof startService>[0]) {
  const service = await startService(t);
  const shop = await service.merchant();
  return { service, shop, orderNo: await payOrder(service, shop, { payWay: 'paypal', amount: 10 }) };
}

function refund(shop: Merchant, orderNo: string, refundAmount: number) {
  return shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
}

async function deliveriesOf(service: Service, orderNo: string, event: string): Promise<Delivery[]> {
  const deliveries = await service.deliveries(orderNo);
  return deliveries.filter((one) => one.event.startsWith(event));
}

async function post(url: string, { headers, bodyBase64 }: Delivery): Promise<number> {
  const body = Buffer.from(bodyBase64, 'base64');
  return (await fetch(`${url}/notify/paypal/default`, { method: 'POST', headers, body })).status;
}

/** A message that the simulator wrote and did not deliver. */
async function dropped(service: Service, orderNo: string, event: string): Promise<Delivery> {
  await until(event, async () => (await deliveriesOf(service, orderNo, event)).length > 0);
  return (await deliveriesOf(service, orderNo, event)).at(-1)!;
}

/** The order, its refunds and its open exceptions. */
async function known({ app }: Service, orderNo: string) {
  return app.store.read(async (tx) => ({
    order: (await tx.orders.find({ orderNo }))!,
    refunds: await tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc' } }),
    open: (await tx.exceptions.list({ orderNo, state: 'open' })).map(({ kind }) => kind),
  }));
}

async function balanced(t: Parameters<typeof assertLedgersMatch>[0], service: Service): Promise<void> {
  await assertLedgersMatch(t, service);
  const books = await proveBooks(service.app);
  t.deepEqual(
    books.proofs.filter(({ ok }) => !ok),
    [],
  );
}

for (const order of ['before', 'after'] as const)
  test.serial(`the refund of a lost dispute that is reported ${order} its end is counted once`, async (t) => {
    const { service, orderNo } = await stage(t);
    const disputeNo = await disputed(service, orderNo, 'open', 'open', { amount: 4 });
    await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
    await dispute(service, orderNo, 'lose', { refund: 'told' });
    const events = ['PAYMENT.CAPTURE.REFUNDED', 'CUSTOMER.DISPUTE.RESOLVED'];
    for (const event of order === 'before' ? events : events.toReversed())
      t.is(await post(service.url, await dropped(service, orderNo, event)), 200, event);
    const { order: row, refunds, open } = await known(service, orderNo);
    t.is(row.refunded, 400n);
    t.is(refunds.length, 1);
    t.truthy(refunds[0]!.channelRefundNo);
    t.like(await disputeOf(service, orderNo), { state: 'lost', amountLost: 400n, refundNo: refunds[0]!.refundNo });
    t.deepEqual(open, order === 'before' ? ['refund_elsewhere'] : []);
    t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened', 'dispute.closed']);
    await service.sim('/sim/notices', { payWay: 'paypal', enabled: true });
    await runUntilQuiet(service, 8 * HOUR, HOUR);
    t.is((await known(service, orderNo)).order.refunded, 400n, 'nor later');
    await balanced(t, service);
  });

test.serial('fifty copies of an event settle one dispute and report each change once', async (t) => {
  const { service, orderNo } = await stage(t);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  for (const [act, event] of [
    ['open', 'CUSTOMER.DISPUTE.CREATED'],
    ['escalate', 'CUSTOMER.DISPUTE.UPDATED'],
    ['lose', 'CUSTOMER.DISPUTE.RESOLVED'],
  ] as const) {
    await dispute(service, orderNo, act);
    const message = await dropped(service, orderNo, event);
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(service.url, message)));
    // A request that waits too long for the order's lock gets only "retry later".
    t.true(
      answers.every((status) => status === 200 || status === 503),
      `${event}: ${[...new Set(answers)].join()}`,
    );
    t.true(answers.includes(200), event);
  }
  t.is(await service.app.store.read((tx) => tx.disputes.count({ orderNo })), 1);
  const { disputeNo } = (await disputeOf(service, orderNo))!;
  t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened', 'dispute.updated', 'dispute.closed']);
  const { order, refunds, open } = await known(service, orderNo);
  t.is(order.refunded, 1000n);
  t.deepEqual([refunds.length, open], [1, []]);
  await balanced(t, service);
});

for (const refundAmount of [4, 10])
  test.serial(`a dispute that is lost while ${refundAmount} of 10 are refunded keeps the sums correct`, async (t) => {
    const { service, shop, orderNo } = await stage(t);
    await disputed(service, orderNo, 'open', 'open', { amount: 6 });
    await Promise.all([dispute(service, orderNo, 'lose'), refund(shop, orderNo, refundAmount)]);
    await until('the end of the dispute', async () => (await disputeOf(service, orderNo))?.state === 'lost');
    await runUntilQuiet(service, 8 * HOUR, 600);
    const { order, refunds } = await known(service, orderNo);
    const sum = (state: string) =>
      refunds.filter((one) => one.state === state).reduce((all, { amount }) => all + amount, 0n);
    t.is(order.refunded, sum('succeeded'));
    t.true(order.refunded + order.refunding <= order.paid + order.overrun);
    await balanced(t, service);
  });

for (const amount of [10, 6])
  test.serial(
    `our own refund during a dispute about ${amount} is not counted again if the dispute is lost`,
    async (t) => {
      const { service, shop, orderNo } = await stage(t);
      await disputed(service, orderNo, 'open', 'open', { amount });
      t.is((await refund(shop, orderNo, 10)).status, 200);
      await dispute(service, orderNo, 'lose', { refund: 'told' });
      await until('the end of the dispute', async () => (await disputeOf(service, orderNo))?.state === 'lost');
      t.like(await disputeOf(service, orderNo), { amountLost: 0n, refundNo: null });
      const { order, refunds, open } = await known(service, orderNo);
      t.deepEqual([order.refunded, order.overrun, refunds.length, open], [1000n, 0n, 1, []]);
      await balanced(t, service);
    },
  );

test.serial('a dispute whose notifications were lost is found, followed and closed', async (t) => {
  const { service, orderNo } = await stage(t);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await dispute(service, orderNo, 'open');
  t.is(await disputeOf(service, orderNo), undefined);
  await service.app.findDisputes();
  const { disputeNo, nextCheckAt } = (await disputeOf(service, orderNo))!;
  t.truthy(nextCheckAt);
  await dispute(service, orderNo, 'escalate');
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute', fault: '502', times: 1 });
  await runUntilQuiet(service, 2 * HOUR, 600);
  t.is((await disputeOf(service, orderNo))?.state, 'needs_answer', 'the query continues after one silence');
  await dispute(service, orderNo, 'lose');
  await runUntilQuiet(service, 13 * HOUR, HOUR);
  t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened', 'dispute.updated', 'dispute.closed']);
  t.is((await known(service, orderNo)).order.refunded, 1000n);
  await balanced(t, service);
});

test.serial(
  'a dispute about an order of a former account identity is accepted by any configured identity',
  async (t) => {
    const simulator = await ownSimulator(t);
    const service = await startService(t, { simulator });
    const { logIn } = await firstAdmin(service);
    const shop = await service.merchant();
    const orders = [await payOrder(service, shop, { payWay: 'paypal', amount: 10 })];
    await configure({ service, shop, logIn, payWay: 'paypal' }, 'merchant');
    orders.push(await payOrder(service, shop, { payWay: 'paypal', amount: 10 }));
    for (const orderNo of orders) {
      const disputeNo = await disputed(service, orderNo, 'open', 'open');
      const [created] = await deliveriesOf(service, orderNo, 'CUSTOMER.DISPUTE.CREATED');
      t.is(await post(service.url, created!), 200, orderNo);
      t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened']);
    }
  },
);

test.serial('a dispute about an unknown payment is refused and opens an exception', async (t) => {
  const { service, orderNo } = await stage(t);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await dispute(service, orderNo, 'open');
  const message = await dropped(service, orderNo, 'CUSTOMER.DISPUTE.CREATED');
  await service.app.database.em.fork().execute(`delete from orders where order_no = '${orderNo}'`);
  t.is(await post(service.url, message), 400);
  t.is(await disputeOf(service, orderNo), undefined);
  const listed = await service.app.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'unmatched_notice' }));
  t.like(listed, { state: 'open', detail: { event: 'CUSTOMER.DISPUTE.CREATED' } });
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute', fault: '502', times: 1 });
  t.is(await post(service.url, message), 503, 'a message that cannot be verified is requested again');
});

for (const crashAt of ['dispute.asked', 'dispute.settled'])
  test.serial(`a replica that dies at ${crashAt} loses nothing and counts nothing twice`, async (t) => {
    const { service, orderNo } = await stage(t);
    const disputeNo = await disputed(service, orderNo, 'open', 'open');
    await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
    await dispute(service, orderNo, 'lose');
    const message = await dropped(service, orderNo, 'CUSTOMER.DISPUTE.RESOLVED');
    const victim = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
      sweepEveryMs: 60_000,
    });
    await post(victim.url, message).catch(() => {});
    t.is(await victim.ended, 'SIGKILL');
    await runUntilQuiet(service, 8 * HOUR, 600);
    t.like(await disputeOf(service, orderNo), { state: 'lost', amountLost: 1000n });
    t.deepEqual(await toldOf(service, disputeNo), ['dispute.opened', 'dispute.closed']);
    await balanced(t, service);
  });
