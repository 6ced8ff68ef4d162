import test, { type ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import { type Admin, firstAdmin } from '../support/admin.ts';
import { type Facts, createForger, type Forger } from './forge.ts';
import { startInBetween } from '../support/in-between.ts';
import { newPayCode } from '../support/order-scenes.ts';
import { placeOrder } from '../support/orders.ts';
import { type Merchant, type Service, startService } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import { PAY_WAYS, post } from './unreceived-notifications.ts';
import { withOrder } from './wrong-notifications.ts';

const kind = 'payment_of_another_order';

/** The response that each channel expects for an accepted message. */
const ACCEPTED = { alipay: 'success', wechat: '{"code":"SUCCESS","message":"OK"}', paypal: 'ok' } as const;

interface Stage {
  service: Service;
  shop: Merchant;
  admin: Admin;
  forger: Forger;
  /** The address at which the service finds a PayPal certificate. */
  certUrl(url: string): string;
  /** A paid order that from now on has the channel's payment number of the other order. */
  share(payWay: PayWay, other: string | (() => Promise<string | undefined>)): Promise<string>;
}

/** The paid order has the payment's number before any answer about the other one arrives. */
async function stage(t: ExecutionContext): Promise<Stage> {
  const simulator = await ownSimulator(t);
  let shared: { owner: string; other: () => Promise<string | undefined> } | undefined;
  const between = await startInBetween(
    t,
    simulator.url,
    () => undefined,
    async (_method, path) => {
      if (!path.startsWith('/sim/')) await hand();
    },
  );
  const service = await startService(t, { simulator: between });
  const shop = await service.merchant();
  const admin = await firstAdmin(service);
  await service.app.prepare();
  const { store } = service.app;

  async function hand(): Promise<void> {
    if (!shared) return;
    const { owner, other } = shared;
    const orderNo = await other();
    const ledger = await (await fetch(`${simulator.url}/sim/ledger?orderNo=${orderNo}`)).json();
    const { entries } = ledger as { entries: { type: string; number: string }[] };
    const paid = entries.find(({ type }) => type === 'paid' || type === 'captured');
    if (paid) await store.autocommit((tx) => tx.orders.update({ orderNo: owner }, { channelTradeNo: paid.number }));
  }

  return {
    service,
    shop,
    admin,
    forger: createForger(simulator.dir),
    certUrl: (url) => url.replace(simulator.url, between.url),
    async share(payWay, other) {
      await service.sim('/sim/notices', { payWay, enabled: false });
      const owner = await paidOrder(service, shop, payWay);
      shared = { owner, other: typeof other === 'string' ? async () => other : other };
      return owner;
    },
  };
}

/** A paid order whose payment was found by a query. */
async function paidOrder({ app, sim }: Service, shop: Merchant, payWay: PayWay): Promise<string> {
  const orderNo = await placeOrder(shop, { payWay });
  await sim('/sim/pay', { orderNo });
  await forgetCheck({ app }, orderNo);
  if (payWay === 'paypal') await shop.call('POST', `/api/v2/payment/capture/${orderNo}`);
  else await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  await sim('/sim/notify', { orderNo });
  return orderNo;
}

/** Makes the next query immediate. */
async function forgetCheck({ app }: Pick<Service, 'app'>, orderNo: string): Promise<void> {
  await app.store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
}

async function rowOf({ app }: Service, orderNo: string) {
  return (await app.store.read((tx) => tx.orders.find({ orderNo })))!;
}

const listedOf = ({ app }: Service, orderNo: string) =>
  app.store.read((tx) => tx.exceptions.list({ orderNo }, { orderBy: { createdAt: 'asc' } }));

/** Nothing was paid, the claim is listed once with the owner of the payment, and the channel is queried again. */
async function isListed(t: ExecutionContext, { service }: Pick<Stage, 'service'>, orderNo: string, owner: string) {
  const row = await rowOf(service, orderNo);
  const { channelTradeNo } = await rowOf(service, owner);
  const listed = await listedOf(service, orderNo);
  t.like(row, { paid: 0n, paidAt: null, channelTradeNo: null });
  t.not(row.nextCheckAt, null);
  t.deepEqual(
    listed.map((one) => [one.kind, one.dedupe, one.state, one.detail?.['owner']]),
    [[kind, channelTradeNo, 'open', owner]],
  );
  t.is(listed[0]?.receivedMinor, row.amount);
  const told = await service.app.store.read((tx) => tx.events.list({ objectNo: orderNo, type: 'order.exception' }));
  t.is(told.length, 1);
  t.is((await rowOf(service, owner)).state, 'paid');
  return row;
}

/** The ways in which the service learns of a payment, and its responses. */
const WAYS: readonly {
  name: string;
  payWays: readonly PayWay[];
  hear(on: Stage, orderNo: string): Promise<number[]>;
}[] = [
  {
    name: 'a query',
    payWays: PAY_WAYS,
    async hear({ service, shop }, orderNo) {
      const { payWay } = await rowOf(service, orderNo);
      await service.sim('/sim/faults', { payWay, call: 'capture', orderNo, fault: '500-after-commit', times: 1 });
      if (payWay === 'paypal') await shop.call('POST', `/api/v2/payment/capture/${orderNo}`);
      return repeated(async () => {
        await forgetCheck(service, orderNo);
        return (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).status;
      });
    },
  },
  {
    name: 'the return page',
    payWays: PAY_WAYS,
    hear: ({ service }, orderNo) =>
      repeated(async () => {
        await forgetCheck(service, orderNo);
        const { payWay, channelOrderId } = await rowOf(service, orderNo);
        return (await fetch(`${service.url}/return/${payWay}/${orderNo}?token=${channelOrderId}`)).status;
      }),
  },
  {
    name: 'a channel query by an administrator',
    payWays: PAY_WAYS,
    hear: ({ admin }, orderNo) =>
      repeated(async () => (await admin.call('POST', `/api/v1/orders/${orderNo}/sync`, {})).status),
  },
  {
    name: 'the capture call',
    payWays: ['paypal'],
    hear: ({ shop }, orderNo) =>
      repeated(async () => (await shop.call('POST', `/api/v2/payment/capture/${orderNo}`)).status),
  },
  // It runs last because it advances the clock and queries the earlier orders too.
  {
    name: 'the job that queries orders',
    payWays: PAY_WAYS,
    async hear({ service }, orderNo) {
      for (let round = 0; round < 3; round += 1) {
        service.clock.advance(600);
        await service.app.sweep.once();
      }
      return (await rowOf(service, orderNo)).checks > 0 ? [200] : [];
    },
  },
];

async function repeated(once: () => Promise<number>): Promise<number[]> {
  return [await once(), await once()];
}

/** Each way once for each channel; one service serves all, and each order starts without an exception. */
for (const payWay of PAY_WAYS)
  test(`${payWay}: a payment that another order owns is listed once however it is reported, and is neither a fault nor refunded`, async (t) => {
    const on = await stage(t);
    await hearNotification(t, on, payWay);
    if (payWay !== 'paypal') {
      await claimForOthers(t, on, payWay);
      await resolveListed(t, on, payWay);
      await payByCode(t, on, payWay);
    }
    for (const way of WAYS.filter(({ payWays }) => payWays.includes(payWay))) await hearOf(t, on, payWay, way);
  });

/** It is listed and never a fault. */
async function hearOf(t: ExecutionContext, on: Stage, payWay: PayWay, { name, hear }: (typeof WAYS)[number]) {
  const orderNo = await placeOrder(on.shop, { payWay });
  const owner = await on.share(payWay, orderNo);
  await on.service.sim('/sim/pay', { orderNo });
  const statuses = await hear(on, orderNo);
  t.true(statuses.length > 0, name);
  for (const status of statuses) t.true(status < 500, `${name}: ${status}`);
  const { state } = await isListed(t, on, orderNo, owner);
  t.is(state, 'pending', name);
}

/** A genuine notification with the number of another order's payment is acknowledged and listed once. */
async function hearNotification(t: ExecutionContext, on: Stage, payWay: PayWay): Promise<void> {
  const { service, shop, admin } = on;
  const orderNo = await placeOrder(shop, { payWay });
  const owner = await on.share(payWay, orderNo);
  if (payWay === 'paypal') await service.sim('/sim/pay', { orderNo });
  const messages = await saidOf(on, payWay, orderNo, owner);
  for (const message of messages) {
    const answer = await post(service, 'default', payWay, message);
    t.deepEqual([answer.status, answer.text], [200, ACCEPTED[payWay]]);
  }
  const { state, nextCheckAt } = await isListed(t, on, orderNo, owner);
  t.is(state, 'pending');
  if (payWay !== 'paypal')
    t.true(nextCheckAt! <= new Date(service.clock.now().getTime() + 15_000), 'the next query is soon');

  const { body } = await admin.call('GET', `/api/v1/exceptions?kind=${kind}&state=open`);
  t.like(body.data, [{ orderNo, kind, detail: { owner } }]);
  const { id } = body.data[0];
  t.is((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.exception, kind);
  t.is((await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body.data.situation, kind);
  const refused = await admin.call('POST', `/api/v1/exceptions/${id}/resolve`, { action: 'refund', reason: 'x' });
  t.is(refused.status, 400, JSON.stringify(refused.body));
  const done = await admin.call('POST', `/api/v1/exceptions/${id}/resolve`, { action: 'acknowledge', reason: 'x' });
  t.like(done.body.data, { state: 'resolved', resolution: 'acknowledge' });
  t.is((await post(service, 'default', payWay, messages[0]!)).status, 200);
  t.deepEqual(await on.service.app.store.read((tx) => tx.exceptions.list({ state: 'open' })), []);
}

/** Two messages that report the payment, and a repeat of one. For PayPal they are genuine: its answer counts. */
async function saidOf({ service, forger, certUrl }: Stage, payWay: PayWay, orderNo: string, owner: string) {
  if (payWay === 'paypal') {
    await service.sim('/sim/notify', { orderNo });
    const [told] = await service.deliveries(orderNo);
    const message = await forger.sign(payWay, 'default', forger.factsOf(told!), {
      certUrl: certUrl(told!.headers['paypal-cert-url'] ?? ''),
    });
    return [message, message];
  }
  const { channelTradeNo } = await rowOf(service, owner);
  const facts = forger.factsOf((await service.deliveries(owner))[0]!);
  const claim: Facts = {
    ...withOrder(payWay, facts, orderNo, ''),
    [payWay === 'alipay' ? 'trade_no' : 'transaction_id']: channelTradeNo,
  };
  const [first, second] = [await forger.sign(payWay, 'default', claim), await forger.sign(payWay, 'default', claim)];
  return [first, second, first];
}

/** Channels whose message alone is trusted; PayPal is queried. */
type Believed = 'alipay' | 'wechat';

async function claimOf(on: Stage, payWay: Believed, orderNo: string, owner: string, more: Facts = {}): Promise<void> {
  const { channelTradeNo } = await rowOf(on.service, owner);
  const facts = on.forger.factsOf((await on.service.deliveries(owner))[0]!);
  const number = payWay === 'alipay' ? 'trade_no' : 'transaction_id';
  const claim = { ...withOrder(payWay, facts, orderNo, ''), [number]: channelTradeNo, ...more };
  const answer = await post(on.service, 'default', payWay, await on.forger.sign(payWay, 'default', claim));
  accepted(payWay, answer);
}

function accepted(payWay: Believed, { status, text }: { status: number; text: string }): void {
  if (status !== 200 || text !== ACCEPTED[payWay]) throw new Error(`${status} ${text}`);
}

/** An order that ended, was paid, has another amount or is large takes no payment of another order. */
async function claimForOthers(t: ExecutionContext, on: Stage, payWay: Believed): Promise<void> {
  const { service, shop, admin } = on;
  const owner = await paidOrder(service, shop, payWay);
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo: owner }, { project: 'elsewhere' }));
  const { channelTradeNo } = await rowOf(service, owner);

  const closed = await placeOrder(shop, { payWay });
  t.is((await shop.call('POST', `/api/v2/payment/close/${closed}`)).status, 200);
  const { state } = await rowOf(service, closed);
  await claimOf(on, payWay, closed, owner);
  t.is((await isListed(t, on, closed, owner)).state, state, 'a late payment of another order is not refunded');

  const second = await paidOrder(service, shop, payWay);
  const own = await rowOf(service, second);
  await claimOf(on, payWay, second, owner);
  t.like(await rowOf(service, second), { state: 'paid', paid: own.paid, channelTradeNo: own.channelTradeNo });
  const [listed, ...more] = await listedOf(service, second);
  t.deepEqual([listed?.kind, listed?.dedupe, more.length], [kind, channelTradeNo, 0], 'no second payment of it');

  const less = await placeOrder(shop, { payWay, amount: 20 });
  await claimOf(on, payWay, less, owner);
  t.like((await listedOf(service, less))[0], { kind, receivedMinor: 1000n, blocksRefunds: false });
  t.like(await rowOf(service, less), { state: 'pending', paid: 0n, channelTradeNo: null });

  // Above the limit for messages without a query; the channel answers "not paid".
  const large = await placeOrder(shop, { payWay, amount: 5000 });
  const amount =
    payWay === 'alipay'
      ? { total_amount: '5000.00' }
      : { amount: { total: 500_000, currency: 'CNY', payer_total: 500_000, payer_currency: 'CNY' } };
  await claimOf(on, payWay, large, owner, amount);
  t.is((await isListed(t, on, large, owner)).state, 'pending');
  t.deepEqual(await service.app.store.read((tx) => tx.refunds.list({})), []);
  t.is((await admin.call('GET', '/api/v1/exceptions?state=open')).body.data.length, 4);
}

/** A payment that was listed for one order and then paid another is neither accepted nor refunded. */
async function resolveListed(t: ExecutionContext, on: Stage, payWay: Believed): Promise<void> {
  const { service, shop, admin } = on;
  const owner = await paidOrder(service, shop, payWay);
  const { channelTradeNo } = await rowOf(service, owner);
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo: owner }, { channelTradeNo: 'ELSEWHERE' }));
  const [twice, wrong] = [await paidOrder(service, shop, payWay), await placeOrder(shop, { payWay, amount: 20 })];
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo: wrong }, { channelTradeNo: 'EARLIER' }));
  for (const orderNo of [twice, wrong]) {
    const facts = on.forger.factsOf((await service.deliveries(owner))[0]!);
    const number = payWay === 'alipay' ? 'trade_no' : 'transaction_id';
    const said = { ...withOrder(payWay, facts, orderNo, ''), [number]: channelTradeNo };
    accepted(payWay, await post(service, 'default', payWay, await on.forger.sign(payWay, 'default', said)));
  }
  await service.app.store.autocommit((tx) => tx.orders.update({ orderNo: owner }, { channelTradeNo }));
  const resolve = async (orderNo: string, action: string) => {
    const [listed] = await listedOf(service, orderNo);
    return admin.call('POST', `/api/v1/exceptions/${listed!.id}/resolve`, { action, reason: 'x' });
  };
  for (const [orderNo, action] of [
    [twice, 'refund'],
    [wrong, 'refund'],
    [wrong, 'accept'],
  ] as const) {
    const answer = await resolve(orderNo, action);
    t.deepEqual(
      [answer.status, answer.body.code],
      [400, 'invalid_request'],
      `${action} ${JSON.stringify(answer.body)}`,
    );
    t.true(answer.body.detail.includes(owner), answer.body.detail);
  }
  for (const orderNo of [twice, wrong]) t.is((await resolve(orderNo, 'acknowledge')).status, 200);
  t.deepEqual(await service.app.store.read((tx) => tx.refunds.list({})), []);
}

/** A code payment whose channel payment another order owns: the caller receives 504 channel_outcome_unknown. */
async function payByCode(t: ExecutionContext, on: Stage, payWay: Believed): Promise<void> {
  const { service, shop } = on;
  const merchantOrderNo = 'code-1';
  const find = () => service.app.store.read((tx) => tx.orders.find({ merchantOrderNo }));
  const owner = await on.share(payWay, async () => (await find())?.orderNo);
  const request = {
    subject: 'Test',
    amount: 0.01,
    payWay,
    scene: 'code',
    merchantOrderNo,
    payCode: newPayCode(payWay === 'alipay' ? 28 : 13),
    clientIp: '192.0.2.9',
  };
  const answers = [];
  for (let round = 0; round < 2; round += 1) answers.push(await shop.call('POST', '/api/v2/payment/pay', request));
  const { orderNo } = (await find())!;
  const heard = answers.map(({ status, body }) => [status, body.code]);
  t.deepEqual(heard, [
    [504, 'channel_outcome_unknown'],
    [504, 'channel_outcome_unknown'],
  ]);
  await isListed(t, on, orderNo, owner);
}
