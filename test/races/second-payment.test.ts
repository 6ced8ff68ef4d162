import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { billedShop } from '../support/billed-shop.ts';
import { payOrder } from '../support/orders.ts';
import { runUntilQuiet } from '../support/merchant-ledger.ts';
import { type Merchant, request, type Service, startService, until } from '../support/service.ts';

const CHANNELS = ['alipay', 'wechat', 'paypal'] as const;
type PayWay = (typeof CHANNELS)[number];

interface Line {
  type: string;
  number: string;
  tradeId: string;
  minor: number;
}

for (const payWay of ['alipay', 'wechat'] as const)
  test(`${payWay}: a command refunds the second payment of an order once, and the first payment stays`, async (t) => {
    const service = await startService(t);
    const twin = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
    const shop = await service.merchant();
    const admin = await firstAdmin(service);
    const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
    const { store } = service.app;
    const first = await store.read((tx) => tx.orders.find({ orderNo }));
    await service.sim('/sim/pay', { orderNo, again: true });
    const listed = await until('it is listed', () =>
      store.read((tx) => tx.exceptions.find({ orderNo, kind: 'double_paid', state: 'open' })),
    );
    t.is(listed.receivedMinor, 1000n);
    const answerWith = { action: 'refund', reason: 'Paid twice' };
    const refund = (url: string) =>
      request(url, 'POST', `/api/v1/exceptions/${listed.id}/resolve`, answerWith, {
        authorization: `Bearer ${admin.token}`,
      });
    const answers = await Promise.all([refund(service.url), refund(twin.url), refund(service.url)]);
    t.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
    await runUntilQuiet(service, 600, 60);
    const refunds = await store.read((tx) => tx.refunds.list({ orderNo }));
    t.deepEqual(
      refunds.map(({ state, amount, surplus }) => ({ state, amount, surplus })),
      [{ state: 'succeeded', amount: 1000n, surplus: true }],
    );
    const after = await store.read((tx) => tx.orders.find({ orderNo }));
    t.like(after, { state: 'paid', paid: 1000n, refunded: 0n, refunding: 0n, channelTradeNo: first?.channelTradeNo });
    const { entries } = (await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { entries: Line[] };
    const paid = entries.filter(({ type }) => type === 'paid');
    const back = entries.filter(({ type }) => type === 'refunded');
    t.is(paid.length, 2);
    t.deepEqual(
      back.map(({ tradeId, minor }) => ({ tradeId, minor })),
      [{ tradeId: paid[1]!.tradeId, minor: 1000 }],
      'the second payment was refunded',
    );
    t.deepEqual(await store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' })), []);
    const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    t.is(own.status, 200, 'nothing blocks refunds of the order itself');
  });

/** An order of 10.00 that was paid twice, with the channel's numbers of both payments. PayPal reports only the first. */
async function paidTwice(service: Service, shop: Merchant, payWay: PayWay) {
  const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
  await service.sim('/sim/pay', { orderNo, again: true });
  if (payWay !== 'paypal')
    await until('it is listed', async () => (await exceptionsOf(service, orderNo)).includes('double_paid open'));
  const [first = '', second = ''] = (await linesOf(service, orderNo))
    .filter(({ type }) => type === 'paid' || type === 'captured')
    .map(({ number }) => number);
  return { orderNo, first, second };
}

async function linesOf(service: Service, orderNo: string): Promise<(Line & { refundNo?: string })[]> {
  return ((await service.sim(`/sim/ledger?orderNo=${orderNo}`)) as unknown as { entries: Line[] }).entries;
}

/** The refunded amounts, by the trade that they belong to. */
async function backOf(service: Service, orderNo: string): Promise<number[]> {
  const lines = await linesOf(service, orderNo);
  const trades = lines.filter(({ type }) => type === 'created').map(({ tradeId }) => tradeId);
  const back = lines.filter(({ type }) => type === 'refunded');
  return trades.map((id) => back.reduce((sum, { tradeId, minor }) => sum + (tradeId === id ? minor : 0), 0));
}

async function exceptionsOf({ app: { store } }: Service, orderNo: string): Promise<string[]> {
  const rows = await store.read((tx) => tx.exceptions.list({ orderNo }));
  return rows.map(({ kind, state }) => `${kind} ${state}`).toSorted();
}

async function openOf(service: Service, orderNo: string): Promise<string[]> {
  return (await exceptionsOf(service, orderNo)).filter((one) => one.endsWith(' open'));
}

async function refundsOf({ app: { store } }: Service, orderNo: string) {
  const rows = await store.read((tx) => tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc' } }));
  return rows.map(({ origin, state, amount, surplus, paymentNo }) => ({ origin, state, amount, surplus, paymentNo }));
}

/** A portal refund of one of the payments; returns when it is stored. */
async function inPortal(service: Service, orderNo: string, amount: number, paymentNo: string): Promise<void> {
  const before = (await refundsOf(service, orderNo)).length;
  await service.sim('/sim/refund-elsewhere', { orderNo, amount, paymentNo });
  await until('the refund is known', async () => (await refundsOf(service, orderNo)).length > before);
}

for (const payWay of CHANNELS)
  test(`${payWay}: a portal refund of the second payment is not booked against the first, and ends the exception`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const { orderNo, second } = await paidTwice(service, shop, payWay);
    await inPortal(service, orderNo, 10, second);
    const foreign = { origin: 'channel', state: 'succeeded', amount: 1000n, surplus: true, paymentNo: second } as const;
    t.deepEqual(await refundsOf(service, orderNo), [foreign]);
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.like(order, { state: 'paid', paid: 1000n, refunded: 0n, refunding: 0n, overrun: 0n });
    t.deepEqual(await exceptionsOf(service, orderNo), ['double_paid resolved']);
    const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10 });
    t.is(own.status, 200, JSON.stringify(own.body));
    await runUntilQuiet(service, 600, 60);
    t.deepEqual(await backOf(service, orderNo), [1000, 1000], 'each payment was refunded once');
    t.like(await service.app.store.read((tx) => tx.orders.find({ orderNo })), { refunded: 1000n, refunding: 0n });
    t.deepEqual(await exceptionsOf(service, orderNo), ['double_paid resolved']);
  });

for (const payWay of CHANNELS)
  test(`${payWay}: refunds of an order that was paid twice go to the payment that they name`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const { orderNo, first, second } = await paidTwice(service, shop, payWay);
    await inPortal(service, orderNo, 4, first);
    const listed = payWay === 'paypal' ? [] : ['double_paid open'];
    t.deepEqual(await openOf(service, orderNo), [...listed, 'refund_elsewhere open']);
    await inPortal(service, orderNo, 3, second);
    t.deepEqual(
      (await refundsOf(service, orderNo)).map(({ amount, surplus, paymentNo }) => ({ amount, surplus, paymentNo })),
      [
        { amount: 400n, surplus: false, paymentNo: null },
        { amount: 300n, surplus: true, paymentNo: second },
      ],
    );
    t.like(await service.app.store.read((tx) => tx.orders.find({ orderNo })), { refunded: 400n, overrun: 0n });
    t.deepEqual(await openOf(service, orderNo), ['double_paid open', 'refund_elsewhere open'], 'a part is left');
    const { token } = await firstAdmin(service);
    const double = await service.app.store.read((tx) => tx.exceptions.find({ orderNo, kind: 'double_paid' }));
    t.is(double?.receivedMinor, 1000n);
    const body = { action: 'refund', reason: 'Paid twice' };
    const path = `/api/v1/exceptions/${double?.id}/resolve`;
    const whole = await request(service.url, 'POST', path, body, { authorization: `Bearer ${token}` });
    t.is(whole.status, 400, JSON.stringify(whole.body));
    t.like(whole.body.errors[0], { pointer: '/action', code: 'invalid' });
    await inPortal(service, orderNo, 7, second);
    t.deepEqual(await openOf(service, orderNo), ['refund_elsewhere open']);
    const own = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 6 });
    t.is(own.status, 200, JSON.stringify(own.body));
    await runUntilQuiet(service, 600, 60);
    t.deepEqual(await backOf(service, orderNo), [1000, 1000]);
  });

for (const payWay of CHANNELS)
  test(`${payWay}: the bill reports a refund of the second payment if its notification was lost`, async (t) => {
    const shop = await billedShop(await startService(t), payWay);
    const { service } = shop;
    const orderNo = await shop.paid();
    const { number: second } = await shop.plant('duplicate_payment', orderNo);
    const { number } = await shop.plant('refund_unknown_to_us', orderNo);
    await shop.nextDay();
    await service.app.bills.plan();
    await service.app.bills.sweep.once();
    const rows = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
    t.deepEqual(
      rows.map(({ amount, surplus, paymentNo, channelRefundNo }) => [amount, surplus, paymentNo, channelRefundNo]),
      [[500n, true, second, payWay === 'paypal' ? number : rows[0]?.channelRefundNo]],
    );
    t.like(await service.app.store.read((tx) => tx.orders.find({ orderNo })), { refunded: 0n, overrun: 0n });
    t.true((await shop.differences()).includes(`refund_unknown_to_us ${orderNo} healed`));
    t.true((await exceptionsOf(service, orderNo)).includes('double_paid open'), 'half of it remains');
  });

test('alipay: a query that reports the second payment as fully refunded ends the exception', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { token } = await firstAdmin(service);
  const { orderNo } = await paidTwice(service, shop, 'alipay');
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await service.sim('/sim/refund-elsewhere', { orderNo, amount: 10 });
  const asked = await request(
    service.url,
    'POST',
    `/api/v1/orders/${orderNo}/sync`,
    {},
    {
      authorization: `Bearer ${token}`,
    },
  );
  t.is(asked.status, 200, JSON.stringify(asked.body));
  t.deepEqual(await exceptionsOf(service, orderNo), ['double_paid resolved']);
  t.like(await service.app.store.read((tx) => tx.orders.find({ orderNo })), { state: 'paid', refunded: 0n });
});
