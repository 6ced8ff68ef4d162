import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { stateOf } from '../support/orders.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { shownCode } from '../unit/channels/alipay/shown-code.ts';

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  return { service, shop: await service.merchant() };
}

let counted = 0;
/** An order by payment code, with a code that was not used before. */
function atTheTill(payer: Parameters<typeof shownCode>[1], also: object = {}) {
  counted += 1;
  const payCode = shownCode(`order ${counted}`, payer);
  return {
    subject: 'Tea',
    amount: 10,
    payWay: 'alipay',
    scene: 'code',
    merchantOrderNo: `till-${counted}`,
    payCode,
    ...also,
  };
}

const pay = (shop: Merchant, order: object) => shop.call('POST', '/api/v2/payment/pay', order);

async function refundsOf({ app }: Service, orderNo: string) {
  const refunds = await app.store.read((tx) => tx.refunds.list({ orderNo }));
  return refunds.map(({ state, amount, elsewhere }) => ({ state, amount, elsewhere }));
}

const openExceptions = ({ app }: Service) => app.store.read((tx) => tx.exceptions.list({ state: 'open' }));

test("a payer's code is charged at once, and the response is the paid order", async (t) => {
  const { service, shop } = await stage(t);
  const { status, body } = await pay(shop, atTheTill('pays'));
  t.is(status, 201, JSON.stringify(body));
  t.like(body.data, { status: 'paid', scene: 'code' });
  await assertLedgersMatch(t, service);
});

test('a payment that needs a password is found within seconds without a notification', async (t) => {
  const { service, shop } = await stage(t);
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const { status, body } = await pay(shop, atTheTill('asks-password'));
  t.is(status, 201, JSON.stringify(body));
  t.like(body.data, { status: 'pending', payment: { type: 'code' } });
  const { orderNo } = body.data;
  await service.sim('/sim/pay', { orderNo });
  service.clock.advance(6);
  await service.app.sweep.once();
  t.is(await stateOf(service, orderNo), 'paid');
  await assertLedgersMatch(t, service);
});

test('a code that Alipay refuses fails the order with an error that tells the payer the next step', async (t) => {
  const { service, shop } = await stage(t);
  for (const [payer, code] of [
    ['has-no-money', 'ACQ.BUYER_BALANCE_NOT_ENOUGH'],
    ['showed-it-long-ago', 'ACQ.PAYMENT_AUTH_CODE_INVALID'],
  ] as const) {
    const { status, body } = await pay(shop, atTheTill(payer));
    t.is(status, 422, JSON.stringify(body));
    t.true(JSON.stringify(body).includes(code));
    t.is(await stateOf(service, body.orderNo), 'failed');
  }
  await assertLedgersMatch(t, service);
});

for (const fault of ['500-after-commit', 'html', 'wrong-key']) {
  test(`an answer lost by ${fault} does not charge twice: the same request finds the payment`, async (t) => {
    const { service, shop } = await stage(t);
    await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
    await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', fault });
    const order = atTheTill('pays');
    const first = await pay(shop, order);
    t.true(first.status >= 500, JSON.stringify(first.body));
    const second = await pay(shop, order);
    t.like(second.body.data, { status: 'paid', orderNo: first.body.orderNo });
    t.like((await ledgerOf(service)).get(first.body.orderNo), { paid: 1000, payments: 1 });
    await assertLedgersMatch(t, service);
  });
}

test('an order by payment code that is closed is cancelled and can no longer be paid', async (t) => {
  const { service, shop } = await stage(t);
  const { orderNo } = (await pay(shop, atTheTill('asks-password'))).body.data;
  const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(closed.body.data.status, 'closed', JSON.stringify(closed.body));
  await t.throwsAsync(service.sim('/sim/pay', { orderNo }));
  t.deepEqual(await refundsOf(service, orderNo), []);
});

test('a close that races the payment refunds the money once and opens no exception', async (t) => {
  const { service, shop } = await stage(t);
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const { orderNo } = (await pay(shop, atTheTill('asks-password'))).body.data;
  await service.sim('/sim/pay', { orderNo });
  const closed = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(closed.body.data.status, 'refunded', JSON.stringify(closed.body));
  const gone = [{ state: 'succeeded', amount: 1000n, elsewhere: true }];
  t.deepEqual(await refundsOf(service, orderNo), gone);
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: true });
  await service.sim('/sim/notify', { orderNo });
  await runUntilQuiet(service, 2 * 86_400, 3600);
  t.deepEqual(await refundsOf(service, orderNo), gone, 'a late report changes nothing');
  t.deepEqual(await openExceptions(service), []);
  t.like((await ledgerOf(service)).get(orderNo), { paid: 1000, refunded: 1000 });
  await assertLedgersMatch(t, service);
});

test('an order that the payer never confirms expires and is cancelled at Alipay', async (t) => {
  const { service, shop } = await stage(t);
  const { orderNo } = (await pay(shop, atTheTill('asks-password', { expireSeconds: 60 }))).body.data;
  await runUntilQuiet(service, 300, 60);
  await until('closed', async () => (await stateOf(service, orderNo)) === 'closed');
  const trade = await service.sim(`/sim/trades/${orderNo}`);
  t.is((trade as { state?: string }).state, 'closed');
});

test('an order whose pay call never reached Alipay is closed after its expiry, unpaid', async (t) => {
  const { service, shop } = await stage(t);
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'create', fault: '502' });
  const first = await pay(shop, atTheTill('pays', { expireSeconds: 60 }));
  t.true(first.status >= 500);
  await runUntilQuiet(service, 900, 61);
  t.is(await stateOf(service, first.body.orderNo), 'closed');
  t.deepEqual(await openExceptions(service), []);
});

test('a mini program order returns the trade number that the payer pays with', async (t) => {
  const { service, shop } = await stage(t);
  const order = { subject: 'Tea', amount: 10, payWay: 'alipay', scene: 'mini', openId: 'a-user' };
  const { status, body } = await pay(shop, order);
  t.is(status, 201, JSON.stringify(body));
  t.is(body.data.payment.type, 'jsapi');
  t.regex(body.data.payment.params.tradeNO, /^\d{28}$/);
  await service.sim('/sim/pay', { orderNo: body.data.orderNo });
  await until('paid', async () => (await stateOf(service, body.data.orderNo)) === 'paid');
  const lacking = await pay(shop, { ...order, openId: undefined });
  t.is(lacking.status, 400);
  await assertLedgersMatch(t, service);
});
