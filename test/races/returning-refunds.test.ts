import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { disputed } from '../support/disputes.ts';
import { payOrder } from '../support/orders.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { addSkill, paidSkill, redeemAt } from '../support/skillpay.ts';

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  return { service, shop: await service.merchant(), admin: await firstAdmin(service) };
}

async function stateOf({ app }: Service, refundNo: string): Promise<string | undefined> {
  return (await app.store.read((tx) => tx.refunds.find({ refundNo })))?.state;
}

/** A refund whose first report is `fault`. */
async function refund(
  { service, shop }: { service: Service; shop: Merchant },
  orderNo: string,
  refundAmount: number,
  fault: string,
) {
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault, orderNo, times: 1 });
  const { status, body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.data.refundNo as string;
}

const open = ({ app }: Service, orderNo: string) =>
  app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));

test('a refund reported as failed and then impossible to credit is listed, reserves its amount, and can be resolved', async (t) => {
  const on = await stage(t);
  const { service, admin } = on;
  const orderNo = await payOrder(service, on.shop, { payWay: 'wechat', amount: 10 });
  const refundNo = await refund(on, orderNo, 10, 'success-after-failed');
  await until('failed', async () => (await stateOf(service, refundNo)) === 'failed');
  await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'abnormal' });
  await until('abnormal', async () => (await stateOf(service, refundNo)) === 'abnormal');
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.deepEqual([order?.refunding, order?.refunded, order?.overrun], [1000n, 0n, 0n]);
  t.deepEqual(
    (await open(service, orderNo)).map(({ kind }) => kind),
    ['refund_abnormal'],
  );
  const resolve = { action: 'paid_elsewhere', reason: 'By bank transfer' };
  t.is((await admin.call('POST', `/api/v1/refunds/${refundNo}/resolve`, resolve)).status, 200);
  t.deepEqual(await open(service, orderNo), []);
});

test('a refund that WeChat Pay pays out to the merchant ends as made elsewhere, and the operator must pay the payer', async (t) => {
  const on = await stage(t);
  const { service, shop, admin } = on;
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  const refundNo = await refund(on, orderNo, 10, 'abnormal-refund');
  await until('abnormal', async () => (await stateOf(service, refundNo)) === 'abnormal');
  t.is((await admin.call('POST', `/api/v1/refunds/${refundNo}/retry`)).status, 200);
  await runUntilQuiet(service, 600, 60);
  const { body } = await admin.call('GET', `/api/v1/refunds/${refundNo}`);
  t.like(body.data, { status: 'succeeded', elsewhere: true });
  const events = await service.app.store.read((tx) => tx.events.list({ objectNo: refundNo, type: 'refund.succeeded' }));
  t.is(events.length, 1);
  t.true(JSON.stringify(events[0]!.payload).includes('"elsewhere":true'), 'the event says where the money is');
  const [listed, ...others] = await open(service, orderNo);
  t.deepEqual(others, []);
  t.like(listed, { kind: 'refund_elsewhere', refundNo, detail: { paidTo: 'merchant' } });
  const { body: told } = await admin.call('GET', `/api/v1/orders/${orderNo}/explain`);
  t.true(JSON.stringify(told).includes('own account'), JSON.stringify(told));
  const done = { action: 'acknowledge', reason: 'Paid by bank transfer' };
  t.is((await admin.call('POST', `/api/v1/exceptions/${listed!.id}/resolve`, done)).status, 200);
  await assertLedgersMatch(t, service);
});

for (const [what, settings, amount] of [
  ['a refund', { refundAfterFulfilment: false }, 0.5],
  ['the refund of a part', { refundAfterFulfilment: true }, 0.4],
] as const)
  test(`content delivered because ${what} had failed is listed if the refund succeeds after all`, async (t) => {
    const on = await stage(t);
    const { service, shop } = on;
    await addSkill(service, settings);
    const orderNo = await paidSkill(service, shop, { resource: 'weather', payWay: 'wechat' });
    const refundNo = await refund(on, orderNo, amount, 'success-after-failed');
    await until('failed', async () => (await stateOf(service, refundNo)) === 'failed');
    const answer = await redeemAt(service.url, shop, orderNo);
    t.is(answer.status, 200, JSON.stringify(answer.body));
    await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
    await until('succeeded', async () => (await stateOf(service, refundNo)) === 'succeeded');
    const [listed, ...others] = await open(service, orderNo);
    t.deepEqual(others, []);
    t.like(listed, { kind: 'refund_after_delivery', refundNo });
    await assertLedgersMatch(t, service);
  });

test('a failed refund that succeeds after all revokes the claim to the content', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  await addSkill(service, { refundAfterFulfilment: true });
  const orderNo = await paidSkill(service, shop, { resource: 'weather', payWay: 'wechat' });
  const nextAttemptAt = async () =>
    (await service.app.store.read((tx) => tx.skillOrders.find({ orderNo })))?.nextAttemptAt;
  // The work pauses while a refund is in progress and is due again if the refund fails.
  await service.app.store.transaction((tx) => tx.skillOrders.update({ orderNo }, { nextAttemptAt: null }));
  const refundNo = await refund(on, orderNo, 0.4, 'success-after-failed');
  await until('failed', async () => (await stateOf(service, refundNo)) === 'failed');
  t.truthy(await nextAttemptAt());
  await service.sim('/sim/refund-state', { orderNo, refundNo, state: 'succeeded' });
  await until('succeeded', async () => (await stateOf(service, refundNo)) === 'succeeded');
  t.is((await redeemAt(service.url, shop, orderNo)).body.code, 'order_refunded');
  service.clock.advance(86_400);
  await runUntilQuiet(service, 600, 60);
  t.is(await nextAttemptAt(), null);
  t.deepEqual(await open(service, orderNo), [], 'no exception opens about content that is not owed');
});

for (const lost of ['told', 'untold'] as const)
  test(`a partly lost dispute ends the claim to the content, an open dispute does not: ${lost}`, async (t) => {
    const { service, shop } = await stage(t);
    await addSkill(service, { currency: 'USD', priceMinor: 150n, payWays: ['paypal'] });
    const [orderNo, delivered] = [await paidSkill(service, shop), await paidSkill(service, shop)];
    for (const one of [orderNo, delivered]) await disputed(service, one, 'open', 'open', { amount: '1.00' });
    t.is((await redeemAt(service.url, shop, delivered)).status, 200, 'an open dispute does not end the claim');
    for (const one of [orderNo, delivered])
      await disputed(service, one, 'lose', 'lost', { amount: '1.00', refund: lost });
    t.is((await redeemAt(service.url, shop, orderNo)).body.code, 'order_refunded');
    t.is((await redeemAt(service.url, shop, delivered)).status, 200, 'delivered content is returned again');
    await assertLedgersMatch(t, service);
  });
