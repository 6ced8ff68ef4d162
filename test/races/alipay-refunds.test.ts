import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder } from '../support/orders.ts';
import { request, startService, type Merchant, type Service, until } from '../support/service.ts';
import { REFUND } from '../unit/channels/alipay/refusal-codes.ts';

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  return { service, shop: await service.merchant() };
}

function refuse(service: Service, orderNo: string, code: string) {
  return service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'refused', orderNo, word: code });
}

async function refund(shop: Merchant, orderNo: string, refundAmount: number) {
  const { status, body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

async function heard(shop: Merchant, refundNo: string) {
  return (await shop.call('GET', `/api/v2/payment/refunds/${refundNo}`)).body.data;
}

test('every Alipay refund refusal code either fails the refund and frees its amount, or retries the same refund', async (t) => {
  const { service, shop } = await stage(t);
  const refunds = new Map<string, { orderNo: string; refundNo: string }>();
  for (const code of Object.keys(REFUND)) {
    const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
    await refuse(service, orderNo, code);
    const { refundNo, status } = await refund(shop, orderNo, 4);
    t.is(status, 'processing', `${code}: one refusal is no proof, because an earlier call may have done it`);
    refunds.set(code, { orderNo, refundNo });
  }
  await runUntilQuiet(service, 300, 61);
  for (const [code, { orderNo, refundNo }] of refunds) {
    const said = await heard(shop, refundNo);
    const { data: order } = (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body;
    if (REFUND[code] === 'final') {
      t.like(said, { status: 'failed', failure: { code: `ACQ.${code}` } }, code);
      t.like(order, { status: 'paid', refundedAmount: 0 }, code);
    } else {
      t.like(said, { status: 'succeeded' }, code);
      t.like(order, { status: 'partially_refunded', refundedAmount: 4 }, code);
    }
    const told = await service.app.store.read((tx) => tx.events.list({ objectNo: refundNo }));
    t.true(
      told.some(({ type }) => type === `refund.${said.status}`),
      code,
    );
  }
  await assertLedgersMatch(t, service);
});

test('a payment that takes no partial refund is refunded in full after the partial refund failed', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await refuse(service, orderNo, 'NOT_ALLOW_PARTIAL_REFUND');
  const { refundNo } = await refund(shop, orderNo, 4);
  const early = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 10 });
  t.is(early.body.code, 'refund_exceeds_refundable', 'the first one may still have happened');
  await runUntilQuiet(service, 150, 61);
  t.like(await heard(shop, refundNo), { status: 'failed', failure: { code: 'ACQ.NOT_ALLOW_PARTIAL_REFUND' } });
  t.is((await refund(shop, orderNo, 10)).status, 'succeeded');
  await assertLedgersMatch(t, service);
});

test('a refund call without fund change is queried after ten seconds, and resent under its number if the channel lacks it', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'lost-refund', orderNo });
  service.clock.stop();
  const { refundNo, status } = await refund(shop, orderNo, 4);
  t.is(status, 'processing');
  await service.app.sweep.once();
  t.is((await heard(shop, refundNo)).status, 'processing', 'not before ten seconds have passed');
  await runUntilQuiet(service, 11, 11);
  t.is((await heard(shop, refundNo)).status, 'succeeded');
  const [row] = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  t.like(row, { attempt: 1, tries: 2 }, 'the same number');
  t.like((await ledgerOf(service)).get(orderNo), { refunded: 400 });
  await assertLedgersMatch(t, service);
});

test('a refund whose answer was lost returns "no fund change" on the second call and is refunded once', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const set = (call: string, fault: string) => service.sim('/sim/faults', { payWay: 'alipay', call, fault, orderNo });
  await set('refund', '500-after-commit');
  await set('refund-query', 'query-lag');
  const { refundNo } = await refund(shop, orderNo, 4);
  await runUntilQuiet(service, 130, 61);
  t.is((await heard(shop, refundNo)).status, 'succeeded');
  t.like((await ledgerOf(service)).get(orderNo), { refunded: 400 });
  await assertLedgersMatch(t, service);
});

test('a refund without fund change that is then refused fails only after the first call can no longer land', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await service.sim('/sim/faults', { payWay: 'alipay', call: 'refund', fault: 'lost-refund', orderNo });
  await refuse(service, orderNo, 'SELLER_BALANCE_NOT_ENOUGH');
  const { refundNo } = await refund(shop, orderNo, 4);
  await runUntilQuiet(service, 300, 61);
  t.is((await heard(shop, refundNo)).status, 'processing');
  await runUntilQuiet(service, 2 * 3600, 600);
  const [row] = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  t.like(row, { state: 'failed', failureCode: 'ACQ.SELLER_BALANCE_NOT_ENOUGH', tries: 2 });
  await assertLedgersMatch(t, service);
});

test("a refund that the payer's bank rejected stays succeeded and has one exception until an operator resolves it", async (t) => {
  const { service, shop } = await stage(t);
  const { token } = await firstAdmin(service);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  const { refundNo: taken } = await refund(shop, orderNo, 4);
  const { refundNo: returned } = await refund(shop, orderNo, 3);
  await runUntilQuiet(service, 61, 61);
  const told = async () =>
    (await service.deliveries(orderNo)).filter(({ event }) => event === 'alipay.trade.refund.depositback.completed');
  const bankSays = async (refundNo: string, status: 'S' | 'F') => {
    const before = (await told()).length;
    await service.sim('/sim/bank-says', { orderNo, refundNo, status });
    await until('Alipay was answered', async () => (await told()).filter((one) => one.status !== null).length > before);
  };
  await bankSays(taken, 'S');
  await bankSays(returned, 'F');
  await bankSays(returned, 'F');
  t.deepEqual(
    (await told()).map(({ status }) => status),
    [200, 200, 200],
  );
  const listed = await service.app.store.read((tx) => tx.exceptions.list({ orderNo }));
  t.deepEqual(
    listed.map(({ kind, refundNo, state, blocksRefunds }) => ({ kind, refundNo, state, blocksRefunds })),
    [{ kind: 'refund_bank_refused', refundNo: returned, state: 'open', blocksRefunds: false }],
  );
  t.like(await heard(shop, returned), { status: 'succeeded', elsewhere: false });
  t.like(await service.app.store.read((tx) => tx.orders.find({ orderNo })), { refunded: 700n, refunding: 0n });
  const resolve = (action: string) =>
    request(
      service.url,
      'POST',
      `/api/v1/exceptions/${listed[0]!.id}/resolve`,
      { action, reason: 'Told the payer' },
      {
        authorization: `Bearer ${token}`,
      },
    );
  t.is((await resolve('refund')).status, 400, 'the payer has the money');
  t.is((await resolve('acknowledge')).status, 200);
  await assertLedgersMatch(t, service);
});
