import test from 'ava';
import { ORDER_STATES, REFUND_STATES } from '../../../server/domain.ts';
import { DECISIONS } from '../../../server/payments/core/facts.ts';
import { type Transition, ORDER_TRANSITIONS, REFUND_TRANSITIONS } from '../../../server/payments/core/transitions.ts';

const KINDS = ['pending', 'approved', 'paid', 'closed', 'absent', 'declined', 'unknown'] as const;

test('every pair of state and outcome has a decision', (t) => {
  for (const state of ORDER_STATES) t.deepEqual(Object.keys(DECISIONS[state]).toSorted(), [...KINDS].toSorted(), state);
});

test('a paid order never leaves the paid state', (t) => {
  t.deepEqual(
    ORDER_TRANSITIONS.filter(({ from }: Transition<string>) => from === 'paid'),
    [],
  );
  for (const kind of KINDS) t.true(['nothing', 'again', 'hint'].includes(DECISIONS.paid[kind]), kind);
});

test('only a success report pays an order, and in every open state it pays or counts as late', (t) => {
  for (const state of ORDER_STATES)
    for (const kind of KINDS) {
      const pays = ['pay', 'late', 'again'].includes(DECISIONS[state][kind]);
      t.is(pays, kind === 'paid', `${state} × ${kind}`);
    }
});

test('unknown, absent and pending reports never end an order', (t) => {
  for (const state of ORDER_STATES)
    for (const kind of ['unknown', 'absent', 'pending'] as const)
      t.false(['close', 'fail', 'pay', 'late'].includes(DECISIONS[state][kind]), `${state} × ${kind}`);
});

test('an order can fail only from created', (t) => {
  t.deepEqual(
    ORDER_TRANSITIONS.filter(({ from, to }) => to === 'failed' && from !== to).map(({ from }) => from),
    ['created'],
  );
});

test('every state is reachable, and a failed refund can still be reported as succeeded', (t) => {
  for (const state of ORDER_STATES)
    t.true(
      ORDER_TRANSITIONS.some(({ to }) => to === state),
      state,
    );
  for (const state of REFUND_STATES)
    t.true(
      REFUND_TRANSITIONS.some(({ to }) => to === state),
      state,
    );
  t.true(REFUND_TRANSITIONS.some(({ from, to }) => from === 'failed' && to === 'succeeded'));
});
