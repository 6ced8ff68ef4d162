import test from 'ava';
import { closePayment } from '../../server/payments/close.ts';
import { operatorRepairs } from '../../server/payments/operator.ts';
import { placePayment } from '../../server/payments/place.ts';
import type { Asker, Ports } from '../../server/payments/ports.ts';
import { refundPayment } from '../../server/payments/refund.ts';
import { catalogWorld, type CatalogWorld, operator } from '../support/catalog-world.ts';
import { defaultLatePayment } from '../../server/identity/api-app-rules.ts';

const asker: Asker = { owner: 'any', actor: 'admin:tester', person: operator };
const payee = { clientId: 'shop', project: 'default', latePayment: defaultLatePayment, actor: 'app:shop' };
const request = { subject: 'Tea', payWay: 'alipay', amount: 10 } as const;

/** What a person does to money: the line that it leaves, and how it is done to a paid order, its refund and its exception. */
interface Scene {
  action: string;
  act(ports: Ports, of: Subjects): Promise<unknown>;
}

interface Subjects {
  paid: string;
  open: string;
  failed: string;
  pending: string;
  exception: string;
}

const SCENES: readonly Scene[] = [
  { action: 'order.create', act: (ports) => placePayment(ports)({ ...payee, person: operator }, request) },
  { action: 'order.close', act: (ports, { open }) => closePayment(ports)(asker, open) },
  { action: 'order.sync', act: (ports, { paid }) => operatorRepairs(ports).syncOrder(asker, paid) },
  {
    action: 'refund.create',
    act: (ports, { paid }) => refundPayment(ports)(asker, { orderNo: paid, refundAmount: 1, reason: 'Returned' }),
  },
  { action: 'refund.retry', act: (ports, { failed }) => operatorRepairs(ports).retryRefund(asker, failed) },
  { action: 'refund.sync', act: (ports, { pending }) => operatorRepairs(ports).syncRefund(asker, pending) },
  {
    action: 'exception.resolve',
    act: (ports, { exception }) => operatorRepairs(ports).resolveException(asker, exception, 'refund', 'not ours'),
  },
];

async function subjects(world: CatalogWorld): Promise<Subjects> {
  const order = await world.pay(await world.place({ amount: 10 }));
  const failed = await world.refund(order.orderNo, 2);
  await world.finish(failed, 'failed');
  const pending = await world.refund(order.orderNo, 3);
  const other = await world.place({ amount: 10 });
  await world.say(other.orderNo, {
    kind: 'paid',
    channelNo: 'T-other',
    amount: { minor: 1n, currency: 'CNY' },
    at: new Date(),
  });
  const found = await world.store.read((tx) => tx.exceptions.find({ orderNo: other.orderNo }));
  const open = await world.place({ amount: 10 });
  return { paid: order.orderNo, open: open.orderNo, failed, pending, exception: found!.id };
}

const states = (world: CatalogWorld) =>
  world.store.read(async (tx) => ({
    orders: (await tx.orders.list({}, { orderBy: { orderNo: 'asc' } })).map(({ sequence, state }) => [sequence, state]),
    refunds: (await tx.refunds.list({}, { orderBy: { refundNo: 'asc' } })).map(({ state, tries }) => [state, tries]),
    open: await tx.exceptions.count({ state: 'open' }),
    moves: await tx.moves.count({}),
  }));

for (const { action, act } of SCENES) {
  test.serial(`${action} by a person and its line in the audit log are there together or not at all`, async (t) => {
    const world = await catalogWorld(t);
    const of = await subjects(world);
    const before = await states(world);
    const calls: string[] = [];
    const channels = {
      ...world.ports.channels,
      forOrder: async (...args: Parameters<Ports['channels']['forOrder']>) => {
        calls.push(action);
        return world.ports.channels.forOrder(...args);
      },
    };
    const full = { ...world.ports, channels, audit: () => Promise.reject(new Error('the log is full')) };
    await t.throwsAsync(act(full, of), { message: 'the log is full' });
    t.deepEqual(await states(world), before);
    t.deepEqual(calls, [], 'the channel is not asked for what is not written down');
    await act(world.ports, of);
    const lines = await world.store.read((tx) => tx.audit.list({ action }));
    t.is(lines.length, 1);
    t.like(lines[0], { actorKind: 'admin', actor: 'tester' });
  });
}

test.serial('what an application does to its own orders is in their history and not in the audit log', async (t) => {
  const world = await catalogWorld(t);
  await subjects(world);
  t.is(await world.store.read((tx) => tx.audit.count({})), 0);
});
