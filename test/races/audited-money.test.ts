import test from 'ava';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { noteEffects } from '../../server/payments/ledger.ts';
import { closePayment } from '../../server/payments/orders/order.ts';
import { runEffect } from '../../server/payments/side-effects.ts';
import { operatorRepairs } from '../../server/payments/exceptions/operator.ts';
import { placePayment } from '../../server/payments/orders/place.ts';
import type { Requester, Ports } from '../../server/payments/ports.ts';
import { refundPayment } from '../../server/payments/refunds/refund.ts';
import { settleRefund } from '../../server/payments/settle.ts';
import { catalogWorld, type CatalogWorld, operator } from '../support/catalog-world.ts';
import { defaultLatePayment } from '../../server/identity/api-app-rows.ts';

const requester: Requester = { owner: 'any', actor: 'admin:tester', person: operator };
const payee = {
  clientId: 'shop',
  project: 'default',
  latePayment: defaultLatePayment,
  limits: null,
  actor: 'app:shop',
};
const request = { subject: 'Tea', payWay: 'alipay', amount: 10 } as const;

/** An operator's action on money: its audit line, and how it is applied to a paid order, its refund or its exception. */
interface Scene {
  action: string;
  how?: string;
  act(ports: Ports, of: Subjects): Promise<unknown>;
}

interface Subjects {
  paid: string;
  open: string;
  failed: string;
  pending: string;
  abnormal: string;
  exception: string;
  effect: string;
}

const SCENES: readonly Scene[] = [
  { action: 'order.create', act: (ports) => placePayment(ports)({ ...payee, person: operator }, request) },
  { action: 'order.close', act: (ports, { open }) => closePayment(ports)(requester, open) },
  { action: 'order.sync', act: (ports, { paid }) => operatorRepairs(ports).syncOrder(requester, paid) },
  {
    action: 'refund.create',
    act: (ports, { paid }) => refundPayment(ports)(requester, { orderNo: paid, refundAmount: 1, reason: 'Returned' }),
  },
  { action: 'refund.retry', act: (ports, { failed }) => operatorRepairs(ports).retryRefund(requester, failed) },
  { action: 'refund.sync', act: (ports, { pending }) => operatorRepairs(ports).syncRefund(requester, pending) },
  {
    action: 'exception.resolve',
    act: (ports, { exception }) => operatorRepairs(ports).resolveException(requester, exception, 'refund', 'not ours'),
  },
  {
    action: 'exception.resolve',
    how: ' (the retry of what is still due)',
    act: (ports, { effect }) => operatorRepairs(ports).resolveException(requester, effect, 'retry', 'it is urgent'),
  },
  {
    action: 'refund.resolve',
    act: (ports, { abnormal }) =>
      operatorRepairs(ports).resolveRefund(requester, abnormal, 'paid_elsewhere', 'by bank'),
  },
];

async function subjects(world: CatalogWorld): Promise<Subjects> {
  const order = await world.pay(await world.place({ amount: 10 }));
  const failed = await world.refund(order.orderNo, 2);
  await world.finish(failed, 'failed');
  const pending = await world.refund(order.orderNo, 3);
  const abnormal = await world.refund(order.orderNo, 4);
  const outcome = { kind: 'abnormal', code: 'CARD_GONE', reason: 'gone' } as const;
  await settleRefund(world.ports, abnormal, { outcome }, { cause: 'test', actor: 'test' });
  const other = await world.place({ amount: 10 });
  await world.say(other.orderNo, {
    kind: 'paid',
    channelNo: 'T-other',
    amount: { minor: 1n, currency: 'CNY' },
    at: new Date(),
  });
  const found = await world.store.read((tx) => tx.exceptions.find({ orderNo: other.orderNo }));
  const open = await world.place({ amount: 10 });
  const effect = await dueEffect(world, await world.pay(await world.place({ amount: 10 })));
  return { paid: order.orderNo, open: open.orderNo, failed, pending, abnormal, exception: found!.id, effect };
}

/** The exception about an effect of the order that is still due. */
async function dueEffect({ ports, store }: CatalogWorld, order: OrderRow): Promise<string> {
  const broken = async () => {
    throw new Error('no coins today');
  };
  const effect = { name: 'paid', run: ['paid'] } as const;
  await store.transaction(async (tx) => {
    await runEffect({ ...ports, effects: { ...ports.effects, paid: broken } }, tx, { order }, effect, 0);
    await noteEffects(tx, order, true);
  });
  return (await store.read((tx) => tx.exceptions.find({ orderNo: order.orderNo, kind: 'effect_failed' })))!.id;
}

const states = (world: CatalogWorld) =>
  world.store.read(async (tx) => ({
    orders: (await tx.orders.list({}, { orderBy: { orderNo: 'asc' } })).map(({ sequence, state }) => [sequence, state]),
    refunds: (await tx.refunds.list({}, { orderBy: { refundNo: 'asc' } })).map(({ state, tries }) => [state, tries]),
    open: await tx.exceptions.count({ state: 'open' }),
    transitions: await tx.transitions.count({}),
  }));

for (const { action, how = '', act } of SCENES) {
  test.serial(`${action}${how} by an operator commits with its audit line or not at all`, async (t) => {
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
    t.deepEqual(calls, [], 'the channel is not called without a stored intent');
    await act(world.ports, of);
    const lines = await world.store.read((tx) => tx.audit.list({ action }));
    t.is(lines.length, 1);
    t.like(lines[0], { actorKind: 'admin', actor: 'tester' });
  });
}

test.serial(
  "an application's actions on its own orders are in the order history and not in the audit log",
  async (t) => {
    const world = await catalogWorld(t);
    await subjects(world);
    t.is(await world.store.read((tx) => tx.audit.count({})), 0);
  },
);
