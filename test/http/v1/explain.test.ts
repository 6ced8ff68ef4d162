import test, { type ExecutionContext } from 'ava';
import { payOrder, placeOrder, stateOf } from '../../support/orders.ts';
import { request, startService, until, type Merchant, type Service } from '../../support/service.ts';
import { as } from '../../support/admin.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, service } = file;
coverRoutes(test, file);

interface World {
  service: Service;
  shop: Merchant;
}

/** Brings an order into a situation; returns its number. */
type Story = (world: World) => Promise<string>;

const lost: Story = async ({ service, shop }) => {
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', fault: 'timeout', times: 1, delayMs: 100 });
  const { body } = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Lost', amount: 10, payWay: 'alipay' });
  return body.orderNo;
};

const closedLate =
  (policy: 'accept' | 'refund'): Story =>
  async (world) => {
    const { service } = world;
    const shop = await service.merchant({ latePayment: { afterClose: policy } });
    world.shop = shop;
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
    'closing_unanswered',
    async ({ service, shop }) => {
      const code = { scene: 'code', payCode: '281234567890123451', payWay: 'alipay' };
      const orderNo = await placeOrder(shop, { amount: 10, ...code });
      await service.sim('/sim/faults', { payWay: 'alipay', call: 'close', fault: '502', orderNo, times: 1 });
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
      await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
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
      await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'timeout', times: 1, delayMs: 100 });
      await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
      return orderNo;
    },
    true,
  ],
];

for (const [situation, story, next] of STORIES)
  test.serial(
    `${situation}: explained with ${next ? 'the next action and its time' : 'nothing more to do'}`,
    async (t) => {
      const world = { service, shop: await file.shop() };
      const orderNo = await story(world);
      const { status, body } = await admin('GET', `/api/v1/orders/${orderNo}/explain`);
      t.is(status, 200);
      t.is(body.data.situation, situation, `${await stateOf(service, orderNo)} ${body.data.reason}`);
      t.true(body.data.reason.length > 20);
      t.is(body.data.next !== null, next, JSON.stringify(body.data.next));
      if (next) t.true(Date.parse(body.data.next.at) > 0);
      const { paid, refunded, refunding, kept } = body.data.equation;
      t.is(paid, refunded + refunding + kept);
      await inChinese(t, orderNo, body.data);
      await toMerchant(t, world.shop, orderNo, body.data);
    },
  );

/** Asserts that the merchant of the order gets the same situation, without what only administrators know or can do. */
async function toMerchant(t: ExecutionContext, shop: Merchant, orderNo: string, full: Record<string, unknown>) {
  const path = `/api/v2/payment/orders/${orderNo}/explain`;
  const { status, body } = await shop.call('GET', path);
  t.is(status, 200);
  const forAdministrators = ['askedBy', 'exceptions', 'bills', 'differences', 'refusedNotices'];
  t.deepEqual(
    Object.keys(body.data).toSorted(),
    Object.keys(full)
      .filter((field) => !forAdministrators.includes(field))
      .toSorted(),
  );
  t.notRegex(JSON.stringify(body.data), /payctl|admin:|exception/);
  t.is(body.data.fix, MERCHANT_FIXES[String(full['situation'])] ?? null);
  const chinese = await shop.call('GET', path, undefined, { 'accept-language': 'zh-CN' });
  for (const part of [chinese.body.data, ...chinese.body.data.refunds]) {
    t.regex(part.reason, /^\p{Script=Han}.*。$/u);
    if (part.fix) t.regex(part.fix, /\p{Script=Han}/u);
  }
  if (body.data.situation === full['situation']) t.deepEqual(body.data.equation, full['equation']);
}

const MERCHANT_FIXES: Readonly<Record<string, string>> = {
  place_unknown: 'repeat the pay request with the same Idempotency-Key or merchantOrderNo',
  amount_mismatch: 'ask the operator of the payment service, with the order number',
};

/** Asserts that the explanation in Chinese differs from the English one only in its texts. */
async function inChinese(t: ExecutionContext, orderNo: string, english: Record<string, unknown>): Promise<void> {
  const chinese = { 'accept-language': 'zh-CN,zh;q=0.9,en;q=0.5' };
  const { headers, body } = await admin('GET', `/api/v1/orders/${orderNo}/explain`, undefined, chinese);
  t.is(headers.get('content-language'), 'zh-CN');
  t.is(headers.get('vary'), 'Accept-Language');
  if (body.data.situation !== english['situation']) return;
  for (const part of [body.data, ...body.data.refunds]) {
    t.regex(part.reason, /^\p{Script=Han}.*。$/u);
    if (part.next) t.regex(part.next.action, /\p{Script=Han}/u);
    t.notRegex(part.fix ?? '', /, or /);
  }
  const { status, situation, askedBy, exceptions } = english;
  t.like(body.data, { status, situation, askedBy, exceptions });
}

test.serial('an unknown order is 404', async (t) => {
  refused(t, await admin('GET', '/api/v1/orders/P20300101000000ABCDEFGHJK/explain'), 404, 'not_found');
});

test.serial('without Debug an order of the simulator is frozen, and its explanation shows it', async (t) => {
  const orderNo = await placeOrder(await file.shop(), { amount: 10 });
  const later = await startService(t, { url: service.databaseUrl, env: { PAY_DEBUG: 'false' } });
  const account = { username: 'alice', password: 'seven-quiet-otters-swim' };
  const { token } = (await request(later.url, 'POST', '/api/v1/login', account)).body.data;
  const { body } = await as(later, token)('GET', `/api/v1/orders/${orderNo}/explain`);
  t.is(body.data.situation, 'frozen');
});
