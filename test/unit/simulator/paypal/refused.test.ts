import test from 'ava';
import { issueOf, openShop, orderRequest, type Shop } from './shop.ts';

let shop: Shop;
test.before(async () => {
  shop = await openShop();
});
test.after.always(() => shop?.close());

let count = 0;
const nextNo = () => `REFUSED${String(++count).padStart(4, '0')}`;

async function approved(orderNo: string): Promise<string> {
  const { body } = await shop.call('POST', '/v2/checkout/orders', orderRequest(orderNo), {
    'paypal-request-id': orderNo,
  });
  await shop.world.post('/sim/approve', { orderNo });
  return String(body['id']);
}

const capture = (id: string, requestId: string) =>
  shop.call('POST', `/v2/checkout/orders/${id}/capture`, {}, { 'paypal-request-id': requestId });
const statusOf = async (id: string) => (await shop.call('GET', `/v2/checkout/orders/${id}`)).body['status'];

for (const issue of ['INSTRUMENT_DECLINED', 'PAYER_ACTION_REQUIRED', 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING'])
  test.serial(`${issue}: a capture is refused until the payer approves again`, async (t) => {
    const orderNo = nextNo();
    const id = await approved(orderNo);
    await shop.fault('capture', 'refused', { orderNo, word: issue });
    const refused = await capture(id, 'c1');
    t.is(refused.status, 422);
    t.is(issueOf(refused), issue);
    t.true((refused.body['links'] as { rel: string }[]).some(({ rel }) => rel === 'redirect'));
    t.is(issueOf(await capture(id, 'c2')), issue, 'the same way to pay is refused again');
    t.is(await statusOf(id), issue === 'PAYER_ACTION_REQUIRED' ? 'PAYER_ACTION_REQUIRED' : 'APPROVED');
    await shop.world.post('/sim/approve', { orderNo });
    t.is(await statusOf(id), 'APPROVED');
    t.is((await capture(id, 'c3')).body['status'], 'COMPLETED');
    t.like((await shop.world.ledger(orderNo)).orders[0], { paid: 1230, payments: 1 });
  });

test.serial('a refusal with another issue leaves the order approved', async (t) => {
  const orderNo = nextNo();
  const id = await approved(orderNo);
  await shop.fault('capture', 'refused', { orderNo, word: 'TRANSACTION_REFUSED' });
  t.is(issueOf(await capture(id, 'c1')), 'TRANSACTION_REFUSED');
  t.is(await statusOf(id), 'APPROVED');
  t.is((await shop.world.ledger(orderNo)).orders[0]?.paid, 0);
});

test.serial('a capture that waits for the merchant completes when the merchant accepts or denies it', async (t) => {
  for (const state of ['completed', 'declined'] as const) {
    const orderNo = nextNo();
    const id = await approved(orderNo);
    await shop.fault('capture', 'capture-pending', { orderNo, word: 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION' });
    const captureOf = ({ body }: Awaited<ReturnType<typeof capture>>) =>
      (body['purchase_units'] as { payments: { captures: Record<string, unknown>[] } }[])[0]?.payments.captures[0];
    t.like(captureOf(await capture(id, 'c1')), {
      status: 'PENDING',
      status_details: { reason: 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION' },
    });
    await shop.advance(3600);
    t.like(captureOf(await shop.call('GET', `/v2/checkout/orders/${id}`)), { status: 'PENDING' });
    await shop.world.post('/sim/capture-state', { orderNo, state });
    t.like(captureOf(await shop.call('GET', `/v2/checkout/orders/${id}`)), {
      status: state === 'completed' ? 'COMPLETED' : 'DECLINED',
    });
  }
});

test.serial('any other call is refused with the issue of the fault', async (t) => {
  const orderNo = nextNo();
  const id = await approved(orderNo);
  await shop.fault('query', 'refused', { orderNo, word: 'INVALID_RESOURCE_ID' });
  t.is((await shop.call('GET', `/v2/checkout/orders/${id}`)).status, 404);
  t.is(await statusOf(id), 'APPROVED');
});
