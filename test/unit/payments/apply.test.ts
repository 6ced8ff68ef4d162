import test from 'ava';
import type { Tx } from '../../../server/db/store.ts';
import { apply, ImpossibleTransition } from '../../../server/payments/ledger.ts';
import { type Change, STAY } from '../../../server/payments/core/transitions.ts';
import type { Ports } from '../../../server/payments/ports.ts';
import { NOW, orderRow, refundRow } from '../../support/core-rows.ts';

const VIA = { cause: 'test', actor: 'test' };

/** A fake transaction that records its writes. */
function recorder() {
  const written: string[] = [];
  const table = (name: string) =>
    new Proxy(
      {},
      {
        get: (_table, verb: string) => async (_where: unknown, _patch: unknown, also?: { table: string }) =>
          void written.push(`${name}.${verb}${also ? ` and ${also.table}` : ''}`),
      },
    );
  const tx = {
    orders: table('orders'),
    refunds: table('refunds'),
    transitions: table('transitions'),
    afterCommit: async () => {},
  };
  const logged: string[] = [];
  const ports = { now: () => NOW, log: (_level: string, message: string) => void logged.push(message) };
  return { tx: tx as unknown as Tx, ports: ports as unknown as Ports, written, logged };
}

/** Changes that no decision produces, as a fault would. */
const PLANTED: readonly (readonly [name: string, change: object, refund?: object])[] = [
  ['a paid order is opened again', { rule: 'accepted', order: { state: 'pending' } }],
  ['a rule that the table has for another pair', { rule: 'paid_before_close', order: { state: 'paid' } }],
  ['a rule that no table has', { rule: 'nowhere', order: { state: 'closed' } }],
  ['a state without a rule', { rule: null, order: { state: 'closed' } }],
  ['money without a rule', { rule: null, order: { paid: 1n } }],
  ['a sum without a rule', { rule: null, order: { refunded: 1n } }],
  ['a refund by the rule of an order', { rule: 'paid', refund: { state: 'succeeded' } }, {}],
  ['a failed refund is released', { rule: 'refund_decided', refund: { state: 'failed' } }, { state: 'failed' }],
  ['the amount of a refund', { rule: null, refund: { amount: 1n } }, {}],
  ['a refund that is not there', { rule: 'refund_succeeded', refund: { state: 'succeeded' } }],
];

for (const [name, change, refund] of PLANTED)
  test(`an unlisted transition is not written: ${name}`, async (t) => {
    const { tx, ports, written, logged } = recorder();
    const rows = { order: orderRow({ state: 'paid' }), refund: refund && refundRow(refund) };
    await t.throwsAsync(apply(ports, tx, rows, change as Change, VIA), { instanceOf: ImpossibleTransition });
    t.deepEqual(written, []);
    t.deepEqual(logged, ['a transition that no table lists was rejected']);
  });

test('a listed transition writes the row and its history entry', async (t) => {
  const { tx, ports, written } = recorder();
  const after = await apply(ports, tx, { order: orderRow() }, { rule: 'accepted', order: { state: 'pending' } }, VIA);
  t.is(after.order.state, 'pending');
  t.is(after.order.sequence, 4);
  t.deepEqual(written, ['orders.update and transitions']);
});

test('a change without a rule writes no history, and no change writes nothing', async (t) => {
  const { tx, ports, written } = recorder();
  const touched = await apply(ports, tx, { order: orderRow() }, { rule: null, order: { checks: 2 } }, VIA);
  t.is(touched.order.sequence, 3);
  await apply(ports, tx, { order: orderRow() }, STAY, VIA);
  t.deepEqual(written, ['orders.update']);
});
