import test, { type ExecutionContext } from 'ava';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { agreesWithLedger, closeIn, type Closed } from './closes.ts';
import { count, inParallel, isLong } from '../support/counts.ts';
import { startInBetween } from '../support/in-between.ts';
import { isOpenedByPayer, requestIn } from '../support/order-scenes.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import {
  openShops,
  ordersIn,
  paidIn,
  payerOf,
  placeIn,
  racedOf,
  type RacedScene,
  SAMPLED_SCENES,
  type Shops,
} from './scenes.ts';
import { startService, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
  test(`G8 ${payWay}: the close response agrees with the ledger if payment or close comes first or both race, in every scene`, async (t) => {
    const scenes = racedOf(payWay);
    const shops = await openShops(t, scenes);
    const { service } = shops;
    const actions = actionsAt(payWay).flatMap((action) => scenes.map((on) => () => action(t, shops, on)));
    const inTurn = await inParallel(actions.length, 3, (index) => actions[index]!());
    t.log(`${inTurn.length} closes in ${scenes.length} scenes: ${sumUp(inTurn)}`);
    const closes = [...inTurn];
    for (const notifications of [true, false]) {
      await service.sim('/sim/notices', { payWay, enabled: notifications });
      const raced = await closeAgainstPay(shops, scenes, notifications);
      closes.push(...raced);
      const refused = raced.filter(({ status }) => status === 409).length;
      // In a short run one side can win every race by chance; the sequential cases let each side win.
      if (isLong) t.true(refused > 0 && refused < raced.length, `${refused} of ${raced.length} were paid first`);
      t.log(`${raced.length} races, notices ${notifications ? 'delivered' : 'dropped'}: ${sumUp(raced)}`);
    }
    await runUntilQuiet(service, 4 * 86_400, 3 * 3600);
    for (const close of closes) await agreesWithLedger(t, service, close);
    await assertLedgersMatch(t, service);
  });

function closeAgainstPay(shops: Shops, scenes: readonly RacedScene[], notifications: boolean): Promise<Closed[]> {
  const orders = ordersIn(scenes, count(200, 5), count(20, 2));
  return inParallel(orders.length, 5, async (index): Promise<Closed> => {
    const on = orders[index]!;
    const orderNo = await placeIn(shops, on);
    const pay = await readyToPay(shops, on, orderNo, index, notifications);
    // A PayPal capture takes longer than a close here, so the close starts later.
    const [toClose, toPay] = [index % 3, (index * 5) % 7];
    const isLonger = on.payWay === 'paypal';
    const [closed] = await Promise.all([
      after(isLonger ? toPay : toClose, () => closeIn(shops, on, orderNo)),
      after(isLonger ? toClose : toPay, () => pay().catch(() => {})),
    ]);
    return closed;
  });
}

type Action = (t: ExecutionContext, shops: Shops, on: RacedScene) => Promise<Closed>;

async function paidAndTold(t: ExecutionContext, shops: Shops, on: RacedScene): Promise<Closed> {
  const closed = await closeIn(shops, on, await paidIn(shops, on));
  t.is(closed.code, 'order_already_paid', `${on.title}: ${closed.answer}`);
  return closed;
}

/** The payer has paid without a report; the close finds the payment. */
async function paidUntold(t: ExecutionContext, shops: Shops, on: RacedScene): Promise<Closed> {
  const orderNo = await placeIn(shops, on);
  await shops.service.sim('/sim/faults', { ...once(on, orderNo), call: 'notice', fault: 'drop-notify' });
  await (
    await payerOf(shops, on, orderNo)
  )();
  const closed = await closeIn(shops, on, orderNo);
  // Alipay's cancel of a code refunds the payment; WeChat Pay is queried before a reverse. PayPal's payer only approved.
  const isCancelled = on.title === 'alipay code';
  const untaken = on.payWay === 'paypal' ? 'closed' : 'order_already_paid';
  t.is(closed.answer, isCancelled ? 'refunded' : untaken, on.title);
  return closed;
}

/** The capture succeeded but its answer was lost, so PayPal must be queried before the order closes. */
async function takenUnheard(t: ExecutionContext, shops: Shops, on: RacedScene): Promise<Closed> {
  const { service, shopOf } = shops;
  const orderNo = await placeIn(shops, on);
  await service.sim('/sim/faults', { ...once(on, orderNo), times: 2, call: 'notice', fault: 'drop-notify' });
  await service.sim('/sim/faults', { ...once(on, orderNo), call: 'capture', fault: '500-after-commit' });
  await (
    await payerOf(shops, on, orderNo)
  )();
  await shopOf(on).call('POST', `/api/v2/payment/capture/${orderNo}`);
  const closed = await closeIn(shops, on, orderNo);
  t.is(closed.answer, 'order_already_paid', on.title);
  return closed;
}

/** Closed before the payer acts: a payment that the channel still accepts is refunded. */
async function closedFirst(t: ExecutionContext, shops: Shops, on: RacedScene): Promise<Closed> {
  const orderNo = await placeIn(shops, on);
  const pay = await payerOf(shops, on, orderNo);
  const closed = await closeIn(shops, on, orderNo);
  // Alipay does not know an order before the payer opens or scans it, so it confirms no close and the payer can still pay.
  const isUnseen = isOpenedByPayer(on) || on.title === 'alipay qr';
  t.is(closed.answer, isUnseen ? 'closing' : 'closed', on.title);
  if (isUnseen || on.payWay === 'paypal') await pay();
  else await t.throwsAsync(pay(), { message: /closed/ }, on.title);
  if (on.payWay === 'paypal') await shops.service.sim('/sim/notify', { orderNo });
  return closed;
}

/** The cases without a race: payment and close in sequence. */
function actionsAt(payWay: RacedScene['payWay']): Action[] {
  return [paidAndTold, paidUntold, closedFirst, ...(payWay === 'paypal' ? [takenUnheard] : [])];
}

const once = ({ payWay }: RacedScene, orderNo: string) => ({ payWay, orderNo, times: 1 });

/** The payer's action in a race; for PayPal the payer has approved, and the capture races. */
async function readyToPay(
  shops: Shops,
  on: RacedScene,
  orderNo: string,
  index: number,
  notifications: boolean,
): Promise<() => Promise<unknown>> {
  const { service, shopOf } = shops;
  const pay = await payerOf(shops, on, orderNo);
  if (on.title === 'alipay qr') await service.sim('/sim/scan', { orderNo });
  if (on.payWay !== 'paypal') return pay;
  await service.sim('/sim/faults', { ...once(on, orderNo), call: 'notice', fault: 'drop-notify' });
  await pay();
  const capture = () => shopOf(on).call('POST', `/api/v2/payment/capture/${orderNo}`);
  const ways = [capture, () => comeBack(shops, orderNo), () => service.sim('/sim/notify', { orderNo })];
  return on.hasButtons ? capture : ways[index % (notifications ? 3 : 2)]!;
}

/** The payer's browser returns from PayPal with its order number. */
async function comeBack({ service }: Shops, orderNo: string): Promise<void> {
  const found = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  const page = await fetch(`${service.url}/return/paypal/${orderNo}?token=${found?.channelOrderId}`);
  await page.text();
}

/** Counts the closes by answer. */
function sumUp(closes: readonly Closed[]): string {
  const words = new Map<string, number>();
  for (const { answer } of closes) words.set(answer, (words.get(answer) ?? 0) + 1);
  return [...words].map(([word, times]) => `${times} ${word}`).join(', ');
}

test('an order that expires during its payment closes, and the late payment is accepted', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const lapsed: { payWay: RacedScene['payWay']; orderNo: string }[] = [];
  for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
    lapsed.push({ payWay, orderNo: await placeOrder(shop, { payWay, amount: 10, expireSeconds: 120 }) });
  await service.sim('/sim/scan', { orderNo: lapsed[0]!.orderNo });
  await runUntilQuiet(service, 3600, 300);
  for (const { payWay, orderNo } of lapsed) {
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.like(order, { state: 'closed', closeReason: 'expired' }, payWay);
    if (payWay === 'paypal') continue;
    await service.sim('/sim/pay', { orderNo, force: true });
    await until(`late money (${payWay})`, async () => (await stateOf(service, orderNo)) === 'paid');
    const late = await service.app.store.read((tx) => tx.exceptions.find({ orderNo }));
    t.is(late?.kind, 'late_paid', payWay);
  }
  await assertLedgersMatch(t, service);
});

test('a place answer after the close returns no payment parameters in any scene, and the channel order is closed', async (t) => {
  let [held, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()];
  let holdsNext = false;
  const hold = (_method: string, path: string) => {
    if (!holdsNext || path.startsWith('/sim/')) return undefined;
    holdsNext = false;
    held.resolve();
    return closed.promise;
  };
  const between = await startInBetween(t, (await ownSimulator(t)).url, hold);
  const shops = await openShops(t, SAMPLED_SCENES, { simulator: between, timeoutMs: 60_000 });
  const { service } = shops;
  const orders = new Map<string, string>();
  for (const [index, on] of SAMPLED_SCENES.entries()) {
    const shop = shops.shopOf(on);
    [held, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<undefined>()];
    holdsNext = true;
    const merchantOrderNo = `slow-${index}`;
    const placing = shop.call('POST', '/api/v2/payment/pay', requestIn(on, { merchantOrderNo }));
    await held.promise;
    const { orderNo } = (await service.app.store.read((tx) => tx.orders.find({ merchantOrderNo })))!;
    t.is((await shop.call('POST', `/api/v2/payment/close/${orderNo}`)).status, 200, on.title);
    closed.resolve(undefined);
    const placed = await placing;
    t.is(placed.body.data?.payment, undefined, on.title);
    orders.set(on.title, orderNo);
  }
  await runUntilQuiet(service, 3 * 3600, 1200);
  const ledger = await ledgerOf(service);
  for (const [title, orderNo] of orders) {
    t.is(await stateOf(service, orderNo), 'closed', title);
    t.is(ledger.get(orderNo)?.paid ?? 0, 0, title);
  }
  await assertLedgersMatch(t, service);
});

/** Delays either side of a race by a few network turns, so that either can win. */
async function after<T>(turns: number, work: () => Promise<T>): Promise<T> {
  for (let turn = 0; turn < turns * 3; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  return work();
}
