import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { Change } from '../../../server/payments/core/transitions.ts';
import { decideOrder } from '../../../server/payments/core/decide-order.ts';
import type { OrderFacts } from '../../../server/payments/core/facts.ts';
import { OUTCOMES } from './core-orders.ts';
import { at, NOW, orderRow } from '../../support/core-rows.ts';

const KEPT = 'expiry close failed';
const PAID = { paid: 1000n, paidAt: at(-40), channelTradeNo: 'T-1' };
const NO_FACTS: OrderFacts = { sibling: false, mismatch: 'new', readmitted: true };

/** The orders of the columns, in order. */
const COLUMNS: readonly (readonly [order: Partial<OrderRow>, facts: OrderFacts])[] = [
  [{ state: 'created' }, NO_FACTS],
  [{ state: 'pending' }, NO_FACTS],
  [{ state: 'closing', closeReason: 'merchant' }, NO_FACTS],
  [{ state: 'closing', closeReason: 'merchant', closeAnswered: true }, NO_FACTS],
  [{ state: 'closed', closeReason: 'merchant', closedAt: at(-50) }, NO_FACTS],
  [{ state: 'closed', closeReason: 'merchant', closedAt: at(-50), latePayment: KEPT }, NO_FACTS],
  [
    { state: 'closed', closeReason: 'merchant', closedAt: at(-50), latePayment: KEPT },
    { ...NO_FACTS, sibling: true },
  ],
  [
    { state: 'failed', closedAt: at(-50), latePayment: KEPT },
    { ...NO_FACTS, readmitted: false },
  ],
  [{ state: 'paid', ...PAID }, NO_FACTS],
];

/** The rules in two letters, so that the table fits on a screen. */
const SHORT: Readonly<Record<string, string>> = {
  accepted: 'ac',
  declined: 'de',
  paid: 'pd',
  close_requested: 'cr',
  close_confirmed: 'cc',
  paid_before_close: 'pc',
  late_payment: 'lp',
};

/** `.` no change · `-` nothing is written · rule>state, `+R` opens a full refund, `!` raises an exception. */
const TABLE: Readonly<Record<string, string>> = {
  //                                          created     pending  closing  answered      closed      kept      sibling     failed,no stock  paid
  pending:
    /*                             */ 'ac>pending  .        .        .             .           .         .           .                -',
  'pending with a credential':
    /*         */ 'ac>pending  .        .        .             .           .         .           .                -',
  'pending with a capture under review':
    'ac>pending  .        .        .             .           .         .           .                -',
  'pending with a capture that waits for the merchant':
    'ac>pending! .!       .!       .!            .           .         .           .                -',
  approved:
    /*                            */ 'ac>pending  .        .        .             -           -         -           -                -',
  paid: /*                                */ 'pd>paid     pd>paid  pc>paid  lp>closed+R!  lp>closed+R! lp>paid! lp>closed+R! lp>failed+R!    .',
  'paid, by a slow clock':
    /*   */ 'pd>paid     pd>paid  pc>paid  lp>closed+R!  lp>closed+R! lp>paid! lp>closed+R! lp>failed+R!    .',
  'paid, refunds exist':
    /*               */ 'pd>paid!    pd>paid! pc>paid! lp>closed+R!  lp>closed+R! lp>paid! lp>closed+R! lp>failed+R!    .!',
  'paid, half refunded':
    /*              */ 'pd>paid!    pd>paid! pc>paid! lp>closed+R!  lp>closed+R! lp>paid! lp>closed+R! lp>failed+R!    .!',
  'paid, fully refunded':
    /*               */ 'pd>paid!    pd>paid! pc>paid! lp>closed+R   lp>closed+R  lp>closed+R lp>closed+R lp>failed+R  .!',
  'paid by another trade':
    /*             */ 'pd>paid     pd>paid  pc>paid  lp>closed+R!  lp>closed+R! lp>paid! lp>closed+R! lp>failed+R!    .!',
  'paid less':
    /*                         */ '.!          .!       .!       .!            .!          .!        .!          .!               .',
  'paid more':
    /*                         */ '.!          .!       .!       .!            .!          .!        .!          .!               .!',
  'paid in another currency':
    /*          */ '.!          .!       .!       .!            .!          .!        .!          .!               .',
  closed:
    /*                              */ 'cr>closed   cr>closed cc>closed cc>closed   -           -         -           -                .!',
  absent:
    /*                              */ '.           .        .        .             -           -         -           -                -',
  'declined for certain':
    /*              */ 'de>failed   .        .        .             -           -         -           -                -',
  'declined, perhaps':
    /*                 */ '.           .        .        .             -           -         -           -                -',
  'declined, the payer can act':
    'de>failed   .        .        .             -           -         -           -                -',
  'declined, no action possible':
    'de>failed   .        .        .             -           -         -           -                -',
  unknown:
    /*                             */ '.           .        .        .             -           -         -           -                -',
};

function summary(change: Change): string {
  const moved =
    change.rule === null ? (change.order ? '.' : '-') : `${SHORT[change.rule]}>${(change.order as OrderRow).state}`;
  return moved + (change.open ? '+R' : '') + (change.raise?.length ? '!' : '');
}

for (const [name, outcome] of OUTCOMES)
  test(`the effect of "${name}" on an order in each state`, (t) => {
    const expected = TABLE[name]!.split(/\s+/);
    const found = COLUMNS.map(([order, facts]) =>
      summary(decideOrder(orderRow(order), facts, { outcome, cause: 'place', isFirstResponse: true }, NOW)),
    );
    t.deepEqual(found, expected);
  });
