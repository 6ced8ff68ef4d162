import test, { type ExecutionContext } from 'ava';
import { DIFFERENCE_KINDS, type DifferenceKind } from '../../server/domain.ts';
import { endDifference } from '../../server/payments/side-effects.ts';
import { type BilledShop, billedShop } from '../support/billed-shop.ts';
import { startService, until } from '../support/service.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;
const ORDERS = 10;
const isLost = (at: number): boolean => at % 10 < 3;

/** A second run with the same bill changes nothing. */
async function sameAgain(t: ExecutionContext, shop: BilledShop): Promise<void> {
  const before = await shop.differences();
  await shop.rerun();
  t.deepEqual(await shop.differences(), before);
}

/** Alipay and WeChat Pay accept an empty day only once it is over by the machine's clock, which tests do not advance. */
const EMPTY_FAULTS = { alipay: 'isp.bill_not_exist', wechat: 'NO_STATEMENT_EXIST', paypal: 'empty_bill' } as const;

/** An empty-day answer does not replace a day that already has lines; the lines keep counting. */
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

/** The planted differences, and whether the channel's own answer heals them without an operator. */
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
  // The channel reports both payments, and the second is then an exception of its own; PayPal reports one of them.
  duplicate_payment: 'healed',
  dispute_unknown_to_us: 'healed',
};

/** A shop whose bill of the day has money that an unreported dispute of one of its orders took. */
async function disputedShop(t: ExecutionContext) {
  const shop = await billedShop(await startService(t), 'paypal');
  const orderNo = await shop.paid();
  const { number } = await shop.plant('dispute_unknown_to_us', orderNo);
  const { service } = shop;
  const compare = async () => {
    await shop.nextDay();
    await service.app.bills.plan();
    await service.app.bills.sweep.once();
  };
  const books = () =>
    service.app.store.read(async (tx) => ({
      disputes: await tx.disputes.list({ orderNo }),
      refunds: await tx.refunds.list({ orderNo }),
      refunded: (await tx.orders.find({ orderNo }))!.refunded,
      difference: (await tx.billDifferences.list({ orderNo })).at(-1),
    }));
  return { shop, service, orderNo, number, compare, books };
}

test('a dispute that was opened and lost in an outage is found by its bill and counted', async (t) => {
  const { shop, compare, books, number, orderNo } = await disputedShop(t);
  await compare();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} healed`]);
  const { disputes, refunds, refunded, difference } = await books();
  t.like(difference, { key: number, ours: null, theirs: { amount: '-1000', channelNo: number } });
  t.like(disputes, [{ state: 'lost', amountLost: 1000n }]);
  t.like(refunds, [{ origin: 'dispute', state: 'succeeded', amount: 1000n }]);
  t.is(refunded, 1000n);
  t.deepEqual(await shop.exceptions(orderNo), []);
  await sameAgain(t, shop);
});

test('a dispute that was won after it had been lost is found by its bill', async (t) => {
  const { shop, service, compare, books, orderNo } = await disputedShop(t);
  await compare();
  t.is((await books()).refunded, 1000n);
  await service.sim('/sim/notices', { payWay: 'paypal', enabled: false });
  await service.sim('/sim/dispute', { orderNo, act: 'win' });
  await compare();
  const healed = `dispute_unknown_to_us ${orderNo} healed`;
  t.deepEqual(await shop.differences(), [healed, healed], 'one per day');
  const { disputes, refunds } = await books();
  t.like(disputes, [{ state: 'won', amountLost: 0n }]);
  t.like(refunds, [{ origin: 'dispute', state: 'abnormal' }]);
  // An operator decides about the money that came back.
  t.deepEqual(
    (await shop.exceptions(orderNo)).map(({ kind }) => kind),
    ['refund_reversed'],
  );
});

test('a dispute debit is listed with the reason while the app may not read disputes, and heals afterwards', async (t) => {
  const { shop, service, compare, books, number, orderNo } = await disputedShop(t);
  const may = { payWay: 'paypal', call: 'dispute', fault: 'refused', word: 'PERMISSION_DENIED', times: 100 };
  await service.sim('/sim/faults', may);
  await compare();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} listed`]);
  t.like((await books()).difference?.answer, { kind: 'refused', code: 'PERMISSION_DENIED' });
  const [listed, ...more] = await shop.exceptions(orderNo);
  t.deepEqual(more, []);
  t.like(listed, { kind: 'dispute_unknown_to_us', dedupe: number });
  t.like(listed?.detail, { answer: { kind: 'refused', code: 'PERMISSION_DENIED' } });
  await sameAgain(t, shop);
  await service.sim('/sim/reset-faults', {});
  await shop.rerun();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} healed`]);
  t.deepEqual(await shop.exceptions(orderNo), []);
  t.is((await books()).refunded, 1000n);
});

test('a dispute that an operator resolved stays resolved while the channel is queried again', async (t) => {
  const { shop, service, compare, number, orderNo } = await disputedShop(t);
  const refused = { payWay: 'paypal', call: 'dispute', fault: 'refused', word: 'PERMISSION_DENIED', times: 1 };
  await service.sim('/sim/faults', refused);
  await compare();
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute', fault: '502', times: 1 });
  await shop.rerun();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} open`]);
  const [listed] = await shop.exceptions(orderNo);
  t.is(listed?.dedupe, number);
  await service.app.store.transaction((tx) => endDifference(tx, listed!, service.clock.now()));
  service.clock.advance(60);
  await service.app.bills.sweep.once();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} ended`]);
});

test('a channel that does not answer dispute queries is queried again before an exception opens', async (t) => {
  const { shop, service, compare, orderNo } = await disputedShop(t);
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'dispute', fault: '502', times: 1 });
  await compare();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} open`]);
  t.deepEqual(await shop.exceptions(orderNo), []);
  service.clock.advance(60);
  await service.app.bills.sweep.once();
  t.deepEqual(await shop.differences(), [`dispute_unknown_to_us ${orderNo} healed`]);
});

/** A shop at PayPal with a held payment, and a function that passes a day and requests bills once. */
async function holdingShop(t: ExecutionContext) {
  const service = await startService(t);
  const shop = await billedShop(service, 'paypal');
  await shop.paid();
  const held = await shop.place();
  const word = 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION';
  await service.sim('/sim/faults', { payWay: 'paypal', call: 'capture', fault: 'capture-pending', word });
  await service.sim('/sim/approve', { orderNo: held });
  const order = async () => (await service.app.store.read((tx) => tx.orders.find({ orderNo: held })))!;
  await until('the capture is held', async () => {
    await service.app.sweep.once();
    return (await order()).captureState === 'pending';
  });
  const daysPass = async (days: number) => {
    for (let day = 0; day < days; day += 1) {
      await shop.nextDay();
      await service.app.bills.plan();
      await service.app.bills.sweep.once();
    }
  };
  const complete = async () => {
    await service.sim('/sim/capture-state', { orderNo: held, state: 'completed' });
    await until('the held payment is paid', async () => {
      await service.app.sweep.once();
      return (await order()).state === 'paid';
    });
  };
  return { shop, service, held, daysPass, complete };
}

test('a payment that PayPal holds for nine days is in the settlement of its day', async (t) => {
  const { shop, daysPass, complete } = await holdingShop(t);
  await daysPass(8);
  const paid = (await shop.bill()).sums?.map(({ payments, paid: sum }) => [payments, sum]);
  t.deepEqual(paid, [[1, '1000']], 'PayPal does not list what it holds');
  t.deepEqual(await shop.differences(), []);
  await complete();
  await daysPass(1);
  const { lines, sums, nextCheckAt } = await shop.bill();
  t.is(lines, 2);
  t.deepEqual(
    sums?.map(({ payments, paid: sum }) => [payments, sum]),
    [[2, '2000']],
  );
  t.deepEqual(await shop.differences(), []);
  t.is(nextCheckAt, null, 'no payment of the day is still held');
});

test('a held payment that is completed but missing from its bill is listed, and heals when the bill has it', async (t) => {
  const { shop, held, daysPass, complete } = await holdingShop(t);
  await daysPass(8);
  await complete();
  await shop.plant('paid_missing_at_channel', held);
  await daysPass(1);
  t.deepEqual(await shop.openDifferences(), [`paid_missing_at_channel ${held} listed`]);
  const kinds = async () => (await shop.exceptions(held)).map(({ kind }) => kind);
  t.deepEqual(await kinds(), ['paid_missing_at_channel']);
  await shop.unplant();
  await daysPass(1);
  t.deepEqual(await shop.differences(), [`paid_missing_at_channel ${held} healed`]);
  t.deepEqual(await kinds(), []);
  t.is((await shop.bill()).nextCheckAt, null);
});

for (const payWay of PAY_WAYS)
  test(`${payWay}: after its bill a day that lost three of ten notifications is correct without an operator, and exactly the planted differences are found`, async (t) => {
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
