import test, { type ExecutionContext } from 'ava';
import { translateFault } from '../../server/http/faults.ts';
import type { Store } from '../../server/db/store.ts';
import { operatorRepairs } from '../../server/payments/exceptions/operator.ts';
import { type CatalogWorld, catalogWorld, operator, plainProduct } from '../support/catalog-world.ts';
import { holdRows } from './held-rows.ts';

const tea = { project: 'default', code: 'tea' };
const admin = { owner: 'any', actor: 'admin:root' } as const;

/** A product with one unit, and an expired order of it: the unit is for sale again. */
async function lapsed(t: ExecutionContext, through?: (store: Store) => Store) {
  const world = await catalogWorld(t, 10, through);
  await world.catalog.products.create(operator, tea, 'goods', { ...plainProduct, stock: 1 });
  const order = await world.place({ product: 'tea' });
  t.is(await stock(world), 0);
  await world.store.transaction((tx) => tx.orders.update({ orderNo: order.orderNo }, { closeReason: 'expired' }));
  await world.say(order.orderNo, { kind: 'closed' });
  t.is(await stock(world), 1);
  return { world, order };
}

const stock = async ({ store }: CatalogWorld) => (await store.read((tx) => tx.products.find(tea)))?.stock;
const orderOf = ({ store }: CatalogWorld, orderNo: string) => store.read((tx) => tx.orders.find({ orderNo }));

/** Delivers a payment of another amount; returns the exception. */
async function mismatched({ store, say }: CatalogWorld, orderNo: string): Promise<string> {
  const amount = { minor: 900n, currency: 'CNY' };
  await say(orderNo, { kind: 'paid', channelNo: 'T-other', amount, at: new Date() });
  const listed = await store.read((tx) => tx.exceptions.find({ orderNo, kind: 'amount_mismatch' }));
  return listed!.id;
}

test('an operator who accepts a payment of another amount for an ended order takes a unit of stock', async (t) => {
  const { world, order } = await lapsed(t);
  const { resolveException } = operatorRepairs(world.ports);
  const id = await mismatched(world, order.orderNo);
  await resolveException(admin, id, 'accept', 'a discount');
  const after = await orderOf(world, order.orderNo);
  t.deepEqual([after?.state, after?.paid, after?.stockHeld], ['paid', 900n, true]);
  t.is(await stock(world), 0);
});

test('a payment of another amount for a sold-out product cannot be accepted, but can be refunded', async (t) => {
  const { world, order } = await lapsed(t);
  const { resolveException } = operatorRepairs(world.ports);
  const id = await mismatched(world, order.orderNo);
  await world.place({ product: 'tea' });
  await t.throwsAsync(resolveException(admin, id, 'accept', 'a discount'), { message: /sold out/ });
  const still = await orderOf(world, order.orderNo);
  t.deepEqual([still?.state, still?.paid, await stock(world)], ['closed', 0n, 0]);
  t.is((await world.store.read((tx) => tx.exceptions.find({ id })))?.state, 'open');
  await resolveException(admin, id, 'refund', 'sold out');
  t.is((await world.store.read((tx) => tx.exceptions.find({ id })))?.state, 'resolved');
});

test('a late payment is not refunded because the product is locked for a moment', async (t) => {
  const { hold, through } = holdRows();
  const { world, order } = await lapsed(t, through);
  const letGo = await hold(world.store, (tx) => tx.products.lock(tea));
  const told = world.pay(order).then(
    ({ state }) => state,
    (error: unknown) => translateFault(error).code,
  );
  const answer = await told.finally(letGo);
  t.is(answer, 'database_busy');
  t.is((await orderOf(world, order.orderNo))?.paid, 0n, 'nothing was decided');
  t.is((await world.pay(order)).state, 'paid');
  t.is(await stock(world), 0);
  t.is(await world.store.read((tx) => tx.refunds.count({ orderNo: order.orderNo })), 0);
});
