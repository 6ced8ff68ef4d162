import test, { type ExecutionContext } from 'ava';
import { unbalancedAccounts } from '../../server/db/queries/catalog.ts';
import { dueEffectRows } from '../../server/db/queries/due.ts';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { dueEffects } from '../../server/payments/due-effects.ts';
import { operatorRepairs } from '../../server/payments/exceptions/operator.ts';
import { type CatalogWorld, catalogWorld, operator, plainProduct } from '../support/catalog-world.ts';
import { claimDue } from '../unit/jobs/due-rows.ts';
import { holdRows } from './held-rows.ts';

const gold = { project: 'default', code: 'gold' };
const tea = { project: 'default', code: 'tea' };
const admin = { owner: 'any', actor: 'admin:root' } as const;

/** A package whose payment arrived while the payer's account was locked beyond the lock time-out. */
async function uncredited(t: ExecutionContext) {
  const { hold, through } = holdRows();
  const world = await catalogWorld(t, 10, through);
  await world.soldPackage('refuse');
  await world.catalog.coins.debit('shop', gold, { userId: 'ann', amount: 100, bizNo: 'all', memo: null });
  const placed = await world.place({ product: 'coins-100', userId: 'ann' });
  const letGo = await hold(world.store, (tx) =>
    tx.coinAccounts.lock({ project: 'default', coin: 'gold', userId: 'ann' }),
  );
  const order = await world.pay(placed);
  return { world, order, letGo };
}

/** Runs the job `after` seconds after the first due time (a day from now by default); returns the number of claimed rows. */
async function work({ ports, store }: CatalogWorld, after = 0): Promise<number> {
  const due = await store.read((tx) => tx.dueEffects.list({ state: 'due' }));
  const [first] = due.flatMap(({ nextAt }) => nextAt ?? []).toSorted((a, b) => a.getTime() - b.getTime());
  const now = new Date((first?.getTime() ?? Date.now() + 86_400_000) + after * 1000);
  const rows = await store.transaction((tx) => claimDue(tx, dueEffectRows(), now));
  for (const { id } of rows) await dueEffects(ports).run(id);
  return rows.length;
}

const failedOf = ({ store }: CatalogWorld, { orderNo }: OrderRow) =>
  store.read((tx) => tx.exceptions.list({ orderNo, kind: 'effect_failed' }));

test.serial(
  'coins that could not be credited at once are credited later, once, and before they are taken back',
  async (t) => {
    const { world, order, letGo } = await uncredited(t);
    t.is(order.state, 'paid');
    t.is((await world.account()).balance, 0);
    const refundNo = await world.refund(order.orderNo, 5);
    await world.finish(refundNo, 'succeeded');
    const due = await world.store.read((tx) => tx.dueEffects.list({}, { orderBy: { sequence: 'asc' } }));
    t.deepEqual(
      due.map(({ run, tries, state }) => ({ run, tries, state })),
      [
        { run: ['paid'], tries: 1, state: 'due' },
        { run: ['refundSucceeded'], tries: 0, state: 'due' },
      ],
    );
    t.deepEqual(
      (await failedOf(world, order)).map(({ state, dedupe }) => ({ state, dedupe })),
      [{ state: 'open', dedupe: 'paid' }],
    );
    await letGo();
    t.is(await work(world, -1), 0, 'not before its time');
    const lost = await world.store.transaction((tx) => claimDue(tx, dueEffectRows(), due[0]!.nextAt!));
    t.is(lost.length, 1, 'only the first of an order is due');
    t.is(await work(world, 59), 0, 'the row is leased');
    const { work: now } = dueEffects(world.ports);
    await Promise.all([work(world, 61), now(order.orderNo), now(order.orderNo), now(order.orderNo)]);
    t.deepEqual(await world.account(), { balance: 50, held: 0, debt: 0 });
    const lines = await world.store.read((tx) =>
      tx.coinEntries.list({ orderNo: order.orderNo }, { orderBy: { id: 'asc' } }),
    );
    t.deepEqual(
      lines.map(({ delta }) => Number(delta)),
      [100, -50],
    );
    t.deepEqual(
      (await failedOf(world, order)).map(({ state, resolution, resolvedBy }) => ({ state, resolution, resolvedBy })),
      [{ state: 'resolved', resolution: 'done', resolvedBy: 'service' }],
    );
    const after = await world.store.read((tx) => tx.orders.find({ orderNo: order.orderNo }));
    t.false(after?.effectsDue);
    t.is(await world.store.read((tx) => tx.dueEffects.count({ state: 'done' })), 2);
    t.deepEqual(await world.store.read(unbalancedAccounts), []);
  },
);

test.serial(
  'an effect that fails again stays listed with its newest message, and an operator can run it at once',
  async (t) => {
    const { world, order, letGo } = await uncredited(t);
    const { resolveException } = operatorRepairs(world.ports);
    t.is(await work(world), 1);
    const [listed] = await failedOf(world, order);
    t.like(listed, { state: 'open', detail: { effect: 'paid', tries: 2 } });
    t.is(await work(world, -1), 0);
    const still = await resolveException(admin, listed!.id, 'retry', 'the bank is waiting');
    t.like(still, { state: 'open', detail: { tries: 3 } });
    await letGo();
    const done = await resolveException(admin, listed!.id, 'retry', 'once more');
    t.like(done, { state: 'resolved', resolution: 'done', resolvedBy: 'admin:root', reason: 'once more' });
    t.is((await world.account()).balance, 100);
    await t.throwsAsync(resolveException(admin, listed!.id, 'retry', 'again'), { code: 'exception_resolved' });
    t.is(await work(world), 0);
  },
);

test.serial('an effect that an operator acknowledges is abandoned, and the effects behind it continue', async (t) => {
  const { world, order, letGo } = await uncredited(t);
  await world.finish(await world.refund(order.orderNo, 5), 'succeeded');
  await letGo();
  const [listed] = await failedOf(world, order);
  const { resolveException } = operatorRepairs(world.ports);
  t.like(await resolveException(admin, listed!.id, 'acknowledge', 'credited by hand'), { state: 'resolved' });
  t.is(await work(world), 1);
  const rows = await world.store.read((tx) => tx.dueEffects.list({}, { orderBy: { sequence: 'asc' } }));
  t.deepEqual(
    rows.map(({ state }) => state),
    ['given_up', 'done'],
  );
  t.is((await world.account()).balance, 0);
  t.false((await world.store.read((tx) => tx.orders.find({ orderNo: order.orderNo })))?.effectsDue);
});

test.serial(
  'stock that could not be returned at once is returned later, unless a late payment bought it',
  async (t) => {
    const { hold, through } = holdRows();
    const world = await catalogWorld(t, 10, through);
    await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 2 });
    const lapsed = async () => {
      const { orderNo } = await world.place({ product: 'tea' });
      await world.store.transaction((tx) => tx.orders.update({ orderNo }, { closeReason: 'expired' }));
      return orderNo;
    };
    const [first, second] = [await lapsed(), await lapsed()];
    const letGo = await hold(world.store, (tx) => tx.products.lock(tea));
    const [closed, bought] = await Promise.all([first, second].map((one) => world.say(one, { kind: 'closed' })));
    t.deepEqual([closed!.state, bought!.state], ['closed', 'closed']);
    t.is((await world.pay(bought!)).state, 'paid');
    await letGo();
    t.is((await world.catalog.products.get(tea)).stock, 0);
    while ((await work(world)) > 0);
    t.is((await world.catalog.products.get(tea)).stock, 1);
    const held = await world.store.read((tx) => tx.orders.list({ stockHeld: true }));
    t.deepEqual(
      held.map(({ orderNo, state }) => ({ orderNo, state })),
      [{ orderNo: second, state: 'paid' }],
    );
  },
);
