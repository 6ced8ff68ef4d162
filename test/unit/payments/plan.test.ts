import test from 'ava';
import fc from 'fast-check';
import { endOf, later, nextOrderCheck, nextRefundCheck, type Scheduled } from '../../../server/payments/core/plan.ts';

const at = new Date('2030-01-01T00:00:00Z');
const seconds = (from: Date, to: Date | null) => (to === null ? null : (to.getTime() - from.getTime()) / 1000);

function scheduled(patch: Partial<Scheduled>): Scheduled {
  return {
    state: 'pending',
    scene: 'qr',
    checks: 0,
    expiresAt: later(at, 7200),
    closedAt: null,
    absentFirstAt: null,
    ...patch,
  };
}

test('a pending order is queried at 15 s, 30 s, 1 m, 3 m, 10 m, 30 m and hourly', (t) => {
  const steps = [0, 1, 2, 3, 4, 5, 6, 60].map((checks) =>
    seconds(at, nextOrderCheck(scheduled({ checks, expiresAt: later(at, 999_999) }), at)),
  );
  t.deepEqual(steps, [15, 30, 60, 180, 600, 1800, 3600, 3600]);
});

test('a code payment is queried every few seconds while it is open', (t) => {
  for (const state of ['created', 'pending'] as const) {
    const steps = [0, 1, 2, 3].map((checks) =>
      seconds(at, nextOrderCheck(scheduled({ state, scene: 'code', checks }), at)),
    );
    t.deepEqual(steps, state === 'created' ? [3, 5, 10, 30] : [3, 5, 5, 5]);
  }
});

test('an order with an unknown place outcome is queried at 5 s, 15 s, 1 m, 5 m', (t) => {
  const steps = [0, 1, 2, 3].map((checks) => seconds(at, nextOrderCheck(scheduled({ state: 'created', checks }), at)));
  t.deepEqual(steps, [5, 15, 60, 300]);
});

test('no query is planned after the end of the order', (t) => {
  const order = scheduled({ checks: 9, expiresAt: later(at, 100) });
  t.deepEqual(nextOrderCheck(order, at), endOf(order));
});

test('a late payment is queried at +5 m, +1 h and +24 h, then no more', (t) => {
  const steps = [0, 1, 2, 3].map((checks) =>
    seconds(at, nextOrderCheck(scheduled({ state: 'closed', closedAt: at, checks }), at)),
  );
  t.deepEqual(steps, [300, 3600, 86_400, null]);
});

test('a refund is queried at 10 s, 1 m, 5 m, 30 m, 2 h, 6 h and daily', (t) => {
  const steps = [0, 1, 2, 3, 4, 5, 6, 50].map((checks) => seconds(at, nextRefundCheck(checks, at)));
  t.deepEqual(steps, [10, 60, 300, 1800, 7200, 21_600, 86_400, 86_400]);
});

test('the next query of an unsettled order is at most an hour away and never in the past', (t) => {
  const states = fc.constantFrom('created', 'pending', 'closing' as const);
  fc.assert(
    fc.property(
      states,
      fc.nat(1000),
      fc.integer({ min: -90_000, max: 700_000 }),
      fc.boolean(),
      (state, checks, expiry, absent) => {
        const order = scheduled({
          state: state as never,
          checks,
          expiresAt: later(at, expiry),
          absentFirstAt: absent ? at : null,
        });
        const wait = seconds(at, nextOrderCheck(order, at));
        return wait !== null && wait > 0 && wait <= 3600;
      },
    ),
  );
  t.pass();
});
