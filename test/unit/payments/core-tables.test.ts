import test from 'ava';
import { ORDER_STATES, REFUND_STATES } from '../../../server/domain.ts';
import { DECISIONS } from '../../../server/payments/core/facts.ts';
import { type Transition, ORDER_TRANSITIONS, REFUND_TRANSITIONS } from '../../../server/payments/core/transitions.ts';

const KINDS = ['pending', 'approved', 'paid', 'closed', 'absent', 'declined', 'unknown'] as const;

test('every pair of state and outcome has a decision', (t) => {
  for (const state of ORDER_STATES) t.deepEqual(Object.keys(DECISIONS[state]).toSorted(), [...KINDS].toSorted(), state);
});

test('paid is absorbing', (t) => {
  t.deepEqual(
    ORDER_TRANSITIONS.filter(({ from }: Transition<string>) => from === 'paid'),
    [],
  );
  for (const kind of KINDS) t.true(['nothing', 'again', 'hint'].includes(DECISIONS.paid[kind]), kind);
});

test('only a success fact pays, and it pays or is late in every open state', (t) => {
  for (const state of ORDER_STATES)
    for (const kind of KINDS) {
      const pays = ['pay', 'late', 'again'].includes(DECISIONS[state][kind]);
      t.is(pays, kind === 'paid', `${state} × ${kind}`);
    }
});

test('silence, absence and words that say nothing never end an order', (t) => {
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

test('every state is reached, and a refund that failed can still turn out to have happened', (t) => {
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
