import test from 'ava';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';

interface World {
  service: Service;
  shop: Merchant;
  admin: Admin;
}

/** How an order comes into a situation; returns its number. */
type Story = (world: World) => Promise<string>;

const lost: Story = async ({ service, shop }) => {
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', fault: 'timeout', times: 1, delayMs: 600 });
  const { body } = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Lost', amount: 10, payWay: 'alipay' });
  return body.orderNo;
};

const closedLate =
  (policy: 'accept' | 'refund'): Story =>
  async ({ service }) => {
    const shop = await service.merchant({ latePayment: { afterClose: policy } });
    const orderNo = await placeOrder(shop, { amount: 10, payWay: 'wechat' });
    await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
    await service.sim('/sim/pay', { orderNo, force: true });
    await until(
      'late money',
      async () => (await service.app.store.read((tx) => tx.orders.find({ orderNo })))?.paid === 1000n,
    );
    return orderNo;
  };

const refundedBy =
  (amount: number): Story =>
  async ({ service, shop }) => {
    const orderNo = await payOrder(service, shop, { amount: 10 });
    const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: amount });
    await until('the refund', async () => {
      const refund = await service.app.store.read((tx) => tx.refunds.find({ refundNo: body.data.refundNo }));
      return refund?.state === 'succeeded';
    });
    return orderNo;
  };

const STORIES: readonly [situation: string, story: Story, next: boolean][] = [
  ['waiting_for_payer', ({ shop }) => placeOrder(shop, { amount: 10 }), true],
  ['place_unknown', lost, true],
  ['paid', ({ service, shop }) => payOrder(service, shop, { amount: 10 }), false],
  ['partially_refunded', refundedBy(4), false],
  ['refunded', refundedBy(10), false],
  [
    'closing_unscanned',
    async ({ shop }) => {
      const orderNo = await placeOrder(shop, { amount: 10 });
      await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
      return orderNo;
    },
    true,
  ],
  [
    'closed',
    async ({ shop }) => {
      const orderNo = await placeOrder(shop, { amount: 10, payWay: 'wechat' });
      await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
      return orderNo;
    },
    true,
  ],
  [
    'refused',
    async ({ shop }) => {
      const { body } = await shop.call('POST', '/api/v2/payment/pay', {
        subject: 'No',
        amount: 0.02,
        payWay: 'alipay',
      });
      return body.orderNo;
    },
    true,
  ],
  ['late_accepted', closedLate('accept'), false],
  [
    'late_refunded',
    async (world) => {
      const orderNo = await closedLate('refund')(world);
      await until('the refund', async () => {
        await world.service.app.sweep.once();
        return (await world.service.app.store.read((tx) => tx.orders.find({ orderNo })))?.refunded === 1000n;
      });
      return orderNo;
    },
    false,
  ],
  [
    'amount_mismatch',
    async ({ service, shop }) => {
      const orderNo = await placeOrder(shop, { amount: 10, payWay: 'wechat' });
      await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'wrong-amount', times: 1 });
      await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
      await service.sim('/sim/pay', { orderNo });
      await service.app.store.read((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
      await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
      await service.sim('/sim/notices', { payWay: 'wechat', enabled: true });
      return orderNo;
    },
    false,
  ],
  [
    'refunding',
    async ({ service, shop }) => {
      const orderNo = await payOrder(service, shop, { amount: 10 });
      await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'timeout', times: 1, delayMs: 600 });
      await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
      return orderNo;
    },
    true,
  ],
];

test('explain names the true reason, the next action and its time', async (t) => {
  const service = await startService(t, { timeoutMs: 300 });
  const world = { service, shop: await service.merchant(), admin: await firstAdmin(service) };
  for (const [situation, story, next] of STORIES) {
    const orderNo = await story(world);
    const { status, body } = await world.admin.call('GET', `/api/v1/orders/${orderNo}/explain`);
    t.is(status, 200, situation);
    t.is(body.data.situation, situation, `${situation}: ${await stateOf(service, orderNo)} ${body.data.reason}`);
    t.true(body.data.reason.length > 20, situation);
    t.is(body.data.next !== null, next, `${situation}: ${JSON.stringify(body.data.next)}`);
    if (next) t.true(Date.parse(body.data.next.at) > 0, situation);
    const { paid, refunded, refunding, kept } = body.data.equation;
    t.is(paid, refunded + refunding + kept, situation);
  }
  t.log(`${STORIES.length} situations, each with its own reason`);
});

test('without Debug an order of the simulator is frozen, and explain says so', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { amount: 10 });
  const later = await startService(t, { url: service.databaseUrl, env: { PAY_DEBUG: 'false' } });
  const admin = await firstAdmin(later);
  const { body } = await admin.call('GET', `/api/v1/orders/${orderNo}/explain`);
  t.is(body.data.situation, 'frozen');
});

test('the timeline has every message to and from the channel, with the account whose key verified it', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { amount: 10 });
  await service.app.messages.flush();
  const { body } = await admin.call('GET', `/api/v1/orders/${orderNo}/timeline`);
  const messages = body.data.filter(({ kind }: { kind: string }) => kind === 'message');
  const directions = messages.map(({ detail }: { detail: { direction: string } }) => detail.direction);
  t.true(directions.includes('out') && directions.includes('in'), JSON.stringify(directions));
  const heard = messages.find(({ detail }: { detail: { direction: string } }) => detail.direction === 'in');
  t.regex(heard.detail.note, /^settled; verified with the key of account \w+/);
  t.false(JSON.stringify(messages).includes(shop.token));
});
