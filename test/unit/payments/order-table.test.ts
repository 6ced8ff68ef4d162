import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { Change } from '../../../server/payments/core/moves.ts';
import { decideOrder } from '../../../server/payments/core/decide-order.ts';
import type { OrderFacts } from '../../../server/payments/core/facts.ts';
import { OUTCOMES } from './core-orders.ts';
import { at, NOW, orderRow } from '../../support/core-rows.ts';

const KEPT = { afterExpiry: 'accept', afterClose: 'accept', afterFailed: 'accept' } as const;
const PAID = { paid: 1000n, paidAt: at(-40), channelTradeNo: 'T-1' };
const NO_FACTS: OrderFacts = { sibling: false, mismatch: 'new', readmitted: true };

/** The orders of the columns, in their order. */
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

/** `.` stays · `-` nothing is written · rule>state, `+R` a refund of all of it is opened, `!` something is listed. */
const TABLE: Readonly<Record<string, string>> = {
  //                                          created     pending  closing  told closing  closed      kept      sibling     failed,no stock  paid
  pending:
    /*                             */ 'O2>pending  .        .        .             .           .         .           .                -',
  'pending with a credential':
    /*         */ 'O2>pending  .        .        .             .           .         .           .                -',
  'pending with a capture under review':
    'O2>pending  .        .        .             .           .         .           .                -',
  'pending with a capture that waits for the merchant':
    'O2>pending! .!       .!       .!            .           .         .           .                -',
  approved:
    /*                            */ 'O2>pending  .        .        .             -           -         -           -                -',
  paid: /*                                */ 'O5>paid     O5>paid  O8>paid  O9>closed+R!  O9>closed+R! O9>paid! O9>closed+R! O9>failed+R!    .',
  'paid, by a clock that is behind':
    /*   */ 'O5>paid     O5>paid  O8>paid  O9>closed+R!  O9>closed+R! O9>paid! O9>closed+R! O9>failed+R!    .',
  'paid, refunds exist':
    /*               */ 'O5>paid!    O5>paid! O8>paid! O9>closed+R!  O9>closed+R! O9>paid! O9>closed+R! O9>failed+R!    .!',
  'paid, half went back':
    /*              */ 'O5>paid!    O5>paid! O8>paid! O9>closed+R!  O9>closed+R! O9>paid! O9>closed+R! O9>failed+R!    .!',
  'paid, all went back':
    /*               */ 'O5>paid!    O5>paid! O8>paid! O9>closed+R   O9>closed+R  O9>closed+R O9>closed+R O9>failed+R  .!',
  'paid by another trade':
    /*             */ 'O5>paid     O5>paid  O8>paid  O9>closed+R!  O9>closed+R! O9>paid! O9>closed+R! O9>failed+R!    .!',
  'paid less':
    /*                         */ '.!          .!       .!       .!            .!          .!        .!          .!               .',
  'paid more':
    /*                         */ '.!          .!       .!       .!            .!          .!        .!          .!               .!',
  'paid in another currency':
    /*          */ '.!          .!       .!       .!            .!          .!        .!          .!               .',
  closed:
    /*                              */ 'O6>closed   O6>closed O7>closed O7>closed   -           -         -           -                .!',
  absent:
    /*                              */ '.           .        .        .             -           -         -           -                -',
  'declined for certain':
    /*              */ 'O3>failed   .        .        .             -           -         -           -                -',
  'declined, perhaps':
    /*                 */ '.           .        .        .             -           -         -           -                -',
  'declined, the payer can act':
    'O3>failed   .        .        .             -           -         -           -                -',
  'declined, nobody can act':
    'O3>failed   .        .        .             -           -         -           -                -',
  unknown:
    /*                             */ '.           .        .        .             -           -         -           -                -',
};

function summary(change: Change): string {
  const moved =
    change.rule === null ? (change.order ? '.' : '-') : `${change.rule}>${(change.order as OrderRow).state}`;
  return moved + (change.open ? '+R' : '') + (change.raise?.length ? '!' : '');
}

for (const [name, outcome] of OUTCOMES)
  test(`what "${name}" does to an order in each state`, (t) => {
    const expected = TABLE[name]!.split(/\s+/);
    const found = COLUMNS.map(([order, facts]) =>
      summary(decideOrder(orderRow(order), facts, { outcome, cause: 'place', firstWord: true }, NOW)),
    );
    t.deepEqual(found, expected);
  });
