import test from 'ava';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { checkHistory, type Line } from '../../prove/check-history.ts';
import { ASK, order, refund, REFUNDED, type Story, tell } from './story.ts';

const PART = order({ status: 'partially_refunded', refunded: 400, refunds: [refund()] });

/** An order that is placed, paid and given back in part, by clients who overlap; `otherwise` changes what is told. */
function story(otherwise: (story: Story) => void = () => {}, end = PART, ledger: Line['value'] = REFUNDED): Line[] {
  const tale = tell();
  tale.invoke(0, 'place', { ...ASK.place, key: 'k1' });
  tale.invoke(1, 'place', { ...ASK.place, key: 'k1' });
  tale.end(1, 'fail', { http: 409, code: 'idempotency_in_progress' });
  tale.end(0, 'ok', order());
  tale.invoke(1, 'query', ASK.query);
  tale.done(2, 'pay', { orderNo: 'P1' });
  tale.done(3, 'query', ASK.query, order({ status: 'paid' }));
  // It began before anybody was told "paid".
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

/** Stories that could not have happened, each with the rule that it breaks. */
const PLANTED: readonly [what: string, rule: string, lines: Line[]][] = [
  [
    'an order of the channel is told by nobody',
    'nothingAcknowledgedIsLost',
    story((tale) => tale.ledger({ orderNo: 'P2' })),
  ],
  [
    'an order that was acknowledged is gone at the end',
    'nothingAcknowledgedIsLost',
    story(({ done }) => done(0, 'place', { ...ASK.place, token: 't2' }, order({ orderNo: 'P2' }))),
  ],
  [
    'an order that was acknowledged is unknown for a moment',
    'nothingAcknowledgedIsLost',
    story(({ done }) => done(0, 'query', { ...ASK.query, token: 't2' }, { http: 404 }, 'fail')),
  ],
  [
    'the amount at the end is not what was asked for',
    'nothingAcknowledgedIsLost',
    story(() => {}, { ...PART, amount: 900 }),
  ],
  [
    'a refund that was acknowledged is gone at the end',
    'nothingAcknowledgedIsLost',
    story(() => {}, order({ status: 'paid' }), { ...REFUNDED, refunded: 0, returns: 0 }),
  ],
  [
    'a refund has another amount than was asked for',
    'nothingAcknowledgedIsLost',
    story(() => {}, { ...PART, refunds: [refund({ amount: 300 })] }),
  ],
  [
    'a refund that was told succeeded failed',
    'nothingAcknowledgedIsLost',
    story(() => {}, order({ status: 'paid', refunds: [refund({ status: 'failed' })] }), {
      ...REFUNDED,
      refunded: 0,
      returns: 0,
    }),
  ],
  [
    'one key became two orders',
    'nothingHappensTwice',
    story(({ done }) => done(0, 'place', { ...ASK.place, key: 'k1', token: 't2' }, order({ orderNo: 'P2' }))),
  ],
  [
    'one number became two refunds',
    'nothingHappensTwice',
    story(({ done }) => done(6, 'refund', { ...ASK.refund, token: 't2', merchantRefundNo: 'f1' }, { refundNo: 'R2' })),
  ],
  ['one merchantOrderNo has two orders that live', 'nothingHappensTwice', siblings('pending')],
  ['a shop has more orders than it asked for', 'nothingHappensTwice', moreOrders()],
  [
    'one request became two refunds',
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
  ['the payer paid twice', 'nothingHappensTwice', story(() => {}, PART, { ...REFUNDED, payments: 2 })],
  [
    'the channel made a refund that nobody tells',
    'nothingHappensTwice',
    story(() => {}, PART, { ...REFUNDED, returns: 2 }),
  ],
  [
    'pending is told after paid',
    'paidStaysPaid',
    story(({ done }) => done(6, 'query', { ...ASK.query, token: 't2' }, order())),
  ],
  [
    'a refund is refused because nothing was paid',
    'paidStaysPaid',
    story(({ done }) =>
      done(6, 'refund', { ...ASK.refund, token: 't2' }, { http: 409, code: 'order_not_paid' }, 'fail'),
    ),
  ],
  [
    'paid is told before the channel has the money',
    'paidStaysPaid',
    story(() => {}, PART, { ...REFUNDED, paidAt: 1e12 }),
  ],
  [
    'paid is told and the channel never had the money',
    'paidStaysPaid',
    story(() => {}, PART, { ...REFUNDED, paid: 0 }),
  ],
  [
    'more is told as refunded than was paid',
    'sumsAgree',
    story(({ done }) => done(6, 'query', { ...ASK.query, token: 't2' }, order({ status: 'refunded', refunded: 1100 }))),
  ],
  ['the channel gave back more than it took', 'sumsAgree', story(() => {}, PART, { ...REFUNDED, refunded: 1400 })],
  ['the sum at the end is not that of the channel', 'sumsAgree', story(() => {}, PART, { ...REFUNDED, refunded: 300 })],
  ...['closed', 'failed', 'pending'].map(
    (status) =>
      [
        `an order is told ${status}, and the channel has its money`,
        'sumsAgree',
        unpaidAtTheEnd(status, { paid: 1000 }),
      ] as const satisfies [string, string, Line[]],
  ),
  [
    'a token works after its revocation was answered',
    'revokedTokensAreDead',
    story(({ done }) => done(6, 'query', ASK.query, order({ status: 'paid' }))),
  ],
  ['nobody looked at the end', 'wellFormed', story().filter(({ f }) => f !== 'drained')],
  ['an answer has no question', 'wellFormed', story(({ end }) => end(0, 'ok'))],
];

function unpaidAtTheEnd(status: string, ledger: Line['value']): Line[] {
  const tale = tell();
  tale.done(0, 'place', ASK.place, order());
  tale.drained();
  tale.done(0, 'query', { orderNo: 'P1' }, order({ status }));
  tale.ledger({ orderNo: 'P1', ...ledger });
  return tale.lines;
}

/** A second order under one number, beside a first one in a state. */
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

/** An order at the channel that nobody can have asked for: the only request but one was refused for certain. */
function moreOrders(): Line[] {
  const tale = tell();
  tale.done(0, 'place', ASK.place, order());
  tale.done(0, 'place', ASK.place, { http: 400 }, 'fail');
  tale.drained();
  for (const orderNo of ['P1', 'P2']) tale.done(0, 'query', { orderNo }, order({ orderNo }));
  for (const orderNo of ['P1', 'P2']) tale.ledger({ orderNo, payments: 0 });
  return tale.lines;
}

test('the checker is short and imports nothing, so that a stranger can judge it', (t) => {
  const text = readFileSync(new URL('../../prove/check-history.ts', import.meta.url), 'utf8');
  t.true(text.split('\n').length <= 200);
  t.notRegex(text, /^import |\bimport\(|\brequire\(/m);
});

test('a history that could have happened passes', (t) => {
  t.deepEqual(checkHistory(story()), []);
});

test('an order that was closed before its number was used again passes', (t) => {
  t.deepEqual(checkHistory(siblings('closed')), []);
});

test('money that came for a closed order and went back passes', (t) => {
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

test('money that came for a closed order, went back and was sent back again is no payment; one that was told paid stays paid', (t) => {
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
  test(`found: ${what}`, (t) => {
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

test('who began or ended first among those who began or ended together changes no verdict', (t) => {
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

/** Events that follow each other and are all beginnings, or all ends, in another order: what was before what stays. */
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
