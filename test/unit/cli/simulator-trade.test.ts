import test from 'ava';
import { readTrade, shownTrade, TRADE } from '../../../cli/commands/simulator-payer.ts';
import { drawCard } from '../../../cli/output.ts';
import { createStyle } from '../../../cli/terminal-text.ts';

const AT = Date.UTC(2026, 10, 21, 6, 0, 0);
/** A response of `POST /sim/pay`. */
const PAID = {
  id: '01935a02',
  payWay: 'paypal',
  account: 'main',
  orderNo: 'P1',
  scene: 'redirect',
  subject: 'Tea',
  minor: 1250,
  currency: 'USD',
  state: 'paid',
  createdAt: AT,
  expiresAt: AT + 900_000,
  closedAt: null,
  payments: [{ number: '8XK', minor: 1250, state: 'completed', at: AT, requestNo: null }],
  refunds: [{ number: '9AB', refundNo: 'R1', minor: 50, at: AT, doneAt: null }],
  details: { deep: { er: 1 } },
};

test('a simulator trade has ISO times', (t) => {
  const trade = readTrade(PAID);
  t.like(trade, { createdAt: '2026-11-21T06:00:00.000Z', expiresAt: '2026-11-21T06:15:00.000Z', closedAt: null });
  t.like(trade['payments'], [{ ...PAID.payments[0], at: '2026-11-21T06:00:00.000Z' }]);
  t.like(trade['refunds'], [{ at: '2026-11-21T06:00:00.000Z', doneAt: null }]);
  t.deepEqual(trade['details'], PAID.details, 'what belongs to the channel stays');
});

test('a trade on a terminal is a card without nested objects or milliseconds', (t) => {
  const space = { columns: 80, style: createStyle(false), now: new Date(AT + 60_000), headers: true };
  const card = drawCard(shownTrade(readTrade(PAID)), TRADE.columns, space);
  t.regex(card, /amount +12\.50\n/);
  t.regex(card, /createdAt +1m ago +2026-11-21T06:00:00\.000Z/);
  t.regex(card, /payments +8XK\n/);
  t.regex(card, /refunds +9AB\n/);
  t.notRegex(card, /[{}]|\d{13}|details|minor/);
});
