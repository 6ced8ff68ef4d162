import test from 'ava';
import { paypalKind } from '../../../../server/channels/paypal/kind.ts';
import { approve, issueOf, openShop, orderRequest, paid, placeOrder, type Shop } from './shop.ts';

async function open(t: { teardown(fn: () => unknown): void }): Promise<Shop> {
  const shop = await openShop();
  t.teardown(() => shop.close());
  return shop;
}

test('an approval without a capture expires after three hours, and no money is taken', async (t) => {
  const shop = await open(t);
  const ref = await approve(shop, 'LAPSED0001');
  await shop.advance(3 * 3600 + 60);
  t.deepEqual(await shop.channel.capture?.(ref), { kind: 'absent' });
  t.like((await shop.world.ledger('LAPSED0001')).orders[0], { paid: 0, state: 'closed' });
});

test('a create is remembered for exactly six hours', async (t) => {
  const shop = await open(t);
  const create = () =>
    shop.call('POST', '/v2/checkout/orders', orderRequest('MEMORY0001'), { 'paypal-request-id': 'MEMORY0001' });
  const first = await create();
  await shop.advance(5 * 3600);
  t.is((await create()).body['id'], first.body['id']);
  await shop.advance(3600 + 60);
  t.not((await create()).body['id'], first.body['id']);
});

test('a paid invoice is not paid again after its create is forgotten', async (t) => {
  const shop = await open(t);
  await paid(shop, 'FORGOT0001');
  await shop.advance(7 * 3600);
  t.like(await shop.channel.place(placeOrder('FORGOT0001')), {
    kind: 'declined',
    code: 'DUPLICATE_INVOICE_ID',
    definite: false,
  });
  t.like((await shop.world.ledger('FORGOT0001')).orders[0], { payments: 1 });
});

test("a refund is accepted until the last day of the adapter's refund window", async (t) => {
  const shop = await open(t);
  const ref = await paid(shop, 'OLDMONEY01');
  const refund = (refundNo: string) =>
    shop.channel.refund({
      ...ref,
      refundNo,
      refundAmount: { minor: 100n, currency: 'USD' },
      reason: '',
      notifyUrl: '',
      refundSentAt: new Date(),
    });
  await shop.advance((paypalKind.limits.refundWindowDays - 1) * 86_400);
  t.like(await refund('OLDREFUND0'), { kind: 'succeeded' });
  await shop.advance(2 * 86_400);
  t.like(await refund('OLDREFUND1'), { kind: 'refused', code: 'REFUND_TIME_LIMIT_EXCEEDED' });
});

test('a new secret invalidates every token', async (t) => {
  const shop = await open(t);
  t.is((await shop.call('GET', '/v2/checkout/orders/X')).status, 404);
  await shop.world.post('/sim/rotate', { payWay: 'paypal', account: 'shop', what: 'clientSecret' });
  t.is(issueOf(await shop.call('GET', '/v2/checkout/orders/X')), 'INVALID_TOKEN');
  t.like(await shop.channel.probe(), { ok: false, field: 'clientSecret' });
  t.like(await shop.channel.place(placeOrder('ROTATED001')), { kind: 'unknown', cause: 'misconfigured' });
});
