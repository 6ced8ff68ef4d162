import test, { type ExecutionContext } from 'ava';
import { readAccount, readInstant, readTransactions } from '../../../../server/channels/paypal/bill-file.ts';
import { type BillLine, BillMalformed } from '../../../../server/payments/channel.ts';
import { billFile, collect, refused } from '../bill-trial.ts';
import { billText, DAY, fileLines, money, payment, refund, type Row } from './bill-file.ts';
import { CAPTURE_ID, ORDER_NO, REFUND_NO } from './scripted.ts';

async function read(t: ExecutionContext, text: string | Uint8Array) {
  return readTransactions(await billFile(t, text), DAY);
}

async function linesOf(t: ExecutionContext, rows: readonly Row[]): Promise<BillLine[]> {
  return (await collect(await read(t, billText(rows)))).lines;
}

test('a payment and its refund are two lines, each with its numbers and fee', async (t) => {
  const { lines, totals } = await collect(await read(t, billText([payment(), refund()])));
  const common = {
    orderNo: ORDER_NO,
    channelTradeNo: CAPTURE_ID,
    currency: 'USD',
    at: new Date(`${DAY}T08:05:00Z`),
    discount: 0n,
    share: 0n,
  };
  t.deepEqual(
    lines.map(({ raw, ...line }) => ({ ...line, raw: JSON.parse(raw) as unknown })),
    [
      {
        ...common,
        line: 1,
        kind: 'payment',
        event: 'T0006 S',
        refundNo: null,
        channelRefundNo: null,
        amount: 1230n,
        fee: 92n,
        raw: payment(),
      },
      {
        ...common,
        line: 2,
        kind: 'refund',
        event: 'T1107 S',
        refundNo: REFUND_NO,
        channelRefundNo: '1JU08902781691411',
        amount: 230n,
        fee: -8n,
        raw: refund(),
      },
    ],
  );
  t.is(totals, undefined);
});

test('only a successful transaction, or a reversed one that had succeeded, moves money', async (t) => {
  const rows = ['S', 'V', 'P', 'D', 'F'].flatMap((transaction_status) => [
    payment({ transaction_status }),
    refund({ transaction_status }),
  ]);
  t.deepEqual(
    (await linesOf(t, rows)).map(({ event, kind, amount, fee }) => [event, kind, amount, fee]),
    [
      ['T0006 S', 'payment', 1230n, 92n],
      ['T1107 S', 'refund', 230n, -8n],
      ['T0006 V', 'payment', 1230n, 92n],
      // A reversed refund; its return is a transaction of its own.
      ['T1107 V', 'other', -230n, -8n],
      ...['P', 'D', 'F'].flatMap((status) => [
        [`T0006 ${status}`, 'other', 0n, 0n],
        [`T1107 ${status}`, 'other', 0n, 0n],
      ]),
    ],
  );
});

/** The kind of each code by PayPal's reference (developer.paypal.com, "Transaction event codes"). */
const CODES: Readonly<Record<string, BillLine['kind']>> = {
  T0000: 'payment',
  T0001: 'other',
  T0006: 'payment',
  T0008: 'other',
  T0013: 'payment',
  T0015: 'other',
  T0100: 'fee',
  T0106: 'fee',
  T0200: 'other',
  T0201: 'other',
  T0300: 'other',
  T0400: 'other',
  T1100: 'other',
  T1106: 'dispute',
  T1107: 'other',
  T1108: 'fee',
  T1109: 'fee',
  T1110: 'dispute',
  T1111: 'dispute',
  T1200: 'other',
  T1201: 'dispute',
  T1202: 'dispute',
  T1203: 'other',
  T1205: 'dispute',
  T1207: 'dispute',
  T1208: 'dispute',
  T1500: 'other',
  T2001: 'other',
  T9900: 'other',
};

test('a pending or reversed refund keeps its numbers, so that it is not missing, but a denied one has none', async (t) => {
  const rows = ['P', 'V', 'D'].map((transaction_status) => refund({ transaction_status }));
  t.deepEqual(
    (await linesOf(t, rows)).map(({ kind, refundNo, channelRefundNo }) => [kind, refundNo, channelRefundNo]),
    [
      ['other', REFUND_NO, '1JU08902781691411'],
      ['other', REFUND_NO, '1JU08902781691411'],
      ['other', null, null],
    ],
  );
});

test('every code has a kind, and a line with the wrong sign has the kind other', async (t) => {
  const gained = await linesOf(
    t,
    Object.keys(CODES).map((transaction_event_code) => payment({ transaction_event_code })),
  );
  t.deepEqual(Object.fromEntries(gained.map(({ event, kind }) => [event.slice(0, 5), kind])), { ...CODES });
  // A payment to another party is not a payment here, and a refund never adds money.
  const lost = await linesOf(t, [
    payment({ transaction_amount: money('-12.30') }),
    payment({ transaction_amount: money('0.00') }),
  ]);
  t.deepEqual(
    lost.map(({ kind, amount }) => [kind, amount]),
    [
      ['other', -1230n],
      ['other', 0n],
    ],
  );
});

test('dispute lines have their sign, their payment and their own number', async (t) => {
  const about = { paypal_reference_id: CAPTURE_ID, paypal_reference_id_type: 'TXN', fee_amount: undefined };
  const rows = [
    payment({
      ...about,
      transaction_id: 'C1',
      transaction_status: 'V',
      transaction_event_code: 'T1201',
      transaction_amount: money('-12.30'),
    }),
    payment({ ...about, transaction_id: 'C2', transaction_event_code: 'T1202' }),
    payment({ ...about, transaction_id: 'C3', transaction_event_code: 'T1201', paypal_reference_id_type: 'ODR' }),
  ];
  t.deepEqual(
    (await linesOf(t, rows)).map((line) => [
      line.kind,
      line.amount,
      line.fee,
      line.orderNo,
      line.channelTradeNo,
      line.channelRefundNo,
    ]),
    [
      ['dispute', -1230n, 0n, ORDER_NO, CAPTURE_ID, 'C1'],
      ['dispute', 1230n, 0n, ORDER_NO, CAPTURE_ID, 'C2'],
      ['dispute', 1230n, 0n, ORDER_NO, null, 'C3'],
    ],
  );
});

test('a fee line has no amount: charged fees are positive, returned fees negative', async (t) => {
  const fee = (transaction_event_code: string, value: string, fee_amount?: object) =>
    payment({ transaction_event_code, transaction_amount: money(value), fee_amount });
  const rows = [fee('T0106', '-20.00'), fee('T1108', '0.49'), fee('T0106', '-20.00', money('-1.00'))];
  t.deepEqual(
    (await linesOf(t, rows)).map(({ kind, amount, fee: kept }) => [kind, amount, kept]),
    [
      ['fee', 0n, 2000n],
      ['fee', 0n, -49n],
      ['fee', 0n, 2100n],
    ],
  );
});

test('every currency has its own decimals', async (t) => {
  const rows = [
    payment({ transaction_amount: money('1230', 'JPY'), fee_amount: money('-92', 'JPY') }),
    payment({ transaction_amount: money('1230.00', 'JPY'), fee_amount: money('-92.0', 'JPY') }),
    payment({ transaction_amount: money('5', 'EUR'), fee_amount: undefined }),
    payment({ transaction_amount: money('1234567890', 'JPY'), fee_amount: money('-9', 'JPY') }),
    payment({ transaction_amount: money('1234567890123.45', 'EUR'), fee_amount: undefined }),
  ];
  t.deepEqual(
    (await linesOf(t, rows)).map(({ currency, amount, fee }) => [currency, amount, fee]),
    [
      ['JPY', 1230n, 92n],
      ['JPY', 1230n, 92n],
      ['EUR', 500n, 0n],
      ['JPY', 1_234_567_890n, 9n],
      ['EUR', 123_456_789_012_345n, 0n],
    ],
  );
});

test('a foreign refund, an order of another system and a line without numbers get the right numbers', async (t) => {
  const rows = [
    refund({ invoice_id: ORDER_NO }),
    refund({ invoice_id: undefined, custom_field: undefined }),
    payment({ custom_field: undefined, invoice_id: 'SHOP-17' }),
    payment({ custom_field: undefined, invoice_id: undefined }),
  ];
  t.deepEqual(
    (await linesOf(t, rows)).map(({ orderNo, refundNo, channelTradeNo }) => [orderNo, refundNo, channelTradeNo]),
    [
      [ORDER_NO, null, CAPTURE_ID],
      [null, null, CAPTURE_ID],
      ['SHOP-17', null, CAPTURE_ID],
      [null, null, CAPTURE_ID],
    ],
  );
});

test('a timestamp is parsed in any zone, and other texts are rejected', (t) => {
  const at = Date.parse('2026-03-01T10:00:00Z');
  for (const text of [
    '2026-03-01T10:00:00+0000',
    '2026-03-01T10:00:00Z',
    '2026-03-01T10:00:00.000Z',
    '2026-03-01T10:00:00.123456+00:00',
    '2026-03-01T18:00:00+0800',
    '2026-03-01T18:00:00+08:00',
    '2026-03-01T03:00:00-0700',
    '2026-03-01T15:30:00+0530',
    '2026-02-28T22:00:00-12:00',
  ])
    t.is(readInstant(text), at, text);
  for (const text of [
    '',
    '2026-03-01',
    '2026-03-01T10:00:00',
    '2026-03-01 10:00:00+0000',
    '2026-02-30T10:00:00+0000',
    '2026-03-01T24:00:00+0000',
    '2026-03-01T10:00:00+99:00',
    '2026-03-01T10:00:00+08',
    '2026-03-01T10:00:00 PST',
  ])
    t.true(Number.isNaN(readInstant(text)), text);
});

test('an unreadable member is reported with its line and column', async (t) => {
  for (const [name, value] of [
    ['transaction_id', 17],
    ['transaction_event_code', ''],
    ['transaction_initiation_date', '2026-03-01'],
    ['transaction_amount', 12.3],
    ['transaction_amount', money('12.305')],
    ['transaction_amount', money('=12.30')],
    ['transaction_amount', money('1e3')],
    ['transaction_amount', money('12.30', 'XXX')],
    ['transaction_amount', money('1.50', 'JPY')],
    ['fee_amount', money('-0.92', 'EUR')],
    ['fee_amount', 'free'],
    ['fee_amount', null],
  ] as const) {
    const row = payment({ [name]: value });
    const column = JSON.stringify(row).indexOf(`"${name}"`) + 1;
    await refused(t, await read(t, billText([payment(), row, payment()])), 'wrong_cell', { line: 3, column });
  }
});

test('a transaction without a required member is reported with its line', async (t) => {
  for (const name of ['id', 'event_code', 'status', 'initiation_date', 'amount']) {
    const row = payment({ [`transaction_${name}`]: undefined, gross_amount: money('12.30') });
    await refused(t, await read(t, billText([payment(), row])), 'wrong_columns', { line: 3 });
  }
});

test('foreign texts stay text', async (t) => {
  const words = ['=1+1', '@SUM(A1)', '"a", b', '茶\t\\n', '{"end":"paypal-transactions-1","rows":1}'];
  const lines = await linesOf(
    t,
    words.map((transaction_subject) => payment({ transaction_subject })),
  );
  t.deepEqual(
    lines.map(({ line, amount, raw }) => [line, amount, (JSON.parse(raw) as Row)['transaction_subject']]),
    words.map((word, at) => [at + 1, 1230n, word]),
  );
});

test('the first line has the account of the bill', async (t) => {
  t.is(await readAccount(await billFile(t, billText([payment()], { account: 'PAYEE2BILL345' }))), 'PAYEE2BILL345');
  for (const text of ['', '[]', 'PK', billText([], { account: undefined }), billText([], { bill: 'other' })])
    await t.throwsAsync(readAccount(await billFile(t, text)), { instanceOf: BillMalformed });
});

test('a bill of another day and other files are refused at the first line', async (t) => {
  const rows = [payment()];
  const other = { startDate: '2026-03-02T00:00:00.000Z', endDate: '2026-03-03T00:00:00.000Z' };
  await refused(t, await read(t, billText(rows, other)), 'wrong_day', { line: 1 });
  await refused(t, await read(t, billText(rows, { endDate: other.endDate })), 'wrong_day', { line: 1 });
  for (const text of ['<html>busy</html>', '[]', '"x"', '\n', 'PK\u0003\u0004', JSON.stringify(payment())])
    await refused(t, await read(t, text), 'not_a_bill', { line: 1 });
  await refused(t, await read(t, billText(rows, { bill: 'paypal-transactions-2' })), 'not_a_bill', { line: 1 });
  for (const balances of ['x', [{ currency: 'USD', opening: '1.00', closing: '2' }]])
    await refused(t, await read(t, billText(rows, { balances })), 'wrong_columns', { line: 1 });
  await refused(t, await read(t, ''), 'not_a_bill');
});

test('a truncated bill is refused at any cut', async (t) => {
  const lines = fileLines([payment(), refund()]);
  for (let count = 1; count < lines.length; count += 1)
    await refused(t, await read(t, lines.slice(0, count).join('\n')), 'cut_short');
  const text = lines.join('\n');
  for (const length of [text.length - 1, text.length - 10, text.length - 60])
    await refused(t, await read(t, text.slice(0, length)), 'cut_short');
  // An invalid line in the middle is not a truncation.
  await refused(t, await read(t, [lines[0], 'x', ...lines.slice(1)].join('\n')), 'wrong_cell', { line: 2, column: 1 });
});

test('a wrong line count and lines after the end are refused', async (t) => {
  for (const rows of [1, 3, '2', undefined])
    await refused(t, await read(t, billText([payment(), refund()], {}, { rows })), 'wrong_sums', { line: 4 });
  await refused(t, await read(t, `${billText([payment()])}x`), 'wrong_columns', { line: 4 });
});

test('invalid UTF-8 bytes are reported with line and character, and an endless line is refused', async (t) => {
  const text = billText([payment(), payment({ transaction_subject: '?' })]);
  const bytes = Buffer.from(text);
  bytes[bytes.lastIndexOf('?')] = 0xff;
  const column = text.split('\n')[2]!.indexOf('?') + 1;
  await refused(t, await read(t, bytes), 'wrong_charset', { line: 3, column });
  const long = billText([payment({ transaction_subject: 'x'.repeat(70_000) })]);
  await refused(t, await read(t, long), 'too_large', { line: 2 });
});

test('a large bill is read in parts of less than a thousand lines, numbered without gaps', async (t) => {
  const rows = Array.from({ length: 5000 }, (_, at) => payment({ transaction_id: `T${at}` }));
  const { lines, most } = await collect(await read(t, billText(rows)));
  t.true(most < 1000);
  t.deepEqual(
    lines.map(({ line, channelTradeNo }) => [line, channelTradeNo]),
    rows.map((_, at) => [at + 1, `T${at}`]),
  );
});
