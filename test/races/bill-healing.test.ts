import test, { type ExecutionContext } from 'ava';
import { DIFFERENCE_KINDS, type DifferenceKind } from '../../server/payments/bills/bill-states.ts';
import { type BilledShop, billedShop } from '../support/billed-shop.ts';
import { startService } from '../support/service.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;
const ORDERS = 10;
/** Three of ten. */
const isLost = (at: number): boolean => at % 10 < 3;

/** The same run once more changes nothing. */
async function sameAgain(t: ExecutionContext, shop: BilledShop): Promise<void> {
  const before = await shop.differences();
  await shop.rerun();
  t.deepEqual(await shop.differences(), before);
}

/** An empty day counts at Alipay and WeChat Pay once the day is over by the machine's clock, which no test puts forward. */
const EMPTY_FAULTS = { alipay: 'isp.bill_not_exist', wechat: 'NO_STATEMENT_EXIST', paypal: 'empty_bill' } as const;

/** That nothing happened is said of a day that was read: its lines go on to count. */
async function neverEmptied(t: ExecutionContext, shop: BilledShop, payWay: (typeof PAY_WAYS)[number]): Promise<void> {
  const before = await shop.differences();
  const { lines, sums } = await shop.bill();
  await shop.service.sim('/sim/bills/conditions', { condition: 'empty', payWay, date: shop.day });
  await shop.refetch();
  t.like(await shop.bill(), { fault: EMPTY_FAULTS[payWay], lines, sums });
  t.deepEqual(await shop.differences(), before);
  await shop.service.sim('/sim/bills/conditions', { condition: 'empty', payWay, date: shop.day, on: false });
  await shop.refetch();
  t.like(await shop.bill(), { state: 'done', fault: null, lines });
}

/** What is planted, and whether the channel's own answer ends it: then nobody has to look. */
const PLANTS: Readonly<Record<DifferenceKind, 'listed' | 'healed'>> = {
  paid_unknown_to_us: 'healed',
  paid_missing_at_channel: 'listed',
  amount_differs: 'listed',
  currency_differs: 'listed',
  refund_unknown_to_us: 'healed',
  refund_missing_at_channel: 'listed',
  refund_amount_differs: 'listed',
  fee_differs: 'listed',
  line_twice: 'listed',
  order_unknown_here: 'listed',
  line_unreadable: 'listed',
  // The channel tells of both payments, and the second is then an exception of its own; PayPal tells of one of them.
  duplicate_payment: 'healed',
};

for (const payWay of PAY_WAYS)
  test(`${payWay}: after its bill a day of which three notices of ten are lost is right without a hand, every planted difference is found, and nothing else`, async (t) => {
    const shop = await billedShop(await startService(t), payWay);
    const orders: string[] = [];
    for (let at = 0; at < ORDERS; at += 1) orders.push(await shop.place());
    for (const [at, orderNo] of orders.entries()) await (isLost(at) ? shop.payUntold(orderNo) : shop.pay(orderNo));
    const refunded = await shop.refundElsewhere(orders[9]!);
    t.deepEqual(
      await shop.states(orders),
      orders.map((_, at) => (isLost(at) ? 'pending' : 'paid')),
    );
    t.false(await shop.knowsRefund(orders[9]!, refunded));
    const right = [await shop.paid(), await shop.paid()];
    await shop.refunded(right[1]!);
    const planted: string[] = [];
    let twice = '';
    for (const kind of DIFFERENCE_KINDS.filter(shop.canPlant)) {
      const { orderNo } = await shop.plant(kind, await shop.orderFor(kind));
      const isTwice = kind === 'duplicate_payment';
      planted.push(`${kind} ${orderNo} ${isTwice && payWay === 'paypal' ? 'listed' : PLANTS[kind]}`);
      if (isTwice) twice = orderNo;
    }
    await shop.plant('order_not_ours');

    await shop.nextDay();
    await shop.service.app.bills.plan();
    await shop.service.app.bills.sweep.once();

    t.deepEqual(
      await shop.states(orders),
      orders.map(() => 'paid'),
    );
    t.true(await shop.knowsRefund(orders[9]!, refunded));
    const healed = orders.filter((_, at) => isLost(at)).map((orderNo) => `paid_unknown_to_us ${orderNo} healed`);
    healed.push(`refund_unknown_to_us ${orders[9]!} healed`);
    t.deepEqual(await shop.differences(), [...healed, ...planted].toSorted());
    t.like(await shop.bill(), { notOurs: 1, unreadable: 1 });
    t.is((await shop.bill()).shortfall === null, payWay === 'paypal', 'PayPal has no sums');
    t.deepEqual(await shop.openDifferences(), planted.filter((line) => line.endsWith('listed')).toSorted());
    const exceptions = await shop.exceptions();
    t.deepEqual(
      exceptions.filter(({ orderNo, kind }) => orders.includes(orderNo) && kind !== 'refund_elsewhere'),
      [],
    );
    t.deepEqual(
      (await shop.exceptions(twice)).map(({ kind }) => kind),
      [payWay === 'paypal' ? 'duplicate_payment' : 'double_paid'],
    );
    for (const orderNo of right) t.deepEqual(await shop.exceptions(orderNo), []);
    await sameAgain(t, shop);
    await neverEmptied(t, shop, payWay);
  });
