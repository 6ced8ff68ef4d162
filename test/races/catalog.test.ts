import test, { type ExecutionContext } from 'ava';
import { defaultLatePayment } from '../../server/identity/api-app-rows.ts';
import { placePayment } from '../../server/payments/orders/place.ts';
import { settle, settleRefund } from '../../server/payments/settle.ts';
import { unbalancedAccounts } from '../../server/db/queries/catalog.ts';
import { type CatalogWorld, catalogWorld, operator, plainProduct, tally } from '../support/catalog-world.ts';

const tea = { project: 'default', code: 'tea' };
const paidElsewhere = { command: 'paid_elsewhere', reason: 'by bank transfer', actor: 'test', listed: false } as const;
const gold = { project: 'default', code: 'gold' };

async function booksAreRight(t: ExecutionContext, world: CatalogWorld): Promise<void> {
  t.deepEqual(await world.store.read(unbalancedAccounts), []);
}

function stockOf(world: CatalogWorld, code = 'tea'): Promise<number | null> {
  return world.catalog.products.get({ project: 'default', code }).then(({ stock }) => stock);
}

test.serial('100 concurrent debits of 1 on a balance of 60 take exactly 60', async (t) => {
  const world = await catalogWorld(t);
  const { coins } = world.catalog;
  await coins.create(operator, gold, { name: 'Gold', clawback: 'refuse' });
  await coins.adjust(operator, gold, { userId: 'ann', amount: 60, reason: 'a start' });
  const found = await tally(100, (at) =>
    coins.debit('shop', gold, { userId: 'ann', amount: 1, bizNo: `b${at}`, memo: null }),
  );
  t.deepEqual(found, { ok: 60, coins_insufficient: 40 });
  t.deepEqual(await world.account(), { balance: 0, held: 0, debt: 0 });
  const events = await world.store.read((tx) => tx.events.count({ type: 'coin.debited' }));
  t.is(events, 60);
  await booksAreRight(t, world);
  t.log(found);
});

test.serial('the same bizNo 20 times at once is one debit; another amount is refused', async (t) => {
  const world = await catalogWorld(t);
  const { coins } = world.catalog;
  await coins.create(operator, gold, { name: 'Gold', clawback: 'refuse' });
  await coins.adjust(operator, gold, { userId: 'ann', amount: 60, reason: 'a start' });
  const debit = { userId: 'ann', amount: 7, bizNo: 'hat', memo: null };
  const found = await tally(20, () => coins.debit('shop', gold, debit));
  t.deepEqual(found, { ok: 20 });
  t.is((await world.account()).balance, 53);
  await t.throwsAsync(coins.debit('shop', gold, { ...debit, amount: 8 }), { message: /bizNo/ });
  await booksAreRight(t, world);
});

test.serial('a bizNo is scoped to its application: two applications of one project each debit once', async (t) => {
  const world = await catalogWorld(t);
  const { coins } = world.catalog;
  await coins.create(operator, gold, { name: 'Gold', clawback: 'refuse' });
  await coins.adjust(operator, gold, { userId: 'ann', amount: 60, reason: 'a start' });
  const debit = { userId: 'ann', amount: 7, bizNo: 'hat', memo: null };
  const found = await tally(20, (at) => coins.debit(at % 2 === 0 ? 'shop' : 'game', gold, debit));
  t.deepEqual(found, { ok: 20 });
  t.is((await world.account()).balance, 46);
  const entries = await world.store.read((tx) => tx.coinEntries.list({ bizNo: 'hat' }));
  t.deepEqual(entries.map(({ actor, delta }) => `${actor} ${delta}`).toSorted(), ['app:game -7', 'app:shop -7']);
  await booksAreRight(t, world);
});

test.serial('a payer whose name resembles another debit does not collide with it', async (t) => {
  const world = await catalogWorld(t);
  const { coins } = world.catalog;
  await coins.create(operator, gold, { name: 'Gold', clawback: 'refuse' });
  for (const userId of ['ann', 'shop:ann', 'ann:hat'])
    await coins.adjust(operator, gold, { userId, amount: 10, reason: 'a start' });
  const take = (userId: string) => coins.debit('shop', gold, { userId, amount: 1, bizNo: 'hat', memo: null });
  for (const userId of ['ann', 'shop:ann', 'ann:hat']) await take(userId);
  for (const userId of ['ann', 'shop:ann', 'ann:hat']) t.is((await world.account(userId)).balance, 9);
});

test.serial('a coin package whose payment is reported five times at once is credited once', async (t) => {
  const world = await catalogWorld(t);
  const order = await world.soldPackage('refuse');
  await Promise.all(
    Array.from({ length: 5 }, () => world.store.transaction((tx) => world.ports.effects.paid(tx, order))),
  );
  await Promise.all(Array.from({ length: 5 }, () => world.pay(order)));
  t.deepEqual(await world.account(), { balance: 100, held: 0, debt: 0 });
  const events = await world.store.read((tx) => tx.events.count({ type: 'coin.credited' }));
  t.is(events, 1);
  await booksAreRight(t, world);
  t.log(`10 tellings, ${events} credit`);
});

test.serial(
  'clawback refuse: a refund of spent coins is 409 and reserves nothing, a smaller refund succeeds',
  async (t) => {
    const world = await catalogWorld(t);
    const order = await world.soldPackage('refuse', 40);
    await t.throwsAsync(world.refund(order.orderNo, 10), { message: /must claw back 100 coins, but only 60/ });
    t.deepEqual(await world.account(), { balance: 60, held: 0, debt: 0 });
    const refundNo = await world.refund(order.orderNo, 3.33);
    t.deepEqual(await world.account(), { balance: 60, held: 34, debt: 0 });
    await world.finish(refundNo, 'succeeded');
    t.deepEqual(await world.account(), { balance: 26, held: 0, debt: 0 });
    await world.store.transaction(async (tx) => {
      const [row, refund] = [await tx.orders.find({ orderNo: order.orderNo }), await tx.refunds.find({ refundNo })];
      if (row && refund) await world.ports.effects.refundSucceeded(tx, row, refund);
    });
    t.is((await world.account()).balance, 26);
    await booksAreRight(t, world);
  },
);

test.serial('clawback debt: spent coins become a debt that the next package pays first', async (t) => {
  const world = await catalogWorld(t);
  const order = await world.soldPackage('debt', 40);
  await world.finish(await world.refund(order.orderNo, 10), 'succeeded');
  t.deepEqual(await world.account(), { balance: 0, held: 0, debt: 40 });
  await world.pay(await world.place({ product: 'coins-100', userId: 'ann' }));
  t.deepEqual(await world.account(), { balance: 60, held: 0, debt: 0 });
  await booksAreRight(t, world);
});

test.serial('clawback partial: the remaining coins are taken and the rest is waived', async (t) => {
  const world = await catalogWorld(t);
  const order = await world.soldPackage('partial', 40);
  await world.finish(await world.refund(order.orderNo, 10), 'succeeded');
  t.deepEqual(await world.account(), { balance: 0, held: 0, debt: 0 });
  await booksAreRight(t, world);
});

test.serial(
  'a refund that fails releases its reserved coins, and can be retried, fail and succeed again',
  async (t) => {
    const world = await catalogWorld(t);
    const order = await world.soldPackage('refuse');
    const refundNo = await world.refund(order.orderNo, 5);
    t.is((await world.account()).held, 50);
    await world.finish(refundNo, 'failed');
    t.deepEqual(await world.account(), { balance: 100, held: 0, debt: 0 });
    await world.finish(refundNo, 'succeeded');
    t.deepEqual(await world.account(), { balance: 50, held: 0, debt: 0 });
    await booksAreRight(t, world);
  },
);

test.serial(
  'a refund that the channel reverts and makes again is reported each time; its coins are taken once',
  async (t) => {
    const world = await catalogWorld(t);
    const order = await world.soldPackage('refuse');
    const refundNo = await world.refund(order.orderNo, 5);
    const takenBack = { kind: 'abnormal', code: 'RETURNED', reason: 'the account is closed' } as const;
    for (let round = 0; round < 3; round++) {
      await world.finish(refundNo, 'succeeded');
      await world.finish(refundNo, 'succeeded');
      await world.hear(refundNo, takenBack);
    }
    await settleRefund(world.ports, refundNo, paidElsewhere, { cause: 'test', actor: 'test' });
    const told = await world.store.read((tx) =>
      tx.events.list({ objectNo: refundNo }, { orderBy: { sequence: 'asc' } }),
    );
    const [done, back] = ['refund.succeeded', 'refund.abnormal'];
    t.deepEqual(
      told.map(({ type }) => type),
      [done, back, done, back, done, back, done],
    );
    t.deepEqual(await world.account(), { balance: 50, held: 0, debt: 0 });
    await booksAreRight(t, world);
  },
);

test.serial('a refunded payment of a wrong amount is in no statistics', async (t) => {
  const world = await catalogWorld(t);
  const { orderNo } = await world.place({ amount: 10 });
  const amount = { minor: 300n, currency: 'USD' };
  await world.say(orderNo, { kind: 'paid', channelNo: 'T-other', amount, at: new Date() });
  const give = {
    command: 'refund_payment',
    received: amount,
    paymentNo: 'T-other',
    reason: 'other',
    refundNo: 'R-other',
    actor: 'admin:root',
  } as const;
  const via = { cause: 'test', actor: 'test' };
  await settle(world.ports, orderNo, give, via);
  const outcome = { kind: 'succeeded', amount, at: new Date() } as const;
  t.is((await settleRefund(world.ports, 'R-other', { outcome }, via)).refund.state, 'succeeded');
  const { totals } = await world.catalog.stats.overview({ tz: 'UTC', mode: 'simulator' });
  t.is(totals.refunds, 0);
  t.deepEqual(totals.amounts, []);
});

test.serial('a forced refund of spent coins is never refused and opens a debt and an exception', async (t) => {
  const world = await catalogWorld(t);
  const order = await world.soldPackage('refuse', 100);
  const { settleForeignRefund } = await import('../../server/payments/refunds/lookups.ts');
  await world.store.transaction(async (tx) => {
    const locked = await tx.orders.lock({ orderNo: order.orderNo });
    const outcome = { kind: 'succeeded', amount: { minor: 1000n, currency: 'CNY' }, at: new Date() } as const;
    if (locked)
      await settleForeignRefund(world.ports, tx, locked, outcome, 'PORTAL1', { cause: 'notice', actor: 'channel' });
  });
  t.deepEqual(await world.account(), { balance: 0, held: 0, debt: 100 });
  const raised = await world.store.read((tx) => tx.exceptions.list({ orderNo: order.orderNo }));
  t.deepEqual(raised.map(({ kind }) => kind).toSorted(), ['coins_debt', 'refund_elsewhere']);
  await booksAreRight(t, world);
});

test.serial('refunds against debits: 20 races never spend coins that a refund reserves', async (t) => {
  const world = await catalogWorld(t);
  const order = await world.soldPackage('refuse');
  const debit = (at: number) =>
    world.catalog.coins.debit('shop', gold, { userId: 'ann', amount: 5, bizNo: `r${at}`, memo: null });
  const refund = () => world.refund(order.orderNo, 1);
  const [spent, refunded] = await Promise.all([tally(20, debit), tally(10, refund)]);
  const { balance, held } = await world.account();
  t.is(balance, 100 - 5 * (spent['ok'] ?? 0));
  t.is(held, 10 * (refunded['ok'] ?? 0));
  t.true(held <= balance);
  await booksAreRight(t, world);
  t.log({ spent, refunded });
});

test.serial('a stock of 10 with 50 concurrent orders sells exactly 10', async (t) => {
  const world = await catalogWorld(t);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 10 });
  const found = await tally(50, (at) => world.place({ product: 'tea', userId: `u${at}` }));
  t.deepEqual(found, { ok: 10, out_of_stock: 40 });
  t.is(await stockOf(world), 0);
  t.is(await world.store.read((tx) => tx.orders.count({ productCode: 'tea' })), 10);
  t.log(found);
});

test.serial('an order that ends returns its stock once; a refund does not', async (t) => {
  const world = await catalogWorld(t);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 2 });
  const [kept, lapsed] = [await world.place({ product: 'tea' }), await world.place({ product: 'tea' })];
  t.is(await stockOf(world), 0);
  const closed = await world.say(lapsed.orderNo, { kind: 'closed' });
  t.is(closed.state, 'closed');
  t.is(await stockOf(world), 1);
  await Promise.all(
    Array.from({ length: 5 }, () => world.store.transaction((tx) => world.ports.effects.ended(tx, closed))),
  );
  t.is(await stockOf(world), 1);
  await world.finish(await world.refund((await world.pay(kept)).orderNo, 10), 'succeeded');
  t.is(await stockOf(world), 1);
});

test.serial('a late payment takes stock again if there is any, and is refunded otherwise', async (t) => {
  const world = await catalogWorld(t);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 1 });
  const late = async () => {
    const order = await world.place({ product: 'tea' });
    await world.store.transaction((tx) => tx.orders.update({ orderNo: order.orderNo }, { closeReason: 'expired' }));
    return world.say(order.orderNo, { kind: 'closed' });
  };
  const [first, second] = [await late(), await late()];
  t.is((await world.pay(first)).state, 'paid');
  t.is(await stockOf(world), 0);
  t.is((await world.pay(second)).state, 'closed');
  t.is(await stockOf(world), 0);
  const refunds = await world.store.read((tx) => tx.refunds.list({}));
  t.deepEqual(
    refunds.map(({ orderNo, origin }) => ({ orderNo, origin })),
    [{ orderNo: second.orderNo, origin: 'late' }],
  );
  const raised = await world.store.read((tx) => tx.exceptions.find({ orderNo: second.orderNo, kind: 'out_of_stock' }));
  t.truthy(raised);
});

test.serial(
  'perUserLimit 3 holds if one payer orders 20 times at once, and other payers are not limited',
  async (t) => {
    const world = await catalogWorld(t);
    await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, perUserLimit: 3, stock: 100 });
    const mine = () => world.place({ product: 'tea', userId: 'ann' });
    const others = (at: number) => world.place({ product: 'tea', userId: `o${at}` });
    const [first, second] = await Promise.all([tally(20, mine), tally(5, others)]);
    t.deepEqual(first, { ok: 3, user_limit_reached: 17 });
    t.deepEqual(second, { ok: 5 });
    t.is(await stockOf(world), 92);
  },
);

test.serial(
  'one merchantOrderNo 20 times at once is one order and one unit of stock, also for the last unit',
  async (t) => {
    const world = await catalogWorld(t);
    await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 1 });
    const request = { product: 'tea', userId: 'ann', merchantOrderNo: 'm-1' };
    const found = await tally(20, () => world.place(request));
    t.falsy(found['out_of_stock']);
    t.is(await world.store.read((tx) => tx.orders.count({})), 1);
    t.is(await stockOf(world), 0);
    const again = await world.place(request);
    t.is(again.merchantOrderNo, 'm-1');
    t.is(await stockOf(world), 0);
    t.log(found);
  },
);

test.serial('50 first payments of one new payer at once make one row', async (t) => {
  const world = await catalogWorld(t);
  const found = await tally(50, () => world.place({ amount: 1, userId: 'new' }));
  t.deepEqual(found, { ok: 50 });
  t.is(await world.store.read((tx) => tx.users.count({ userId: 'new' })), 1);
});

test.serial(
  'two requests under one Idempotency-Key for the last unit make one order, and neither is out of stock',
  async (t) => {
    const world = await catalogWorld(t);
    await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 1 });
    const place = placePayment(world.ports);
    const payee = {
      clientId: 'shop',
      project: 'default',
      latePayment: defaultLatePayment,
      limits: null,
      actor: 'app:shop',
    };
    const claim = { scope: 'app:shop', route: 'pay', key: 'k', fingerprint: 'f', resume: null };
    const attempt = () =>
      place(
        payee,
        { subject: 'Tea', payWay: 'alipay', product: 'tea' },
        { claim: { ...claim, taken: false, leasedUntil: null } },
      );
    t.deepEqual(await tally(8, attempt), { ok: 1, idempotency_in_progress: 7 });
    t.is(await stockOf(world), 0);
    t.is(await world.store.read((tx) => tx.orders.count({})), 1);
    t.is(await world.store.read((tx) => tx.keys.count({})), 1);
  },
);

test.serial('an order that is refused leaves no key, no order and no reserved stock', async (t) => {
  const world = await catalogWorld(t);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 5 });
  const found = await tally(10, () => world.place({ product: 'tea', amount: 9, userId: 'ann' }));
  t.deepEqual(found, { price_mismatch: 10 });
  t.is(await stockOf(world), 5);
  t.is(await world.store.read((tx) => tx.orders.count({})), 0);
  t.is(await world.store.read((tx) => tx.users.count({ userId: 'ann' })), 0);
});
