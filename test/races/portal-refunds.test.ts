import test from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startVictim } from '../support/replica.ts';
import { startService, until, type Service } from '../support/service.ts';

const HOUR = 3600;
const CHANNELS = ['alipay', 'wechat', 'paypal'] as const;

/** The stored refunds of an order. */
async function known({ app }: Service, orderNo: string) {
  const order = await app.store.read((tx) => tx.orders.find({ orderNo }));
  const refunds = await app.store.read((tx) => tx.refunds.list({ orderNo, origin: 'channel' }));
  const open = await app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  return {
    refunded: order?.refunded,
    refunds: refunds.map(({ amount }) => amount).toSorted(),
    unexplained: open.filter(({ kind }) => kind === 'refund_unexplained').length,
  };
}

/** Makes a refund in the portal and delivers its notification once. */
async function refundInPortal(service: Service, orderNo: string, amount: number): Promise<void> {
  const answered = async () =>
    (await service.deliveries(orderNo)).filter((one) => isAboutRefund(one) && one.status !== null).length;
  const before = await answered();
  await service.sim('/sim/refund-elsewhere', { orderNo, amount });
  await until('the notification of the refund', async () => (await answered()) > before);
}

for (const payWay of CHANNELS) {
  test.serial(`${payWay}: a portal refund whose query meets a fault is queried until it is known`, async (t) => {
    const service = await startService(t);
    for (const fault of ['502', 'query-lag', 'timeout']) {
      // Tokens expire as the hours pass.
      const shop = await service.merchant();
      const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
      // A refund of the service must not hide one from the portal.
      const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
      t.is(own.status, 200, JSON.stringify(own.body));
      await runUntilQuiet(service, 120, 60);
      await service.sim('/sim/faults', { payWay, call: 'refund-query', fault, times: 2, hangUpMs: 100 });
      if (payWay === 'paypal')
        await service.sim('/sim/faults', { payWay, call: 'query', fault, times: 1, hangUpMs: 100 });
      await refundInPortal(service, orderNo, 4);
      await runUntilQuiet(service, 2 * HOUR, 600);
      t.deepEqual(await known(service, orderNo), { refunded: 500n, refunds: [400n], unexplained: 0 }, fault);
      await service.sim('/sim/reset-faults', {});
    }
    await assertLedgersMatch(t, service);
  });
}

test.serial('a portal refund reported before its payment converges, and further refunds work', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const numbers: string[] = [];
  // PayPal first: its order's sweep would otherwise include the other orders.
  for (const payWay of CHANNELS.toReversed()) {
    const orderNo = await placeOrder(shop, { payWay, amount: 10 });
    numbers.push(orderNo);
    await service.sim('/sim/notices', { payWay, enabled: false });
    await service.sim('/sim/pay', { orderNo });
    if (payWay === 'paypal') {
      // Only the service captures at PayPal: the answer to the capture is lost.
      await service.sim('/sim/faults', {
        payWay,
        call: 'capture',
        fault: 'commit-then-timeout',
        times: 1,
        hangUpMs: 100,
      });
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: service.clock.now() }));
      await service.app.sweep.once();
    }
    t.not(await stateOf(service, orderNo), 'paid', payWay);
    const notification = await droppedNotification(service, orderNo, 4);
    t.is((await post(service.url, payWay, notification)).status, 200, payWay);
    await service.sim('/sim/notices', { payWay, enabled: true });
  }
  await runUntilQuiet(service, HOUR / 2, 60);
  for (const orderNo of numbers) {
    t.is(await stateOf(service, orderNo), 'paid');
    t.deepEqual(await known(service, orderNo), { refunded: 400n, refunds: [400n], unexplained: 0 });
    const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 6 });
    t.is(own.status, 200, JSON.stringify(own.body));
  }
});

test.serial('a replica that dies after accepting the notification of a portal refund loses nothing', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const victim = await startVictim(t, service);
  const numbers: string[] = [];
  for (const payWay of CHANNELS) {
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    numbers.push(orderNo);
    await service.sim('/sim/notices', { payWay, enabled: false });
    await service.sim('/sim/faults', { payWay, call: 'refund-query', fault: '502', times: 1 });
    const { headers, ...notification } = await droppedNotification(service, orderNo, 4);
    const doomed = { ...notification, headers: { ...headers, 'x-dies-at': 'notice.settled' } };
    await t.throwsAsync(post(victim.url, payWay, doomed), undefined, payWay);
  }
  t.is(await victim.kill(), 'SIGKILL');
  await runUntilQuiet(service, 2 * HOUR, 600);
  for (const orderNo of numbers)
    t.deepEqual(await known(service, orderNo), { refunded: 400n, refunds: [400n], unexplained: 0 });
  await assertLedgersMatch(t, service);
});

test.serial(
  'alipay: an unanswered portal refund is listed after a day and ends by an operator or by the answer',
  async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const { logIn } = await firstAdmin(service);
    const orders = [];
    for (let n = 0; n < 2; n += 1) orders.push(await payOrder(service, shop, { payWay: 'alipay', amount: 10 }));
    await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund-query', fault: '502', times: 1000 });
    for (const orderNo of orders) await refundInPortal(service, orderNo, 4);
    await runUntilQuiet(service, 12 * HOUR, HOUR);
    for (const orderNo of orders) t.is((await known(service, orderNo)).unexplained, 0, 'not after half a day');
    await runUntilQuiet(service, 48 * HOUR, HOUR);
    for (const orderNo of orders) {
      t.is((await known(service, orderNo)).unexplained, 1);
      const [listed] = await service.app.store.read((tx) =>
        tx.exceptions.list({ orderNo, kind: 'refund_unexplained' }),
      );
      t.true(listed?.blocksRefunds);
    }
    const [byHand, byAnswer] = orders as [string, string];
    const admin = await logIn();
    const { data } = (await admin.call('GET', `/api/v1/exceptions?state=open&orderNo=${byHand}`)).body;
    const seen = { action: 'acknowledge', reason: 'asked the channel' };
    t.is((await admin.call('POST', `/api/v1/exceptions/${data[0].id}/resolve`, seen)).status, 200);
    await runUntilQuiet(service, 48 * HOUR, HOUR);
    t.is((await known(service, byHand)).unexplained, 0, 'the question is over');
    await service.sim('/sim/reset-faults', {});
    await runUntilQuiet(service, 48 * HOUR, HOUR);
    t.deepEqual(await known(service, byAnswer), { refunded: 400n, refunds: [400n], unexplained: 0 });
    t.deepEqual(await known(service, byHand), { refunded: 0n, refunds: [], unexplained: 0 });
  },
);

test.serial(
  'a lost notification of a portal refund is found by the sums, also beside a refund of the service',
  async (t) => {
    const service = await startService(t);
    const { logIn } = await firstAdmin(service);
    for (const payWay of ['alipay', 'paypal'] as const) {
      // Tokens and sessions expire as the hours pass.
      const shop = await service.merchant();
      const admin = await logIn();
      const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
      const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
      t.is(own.status, 200, JSON.stringify(own.body));
      await runUntilQuiet(service, 120, 60);
      await service.sim('/sim/notices', { payWay, enabled: false });
      await droppedNotification(service, orderNo, 4);
      await service.sim('/sim/notices', { payWay, enabled: true });
      if (payWay === 'alipay') await refundInPortal(service, orderNo, 2);
      else t.is((await admin.call('POST', `/api/v1/orders/${orderNo}/sync`)).status, 200);
      service.clock.advance(60);
      await service.app.sweep.once();
      t.is((await known(service, orderNo)).unexplained, 1, payWay);
      // The channel resends the dropped notification.
      await runUntilQuiet(service, HOUR, 300);
      const refunds = payWay === 'alipay' ? [200n, 400n] : [400n];
      const refunded = payWay === 'alipay' ? 700n : 500n;
      t.deepEqual(await known(service, orderNo), { refunded, refunds, unexplained: 0 }, payWay);
      await assertLedgersMatch(t, service);
    }
  },
);

test.serial(
  'money that was refunded without a refund number leaves nothing to refund, and the order states the reason',
  async (t) => {
    const service = await startService(t);
    const { logIn } = await firstAdmin(service);
    for (const payWay of CHANNELS) {
      const shop = await service.merchant();
      const admin = await logIn();
      const orderNo = await payOrder(service, shop, { payWay, amount: 62 });
      const path = `/api/v2/payment/query/${orderNo}`;
      const before = { status: 'paid', refundableAmount: 62, refundsBlockedBy: null };
      t.like((await shop.call('GET', path)).body.data, before, payWay);
      await service.sim('/sim/notices', { payWay, enabled: false });
      await service.sim('/sim/refund-elsewhere', { orderNo, amount: 62 });
      t.is((await admin.call('POST', `/api/v1/orders/${orderNo}/sync`)).status, 200);
      const blocked = { refundableAmount: 0, refundsBlockedBy: 'refund_unexplained' };
      t.like((await shop.call('GET', path)).body.data, { status: 'paid', refundedAmount: 0, ...blocked }, payWay);
      const { data } = (await admin.call('GET', `/api/v1/orders?orderNo=${orderNo}`)).body;
      t.like(data[0], blocked);
      const { equation } = (await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body.data;
      t.is(equation.refundable, 0);
      const told = await service.app.store.read((tx) => tx.events.find({ objectNo: orderNo, type: 'order.exception' }));
      t.like(told?.payload, { exception: 'refund_unexplained', ...blocked });
      const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
      t.is(own.status, 409, JSON.stringify(own.body));
      t.is(own.body.code, 'refunds_blocked');
      await service.sim('/sim/notices', { payWay, enabled: true });
      await runUntilQuiet(service, HOUR, 300);
      const after = { status: 'refunded', refundedAmount: 62, refundableAmount: 0, refundsBlockedBy: null };
      t.like((await (await logIn()).call('GET', `/api/v1/orders/${orderNo}`)).body.data, after, payWay);
    }
  },
);

/** A portal refund whose notification was dropped. */
async function droppedNotification(service: Service, orderNo: string, amount: number): Promise<Delivery> {
  const told = async () => (await service.deliveries(orderNo)).filter(isAboutRefund);
  const before = await told();
  await service.sim('/sim/refund-elsewhere', { orderNo, amount });
  await until('the notification of the refund', async () => (await told()).length > before.length);
  return (await told()).at(-1)!;
}

function isAboutRefund({ event, body }: Delivery): boolean {
  return event.includes('REFUND') || body.includes('gmt_refund');
}

async function post(url: string, payWay: string, { headers, bodyBase64 }: Delivery): Promise<Response> {
  const body = Buffer.from(bodyBase64, 'base64');
  return fetch(`${url}/notify/${payWay}/default`, { method: 'POST', headers, body });
}
