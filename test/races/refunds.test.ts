import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { openShops, ordersIn, paidIn, racedOf, RACED_SCENES, SAMPLED_SCENES, type Shops } from './scenes.ts';
import { startService, type Service } from '../support/service.ts';

const CHANNELS = ['alipay', 'wechat', 'paypal'] as const;
const MANY = count(20, 10);

test('G4: exactly one of many refunds of 60 % is accepted, in every scene of every channel', async (t) => {
  const shops = await openShops(t, RACED_SCENES);
  const { service, shopOf } = shops;
  const orders = CHANNELS.flatMap((payWay) => ordersIn(racedOf(payWay), count(100, 2), count(10, 1)));
  const taken = await inParallel(orders.length, 4, async (at) => {
    const on = orders[at]!;
    const orderNo = await paidIn(shops, on, { amount: 100 });
    const answers = await inParallel(MANY, MANY, (index) =>
      untilTaken(() =>
        shopOf(on).call(
          'POST',
          '/api/v2/payment/refund',
          { orderNo, refundAmount: 60 },
          { 'idempotency-key': `${orderNo}-${index}` },
        ),
      ),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    for (const { body } of refused)
      t.true(['refund_exceeds_refundable', 'refund_in_progress'].includes(body.code), `${on.title}: ${body.code}`);
    t.is(answers.length - refused.length, 1, on.title);
    return answers.length - refused.length;
  });
  await runUntilQuiet(service, 7200, 600);
  await assertLedgersMatch(t, service);
  const sum = taken.reduce((a, b) => a + b, 0);
  t.log(`${orders.length} orders in ${RACED_SCENES.length} scenes × ${MANY} refunds of 60 from 100: ${sum} taken`);
});

// Most scenes make the same refund calls, so only the sample is tested.
test('G4: exactly 14 of twenty refunds of 7 from 100 at two replicas succeed, in every scene that differs', async (t) => {
  const shops = await openShops(t, SAMPLED_SCENES);
  const { service, shopOf } = shops;
  const replica = await startService(t, {
    url: service.databaseUrl,
    simulator: service.simulator,
    now: service.clock.now,
  });
  const numbers = await inParallel(SAMPLED_SCENES.length, 2, async (at) => {
    const on = SAMPLED_SCENES[at]!;
    const orderNo = await paidIn(shops, on, { amount: 100 });
    const answers = await inParallel(20, 20, (index) =>
      untilTaken(() =>
        shopOf(on).callAt(index % 2 ? replica.url : service.url, 'POST', '/api/v2/payment/refund', {
          orderNo,
          refundAmount: 7,
          merchantRefundNo: `m-${at}-${index}`,
        }),
      ),
    );
    t.is(answers.filter(({ status }) => status === 200).length, 14, on.title);
    return orderNo;
  });
  // WeChat Pay makes the refunds of one order sequentially.
  await runUntilQuiet(service, 7200, 60);
  for (const [at, orderNo] of numbers.entries())
    await isRefunded(t, service, orderNo, 9800n, SAMPLED_SCENES[at]!.title);
  await assertLedgersMatch(t, service);
});

test('a refund whose answer was lost happens once under any repeats, in every scene that differs', async (t) => {
  const shops = await openShops(t, SAMPLED_SCENES);
  const { service } = shops;
  const numbers: string[] = [];
  for (const on of SAMPLED_SCENES) numbers.push(await paidIn(shops, on, { amount: 50 }));
  for (const payWay of CHANNELS) await service.sim('/sim/notices', { payWay, enabled: false });
  for (const [at, on] of SAMPLED_SCENES.entries()) await loseAnswer(t, shops, on, numbers[at]!);
  await runUntilQuiet(service, 3600, 600);
  for (const [at, orderNo] of numbers.entries())
    await isRefunded(t, service, orderNo, 2000n, SAMPLED_SCENES[at]!.title);
  await assertLedgersMatch(t, service);
});

/** The channel made the refund, its answer is lost, and the merchant repeats the request. */
async function loseAnswer(
  t: ExecutionContext,
  { service, shopOf }: Shops,
  on: (typeof SAMPLED_SCENES)[number],
  orderNo: string,
): Promise<void> {
  const { title, payWay } = on;
  const shop = shopOf(on);
  await service.sim('/sim/faults', { payWay, call: 'refund', fault: 'commit-then-timeout', times: 1, delayMs: 100 });
  const first = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 20 });
  t.is(first.status, 200, title);
  t.is(first.body.data.status, 'processing', title);
  const again = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 20 });
  t.is(again.status, 409, title);
  t.is(again.body.code, 'refund_in_progress', title);
  t.is(again.body.refundNo, first.body.data.refundNo, title);
}

async function isRefunded(
  t: ExecutionContext,
  { app }: Service,
  orderNo: string,
  refunded: bigint,
  title: string,
): Promise<void> {
  const order = await app.store.read((tx) => tx.orders.find({ orderNo }));
  t.is(order?.refunded, refunded, title);
}
