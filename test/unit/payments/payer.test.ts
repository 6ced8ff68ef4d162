import test from 'ava';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import { PATIENCE } from '../../../server/payments/ports.ts';
import { payerOrders, payerState, viewForPayer } from '../../../server/payments/orders/payer.ts';

const now = new Date('2030-01-31T08:00:00Z');
const qr = { type: 'qr', qrCode: 'https://qr.example/x' } as const;

function row(changes: Partial<OrderRow> = {}): OrderRow {
  const order: Partial<OrderRow> = {
    orderNo: 'P1',
    payWay: 'paypal',
    mode: 'live',
    subject: 'Tea',
    currency: 'USD',
    state: 'pending',
    amount: 350n,
    paid: 0n,
    refunded: 0n,
    captureState: null,
    captureReason: null,
    approvalsAsked: 0,
    failureCode: null,
    closeReason: null,
    channelOrderId: 'PP-1',
    credential: qr,
    credentialUntil: null,
    returnUrl: null,
    expiresAt: new Date('2030-01-31T09:00:00Z'),
    ...changes,
  };
  return order as OrderRow;
}

test('the status shown to the payer follows from state, sums and time', (t) => {
  const past = { expiresAt: now };
  const table: [Partial<OrderRow>, string][] = [
    [{ state: 'created', credential: null }, 'preparing'],
    [{}, 'waiting'],
    [{ ...past }, 'ending'],
    [{ approvalsAsked: 1, captureReason: 'INSTRUMENT_DECLINED' }, 'declined'],
    [{ ...past, approvalsAsked: 1, captureReason: 'INSTRUMENT_DECLINED' }, 'ending'],
    [{ approvalsAsked: 1, captureState: 'live' }, 'confirming'],
    [{ approvalsAsked: 1 }, 'waiting'],
    [{ state: 'closed', closeReason: 'channel', failureCode: 'PAYER_CANNOT_PAY' }, 'refused'],
    [{ captureState: 'live' }, 'confirming'],
    [{ ...past, captureState: 'pending' }, 'confirming'],
    [{ state: 'closing' }, 'ending'],
    [{ state: 'closed', closeReason: 'expired' }, 'expired'],
    [{ state: 'closed', closeReason: 'merchant' }, 'closed'],
    [{ state: 'closed', paid: 350n }, 'returning'],
    [{ state: 'failed', paid: 350n }, 'returning'],
    [{ state: 'closed', paid: 350n, refunded: 350n }, 'refunded'],
    [{ state: 'failed' }, 'failed'],
    [{ state: 'paid', paid: 350n }, 'paid'],
    [{ state: 'paid', paid: 350n, refunded: 1n }, 'partially_refunded'],
    [{ state: 'paid', paid: 350n, refunded: 350n }, 'refunded'],
  ];
  for (const [changes, state] of table) t.is(payerState(row(changes), now), state as never, state);
});

test('a credential is shown only while the order can be paid', (t) => {
  t.deepEqual(viewForPayer(row(), now).payment, qr);
  t.deepEqual(viewForPayer(row({ approvalsAsked: 1, captureReason: 'INSTRUMENT_DECLINED' }), now).payment, qr);
  for (const changes of [{ state: 'closing' }, { expiresAt: now }, { captureState: 'live' }] as Partial<OrderRow>[])
    t.is(viewForPayer(row(changes), now).payment, null);
});

const LATER = new Date('2030-01-31T08:04:00Z');
const AN_HOUR_AGO = { type: 'redirect', url: 'https://pay.example/1' } as const;

/** The operations over one row, with a record of the channel calls. */
function bench(order: OrderRow | undefined, answer: () => Promise<void> = async () => {}) {
  const asked: string[] = [];
  const store = { read: async () => order } as never;
  const act = (what: string) => async () => {
    asked.push(what);
    await answer();
  };
  const renew = async (stale: OrderRow) => {
    await act('renew')();
    return {
      ...stale,
      credential: { type: 'redirect', url: 'https://pay.example/2' },
      credentialUntil: LATER,
    } as OrderRow;
  };
  const actions = { query: act('query'), capture: act('capture'), renew, projectName: async () => 'Tea House' };
  const pages = payerOrders({ store, now: () => now, log: () => {}, patience: PATIENCE }, actions);
  return { pages, asked };
}

test('a return with the PayPal order number captures, and any other token only queries', async (t) => {
  for (const [token, what] of [
    ['PP-1', 'capture'],
    ['PP-2', 'query'],
    ['', 'query'],
    [undefined, 'query'],
  ] as const) {
    const { pages, asked } = bench(row());
    await pages.returned('paypal', 'P1', token);
    t.deepEqual(asked, [what], String(token));
  }
  const { pages, asked } = bench(row({ payWay: 'alipay' }));
  await pages.returned('alipay', 'P1', 'PP-1');
  t.deepEqual(asked, ['query']);
});

test('a return to an ended order, another channel or an unknown number calls no channel', async (t) => {
  const paid = bench(row({ state: 'paid', paid: 350n }));
  t.is((await paid.pages.returned('paypal', 'P1', 'PP-1'))?.state, 'paid');
  const other = bench(row());
  t.is(await other.pages.returned('wechat', 'P1', undefined), undefined);
  const unknown = bench(undefined);
  t.is(await unknown.pages.returned('paypal', 'P1', undefined), undefined);
  t.is(await unknown.pages.order('P1'), undefined);
  t.deepEqual([...paid.asked, ...other.asked, ...unknown.asked], []);
});

test('concurrent returns share one query, and a failure is not cached', async (t) => {
  let fail: (error: Error) => void = () => {};
  const { pages, asked } = bench(row(), () => new Promise((_, reject) => (fail = reject)));
  const visits = [1, 2, 3, 4, 5].map(() => pages.returned('paypal', 'P1', undefined));
  await new Promise(setImmediate);
  fail(new Error('broken'));
  for (const seen of await Promise.all(visits)) t.is(seen?.state, 'waiting');
  t.is(asked.length, 1);
  const again = pages.returned('paypal', 'P1', undefined);
  await new Promise(setImmediate);
  fail(new Error('broken'));
  await again;
  t.is(asked.length, 2);
});

test('a payer gets a valid payment address, and concurrent requests renew it once', async (t) => {
  const { pages, asked } = bench(row({ payWay: 'wechat', credential: AN_HOUR_AGO, credentialUntil: now }));
  const addresses = await Promise.all([1, 2, 3].map(() => pages.addressOf('P1')));
  t.deepEqual(addresses, Array(3).fill('https://pay.example/2'));
  t.deepEqual(asked, ['renew']);
});

test('an order that cannot be paid has no payment address, and the channel is not called', async (t) => {
  for (const order of [
    undefined,
    row({ state: 'paid', paid: 350n }),
    row({ state: 'closing' }),
    row({ expiresAt: now }),
  ]) {
    const { pages, asked } = bench(order);
    t.is(await pages.addressOf('P1'), undefined);
    t.deepEqual(asked, []);
  }
});
