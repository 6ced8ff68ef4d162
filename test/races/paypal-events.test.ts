import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';

const payWay = 'paypal';

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  const shop = await service.merchant();
  return { service, shop, admin: await firstAdmin(service) };
}

interface Resource {
  id: string;
  [member: string]: unknown;
}

async function paid(service: Service, shop: Awaited<ReturnType<typeof stage>>['shop']) {
  const orderNo = await placeOrder(shop, { payWay, amount: 10 });
  await service.sim('/sim/approve', { orderNo });
  await until('paid', async () => (await stateOf(service, orderNo)) === 'paid');
  const { channelTradeNo } = (await service.app.store.read((tx) => tx.orders.find({ orderNo })))!;
  return { orderNo, captureId: channelTradeNo! };
}

/** Sends a signed event to the service; returns the response. */
async function tell(service: Service, orderNo: string, type: string, resource: Resource, isTest = false) {
  await service.sim('/sim/event', { orderNo, type, resource, isTest });
  return until(`${type} was answered`, async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries.find(({ body, status }) => body.includes(resource.id) && status !== null)?.status;
  });
}

async function counted({ app }: Service, result: string): Promise<number> {
  const text = await app.metrics.registry.metrics();
  const line = new RegExp(`^channel_notices_total\\{pay_way="paypal",result="${result}"\\} (\\d+)`, 'm').exec(text);
  return Number(line?.[1] ?? 0);
}

test('events about unknown objects and dashboard test events are acknowledged and counted', async (t) => {
  const { service, shop, admin } = await stage(t);
  const { orderNo } = await paid(service, shop);
  const strangers: [string, Resource, boolean?][] = [
    ['BILLING.SUBSCRIPTION.CREATED', { id: 'I-BW452GLLEP1G' }],
    ['PAYMENT.CAPTURE.COMPLETED', { id: '4CAPTURE00001', custom_id: 'SHOP-1001', invoice_id: 'SHOP-1001' }],
    ['CHECKOUT.ORDER.APPROVED', { id: '4ORDER0000001', purchase_units: [{ reference_id: 'default' }] }],
    ['PAYMENT.CAPTURE.PENDING', { id: '4CAPTURE00002', custom_id: orderNo }, true],
  ];
  for (const [type, resource, isTest] of strangers)
    t.is(await tell(service, orderNo, type, resource, isTest), 200, type);
  t.is(await counted(service, 'irrelevant'), strangers.length);
  t.deepEqual((await admin.call('GET', '/api/v1/exceptions?state=open')).body.data, []);
});

test('an unknown order in our number format is requested again while young, and listed', async (t) => {
  const { service, shop, admin } = await stage(t);
  const { orderNo } = await paid(service, shop);
  const stamp = service.clock.now().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  const young = `P${stamp}ABCDEFGHJK`;
  t.is(await tell(service, orderNo, 'PAYMENT.CAPTURE.COMPLETED', { id: '4CAPTURE00003', custom_id: young }), 503);
  t.is(
    await tell(service, orderNo, 'PAYMENT.CAPTURE.PENDING', {
      id: '4CAPTURE4',
      custom_id: 'P20200101000000ABCDEFGHJK',
    }),
    200,
  );
  const listed = (await admin.call('GET', '/api/v1/exceptions?kind=unmatched_notice&state=open')).body.data;
  t.deepEqual(
    listed.map(({ orderNo: number }: { orderNo: string }) => number).toSorted(),
    ['P20200101000000ABCDEFGHJK', young].toSorted(),
  );
});

test('a chargeback without a visible refund at PayPal opens an exception and stops refunds, though the capture is completed', async (t) => {
  const { service, shop, admin } = await stage(t);
  const { orderNo, captureId } = await paid(service, shop);
  const up = { rel: 'up', href: `${service.simulator.url}/paypal/v2/payments/captures/${captureId}`, method: 'GET' };
  const resource = { id: '9CHARGEBACK00001', status: 'COMPLETED', links: [up] };
  t.is(await tell(service, orderNo, 'PAYMENT.CAPTURE.REVERSED', resource), 200);
  const find = async () =>
    (await admin.call('GET', `/api/v1/exceptions?kind=refund_unexplained&state=open&orderNo=${orderNo}`)).body.data;
  const [row, ...others] = await find();
  t.deepEqual(others, []);
  t.like(row, { orderNo, blocksRefunds: true });
  t.like(row.detail, { number: '9CHARGEBACK00001' });
  const refused = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
  t.is(refused.status, 409, JSON.stringify(refused.body));
  await admin.call('POST', `/api/v1/orders/${orderNo}/sync`, {});
  t.is((await find()).length, 1, 'a capture that is still completed resolves nothing');
  await assertLedgersMatch(t, service);
});

test("a reversal message is requested again if PayPal's refund query fails", async (t) => {
  const { service, shop } = await stage(t);
  const { orderNo } = await paid(service, shop);
  await service.sim('/sim/faults', { payWay, call: 'refund-query', fault: '502', times: 1 });
  t.is(await tell(service, orderNo, 'PAYMENT.CAPTURE.REVERSED', { id: '9CHARGEBACK00002' }), 503);
  t.is(await counted(service, 'undecided'), 1);
});
