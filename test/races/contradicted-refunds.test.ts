import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertBooksBalance, runUntilQuiet } from '../support/books.ts';
import { payOrder } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';

/** A message of a channel as it was sent. */
interface Delivery {
  headers: Record<string, string>;
  bodyBase64: string;
  event: string;
}

type RefundState = 'succeeded' | 'failed' | 'abnormal';

const ABOUT_REFUNDS = /^(REFUND|PAYMENT\.(REFUND|CAPTURE\.REFUNDED))/;

/** A refund that succeeded, was told as done, and whose later messages are handed on one by one. */
async function refunded(t: ExecutionContext, payWay: 'wechat' | 'paypal') {
  t.timeout(300_000);
  const service = await startService(t);
  const shop = await service.merchant();
  const admin = await firstAdmin(service);
  const orderNo = await payOrder(service, shop, { payWay, amount: 10 });
  await service.sim('/sim/notices', { payWay, enabled: false });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const refundNo: string = body.data.refundNo;
  await runUntilQuiet(service, 600, 60);
  const told = async () => {
    const all = (await service.sim(`/sim/deliveries?orderNo=${orderNo}`)) as unknown as { deliveries: Delivery[] };
    return all.deliveries.filter(({ event }) => ABOUT_REFUNDS.test(event));
  };
  const hand = async ({ headers, bodyBase64 }: Delivery) => {
    const sent = { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') };
    t.true((await fetch(`${service.url}/notify/${payWay}/default`, sent)).ok);
  };
  const [done] = await told();
  return {
    service,
    admin,
    orderNo,
    refundNo,
    hand,
    told,
    /** The message that it was done, which has not arrived. */
    done: done!,
    /** The channel thinks otherwise; its message. */
    async becomes(state: RefundState, which = refundNo) {
      const before = (await told()).length;
      await service.sim('/sim/refund-state', { orderNo, refundNo: which, state });
      await until(`told ${state}`, async () => (await told()).length > before);
      return (await told()).at(-1)!;
    },
    async state() {
      await runUntilQuiet(service, 600, 60);
      const { app } = service;
      const refund = await app.store.read((tx) => tx.refunds.find({ refundNo }));
      const open = await app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
      return [refund?.state, ...open.map(({ kind }) => kind)];
    },
  };
}

for (const payWay of ['wechat', 'paypal'] as const) {
  test(`${payWay}: a refund that came back after it was done is listed, and older news does not hide it`, async (t) => {
    const on = await refunded(t, payWay);
    t.deepEqual(await on.state(), ['succeeded']);
    await on.hand(await on.becomes('failed'));
    t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
    await on.hand(on.done);
    t.deepEqual(await on.state(), ['abnormal', 'refund_reversed'], 'that it was done once is no news');
    const ended = { action: 'failed_at_channel', reason: 'The bank sent it back' };
    t.is((await on.admin.call('POST', `/api/v1/refunds/${on.refundNo}/resolve`, ended)).status, 200);
    t.deepEqual(await on.state(), ['failed']);
    await assertBooksBalance(t, on.service);
  });

  test(`${payWay}: a refund that came back and is done after all ends what was listed`, async (t) => {
    const on = await refunded(t, payWay);
    await on.hand(await on.becomes('failed'));
    t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
    await on.hand(await on.becomes('succeeded'));
    t.deepEqual(await on.state(), ['succeeded']);
    await assertBooksBalance(t, on.service);
  });

  test(`${payWay}: a refund that a person called failed, and that was done, is done`, async (t) => {
    const on = await refunded(t, payWay);
    await on.hand(await on.becomes('failed'));
    await on.state();
    const ended = { action: 'failed_at_channel', reason: 'The bank sent it back' };
    t.is((await on.admin.call('POST', `/api/v1/refunds/${on.refundNo}/resolve`, ended)).status, 200);
    await on.hand(on.done);
    t.deepEqual(await on.state(), ['failed'], 'that it was done once is no news');
    await on.hand(await on.becomes('succeeded'));
    t.deepEqual(await on.state(), ['succeeded']);
    await assertBooksBalance(t, on.service);
  });
}

test('paypal: news of a refund that was done is not lost when PayPal cannot be asked about it', async (t) => {
  const on = await refunded(t, 'paypal');
  const news = await on.becomes('failed');
  await on.service.sim('/sim/faults', { payWay: 'paypal', call: 'refund-query', fault: '502', times: 1 });
  await on.hand(news);
  t.deepEqual(await on.state(), ['abnormal', 'refund_reversed']);
  await on.service.sim('/sim/faults', { payWay: 'paypal', call: 'refund-query', fault: '502', times: 1 });
  await on.hand(await on.becomes('succeeded'));
  t.deepEqual(await on.state(), ['succeeded']);
});

test('paypal: a refund of the portal that came back is listed, holds its sum, and a person ends it', async (t) => {
  const on = await refunded(t, 'paypal');
  const { service, admin, orderNo } = on;
  const before = await on.told();
  const { refundNo: theirs } = await service.sim('/sim/refund-elsewhere', { orderNo, amount: 2 });
  await until('told', async () => (await on.told()).length > before.length);
  await on.hand((await on.told()).at(-1)!);
  const [known] = await service.app.store.read((tx) => tx.refunds.list({ orderNo, origin: 'channel' }));
  t.like(known, { state: 'succeeded', amount: 200n });
  await on.hand(await on.becomes('failed', String(theirs)));
  await runUntilQuiet(service, 600, 60);
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.deepEqual([order?.refunded, order?.refunding], [400n, 200n]);
  t.true((await on.state()).includes('refund_reversed'));
  const again = await admin.call('POST', `/api/v1/refunds/${known!.refundNo}/retry`);
  t.is(again.body.code, 'refund_not_retryable', 'nobody here made it');
  const told = JSON.stringify((await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body);
  t.true(told.includes(`payctl refund resolve ${known!.refundNo}`), told);
  t.false(told.includes(`payctl refund retry ${known!.refundNo}`), 'what is refused is not advised');
  const ended = { action: 'failed_at_channel', reason: 'The bank sent it back' };
  t.is((await admin.call('POST', `/api/v1/refunds/${known!.refundNo}/resolve`, ended)).status, 200);
  t.deepEqual(await on.state(), ['succeeded']);
  await assertBooksBalance(t, service);
});
