import test from 'ava';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { checkHistory, type Line } from '../../prove/check-history.ts';
import { ASK, order, refund, REFUNDED, type Story, tell } from './story.ts';

const PART = order({ status: 'partially_refunded', refunded: 400, refunds: [refund()] });

/** A history of an order that overlapping clients place, pay and partly refund; `otherwise` changes the responses. */
function story(otherwise: (story: Story) => void = () => {}, end = PART, ledger: Line['value'] = REFUNDED): Line[] {
  const tale = tell();
  tale.invoke(0, 'place', { ...ASK.place, key: 'k1' });
  tale.invoke(1, 'place', { ...ASK.place, key: 'k1' });
  tale.end(1, 'fail', { http: 409, code: 'idempotency_in_progress' });
  tale.end(0, 'ok', order());
  tale.invoke(1, 'query', ASK.query);
  tale.done(2, 'pay', { orderNo: 'P1' });
  tale.done(3, 'query', ASK.query, order({ status: 'paid' }));
  // It began before any client received "paid".
  tale.end(1, 'ok', order());
  tale.done(0, 'place', { ...ASK.place, key: 'k1' }, { ...order(), replayed: true });
  tale.invoke(0, 'refund', { ...ASK.refund, merchantRefundNo: 'f1' });
  tale.invoke(1, 'refund', { ...ASK.refund, merchantRefundNo: 'f1' });
  tale.end(0, 'info', { http: 504 });
  tale.end(1, 'ok', { refundNo: 'R1', refundStatus: 'succeeded' });
  tale.done(4, 'revoke-token', { shop: 'shop-1', tokens: ['t1'] });
  tale.done(3, 'query', ASK.query, { http: 401, code: 'unauthenticated' }, 'fail');
  otherwise(tale);
  tale.drained();
  tale.done(5, 'query', { orderNo: 'P1' }, end);
  tale.ledger({ paidAt: 0, ...ledger });
  return tale.lines;
}

/** Impossible histories, each with the rule that it breaks. */
const PLANTED: readonly [what: string, rule: string, lines: Line[]][] = [
  [
    'an order at the channel is reported by no response',
    'nothingAcknowledgedIsLost',
    story((tale) => tale.ledger({ orderNo: 'P2' })),
  ],
  [
    'an acknowledged order is missing at the end',
    'nothingAcknowledgedIsLost',
    story(({ done }) => done(0, 'place', { ...ASK.place, token: 't2' }, order({ orderNo: 'P2' }))),
  ],
  [
    'an acknowledged order is temporarily unknown',
    'nothingAcknowledgedIsLost',
    story(({ done }) => done(0, 'query', { ...ASK.query, token: 't2' }, { http: 404 }, 'fail')),
  ],
  [
    'the final amount differs from the requested one',
    'nothingAcknowledgedIsLost',
    story(() => {}, { ...PART, amount: 900 }),
  ],
  [
    'an acknowledged refund is missing at the end',
    'nothingAcknowledgedIsLost',
    story(() => {}, order({ status: 'paid' }), { ...REFUNDED, refunded: 0, returns: 0 }),
  ],
  [
    'a refund has another amount than requested',
    'nothingAcknowledgedIsLost',
    story(() => {}, { ...PART, refunds: [refund({ amount: 300 })] }),
  ],
  [
    'a refund reported as succeeded is later reported as failed',
    'nothingAcknowledgedIsLost',
    story(() => {}, order({ status: 'paid', refunds: [refund({ status: 'failed' })] }), {
      ...REFUNDED,
      refunded: 0,
      returns: 0,
    }),
  ],
  [
    'one key creates two orders',
    'nothingHappensTwice',
    story(({ done }) => done(0, 'place', { ...ASK.place, key: 'k1', token: 't2' }, order({ orderNo: 'P2' }))),
  ],
  [
    'one number creates two refunds',
    'nothingHappensTwice',
    story(({ done }) => done(6, 'refund', { ...ASK.refund, token: 't2', merchantRefundNo: 'f1' }, { refundNo: 'R2' })),
  ],
  ['one merchantOrderNo has two open orders', 'nothingHappensTwice', siblings('pending')],
  ['a shop has more orders than it requested', 'nothingHappensTwice', moreOrders()],
  [
    'one request creates two refunds',
    'nothingHappensTwice',
    story(
      () => {},
      order({ status: 'partially_refunded', refunded: 800, refunds: [refund(), refund({ refundNo: 'R2' })] }),
      {
        ...REFUNDED,
        refunded: 800,
        returns: 2,
      },
    ),
  ],
  ['the payer pays twice', 'nothingHappensTwice', story(() => {}, PART, { ...REFUNDED, payments: 2 })],
  [
    'a refund made by the channel is reported by no response',
    'nothingHappensTwice',
    story(() => {}, PART, { ...REFUNDED, returns: 2 }),
  ],
  [
    'an order is reported as pending after paid',
    'paidStaysPaid',
    story(({ done }) => done(6, 'query', { ...ASK.query, token: 't2' }, order())),
  ],
  [
    'a refund of a paid order is refused as unpaid',
    'paidStaysPaid',
    story(({ done }) =>
      done(6, 'refund', { ...ASK.refund, token: 't2' }, { http: 409, code: 'order_not_paid' }, 'fail'),
    ),
  ],
  [
    'an order is reported as paid before the channel has the money',
    'paidStaysPaid',
    story(() => {}, PART, { ...REFUNDED, paidAt: 1e12 }),
  ],
  [
    'an order is reported as paid and the channel never has the money',
    'paidStaysPaid',
    story(() => {}, PART, { ...REFUNDED, paid: 0 }),
  ],
  [
    'more is reported as refunded than was paid',
    'sumsAgree',
    story(({ done }) => done(6, 'query', { ...ASK.query, token: 't2' }, order({ status: 'refunded', refunded: 1100 }))),
  ],
  ['the channel refunds more than it took', 'sumsAgree', story(() => {}, PART, { ...REFUNDED, refunded: 1400 })],
  ['the final sum differs from the channel', 'sumsAgree', story(() => {}, PART, { ...REFUNDED, refunded: 300 })],
  ...['closed', 'failed', 'pending'].map(
    (status) =>
      [
        `an order is reported as ${status}, and the channel has its money`,
        'sumsAgree',
        unpaidAtTheEnd(status, { paid: 1000 }),
      ] as const satisfies [string, string, Line[]],
  ),
  [
    'a token works after its revocation was confirmed',
    'revokedTokensAreDead',
    story(({ done }) => done(6, 'query', ASK.query, order({ status: 'paid' }))),
  ],
  ['the history has no final check', 'wellFormed', story().filter(({ f }) => f !== 'drained')],
  ['a response has no call', 'wellFormed', story(({ end }) => end(0, 'ok'))],
];

function unpaidAtTheEnd(status: string, ledger: Line['value']): Line[] {
  const tale = tell();
  tale.done(0, 'place', ASK.place, order());
  tale.drained();
  tale.done(0, 'query', { orderNo: 'P1' }, order({ status }));
  tale.ledger({ orderNo: 'P1', ...ledger });
  return tale.lines;
}

/** A second order under the same merchant number, next to a first one in `state`. */
function siblings(state: string): Line[] {
  const tale = tell();
  const numbered = { merchantOrderNo: 'm1' };
  tale.done(0, 'place', { ...ASK.place, ...numbered }, order(numbered));
  tale.done(0, 'place', { ...ASK.place, ...numbered }, order({ ...numbered, orderNo: 'P2' }));
  tale.drained();
  tale.done(0, 'query', { orderNo: 'P1' }, order({ ...numbered, status: state }));
  tale.done(0, 'query', { orderNo: 'P2' }, order({ ...numbered, orderNo: 'P2' }));
  return tale.lines;
}

/** An order at the channel without a request for it: all requests but one were definitely rejected. */
function moreOrders(): Line[] {
  const tale = tell();
  tale.done(0, 'place', ASK.place, order());
  tale.done(0, 'place', ASK.place, { http: 400 }, 'fail');
  tale.drained();
  for (const orderNo of ['P1', 'P2']) tale.done(0, 'query', { orderNo }, order({ orderNo }));
  for (const orderNo of ['P1', 'P2']) tale.ledger({ orderNo, payments: 0 });
  return tale.lines;
}

test('the checker is short and imports nothing, so that an outsider can review it', (t) => {
  const text = readFileSync(new URL('../../prove/check-history.ts', import.meta.url), 'utf8');
  t.true(text.split('\n').length <= 200);
  t.notRegex(text, /^import |\bimport\(|\brequire\(/m);
});

test('a possible history passes', (t) => {
  t.deepEqual(checkHistory(story()), []);
});

test('a history where an order was closed before its number was reused passes', (t) => {
  t.deepEqual(checkHistory(siblings('closed')), []);
});

test('a history with a refunded late payment of a closed order passes', (t) => {
  const late = refund({ amount: 1000, origin: 'late' });
  const tale = tell();
  tale.done(0, 'place', ASK.place, order());
  tale.done(0, 'close', ASK.query, order({ status: 'closed' }));
  tale.done(1, 'query', ASK.query, order({ status: 'refunded', refunded: 1000, refunds: [late] }));
  tale.done(0, 'refund', ASK.refund, { http: 409, code: 'order_not_paid' }, 'fail');
  tale.drained();
  tale.done(0, 'query', { orderNo: 'P1' }, order({ status: 'refunded', refunded: 1000, refunds: [late] }));
  tale.ledger({ orderNo: 'P1', paid: 1000, refunded: 1000, returns: 1 });
  t.deepEqual(checkHistory(tale.lines), []);
});

test('a late payment that was refunded and returned is not a payment, and an order reported as paid stays paid', (t) => {
  for (const word of ['refunded', 'paid']) {
    const tale = tell();
    tale.done(0, 'place', ASK.place, order());
    tale.done(1, 'query', ASK.query, order({ status: word }));
    tale.done(1, 'query', ASK.query, order({ status: 'closed' }));
    tale.ledger({ orderNo: 'P1', paid: 1000 });
    const rules = checkHistory(tale.lines).map(({ rule }) => rule);
    t.is(rules.includes('paidStaysPaid'), word === 'paid');
  }
});

for (const [what, rule, lines] of PLANTED)
  test(`the checker finds: ${what}`, (t) => {
    const found = checkHistory(lines);
    t.true(
      found.some((one) => one.rule === rule),
      JSON.stringify(found),
    );
    for (const { words, events } of found) {
      t.regex(words, /\w+ \w+/);
      t.true(
        events.every((index) => lines.some((line) => line.index === index)),
        words,
      );
    }
  });

test('the order of simultaneous beginnings or ends does not change the verdict', (t) => {
  const histories = [story(), ...PLANTED.map(([, , lines]) => lines)];
  fc.assert(
    fc.property(
      fc.constantFrom(...histories),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (lines, luck) => {
        t.deepEqual(rulesOf(shuffle(lines, () => luck.next().value)), rulesOf(lines));
      },
    ),
    { numRuns: 1000 },
  );
});

function rulesOf(lines: Line[]): string[] {
  return [...new Set(checkHistory(lines).map(({ rule }) => rule))].toSorted();
}

/** Shuffles consecutive beginnings and consecutive ends, and keeps every happened-before relation. */
function shuffle(lines: readonly Line[], luck: () => number): Line[] {
  const runs: Line[][] = [];
  const kindOf = ({ process, type }: Line) => (typeof process === 'number' ? type === 'invoke' : process);
  for (const line of lines) {
    const run = runs.at(-1);
    const isAlone = run?.some(({ process }) => process === line.process) && typeof line.process === 'number';
    if (run && !isAlone && kindOf(run[0]!) === kindOf(line)) run.push(line);
    else runs.push([line]);
  }
  const mixed = runs.flatMap((run) => run.map((line) => ({ line, luck: luck() })).toSorted((a, b) => a.luck - b.luck));
  return mixed.map(({ line }, index) => ({ ...line, index }));
}
