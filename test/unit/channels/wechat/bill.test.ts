import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { readTradeBill } from '../../../../server/channels/wechat/bill-file.ts';
import { billFile, collect, refused } from '../bill-trial.ts';
import { billText, cellsOf, DAY, HEADER, OWNER, type Row, rowText, SUMS_HEADER, sumCells } from './bill-file.ts';

const PAYMENT: Row = { ordered: 1234, settled: 1200, fee: 7000, orderNo: 'P1', tradeNo: '42000001' };
const REFUND: Row = {
  time: `${DAY} 23:59:59`,
  state: 'REFUND',
  asked: 234,
  returned: 230,
  fee: -1000,
  orderNo: 'P1',
  tradeNo: '42000001',
  refundId: '50000001',
  refundNo: 'R1',
  refundState: 'SUCCESS',
};

async function read(
  t: ExecutionContext,
  bytes: Uint8Array | string,
  owner: Parameters<typeof readTradeBill>[2] = OWNER,
) {
  return readTradeBill(await billFile(t, bytes), DAY, owner);
}

/** A bill with changed lines. */
const changed = (rows: readonly Row[], change: (lines: string[]) => void): string => {
  const lines = billText(rows).split('\r\n');
  change(lines);
  return lines.join('\r\n');
};

test('a payment and its refund are two lines, each with its numbers, amount and fee', async (t) => {
  const text = billText([PAYMENT, REFUND]);
  for (const bytes of [text, gzipSync(text)]) {
    const { lines, totals } = await collect(await read(t, bytes));
    const common = { orderNo: 'P1', channelTradeNo: '42000001', currency: 'CNY' };
    t.deepEqual(
      lines.map(({ raw: _raw, ...line }) => line),
      [
        {
          ...common,
          line: 1,
          kind: 'payment',
          event: 'SUCCESS',
          refundNo: null,
          channelRefundNo: null,
          amount: 1234n,
          discount: 34n,
          fee: 7n,
          share: 0n,
          at: new Date('2026-03-01T02:00:00Z'),
        },
        {
          ...common,
          line: 2,
          kind: 'refund',
          event: 'REFUND SUCCESS',
          refundNo: 'R1',
          channelRefundNo: '50000001',
          amount: 234n,
          discount: -4n,
          fee: -1n,
          share: 0n,
          at: new Date('2026-03-01T15:59:59Z'),
        },
      ],
    );
    t.is(lines[0]?.raw, rowText(cellsOf(PAYMENT)));
    t.deepEqual(totals, [
      { currency: 'CNY', payments: 1, paid: 1234n, refunds: 1, refunded: 234n, fees: 6n, net: 964n },
    ]);
  }
});

test('a pending refund is a pending line with its amounts, and the bill sums include it', async (t) => {
  for (const refundState of ['PROCESSING', 'CHANGE', 'ABNORMAL', '']) {
    const { lines, totals } = await collect(await read(t, billText([{ ...REFUND, refundState }])));
    t.like(lines[0], { kind: 'pending', amount: 234n, discount: -4n, fee: -1n }, refundState);
    t.like(totals?.[0], { refunds: 1, refunded: 234n, paid: 0n, fees: -1n, net: -229n });
  }
});

test('a failed refund has no amounts and is not in the bill sums', async (t) => {
  for (const refundState of ['FAIL', 'CLOSED', 'REFUNDCLOSE']) {
    const { lines, totals } = await collect(await read(t, billText([PAYMENT, { ...REFUND, refundState }])));
    t.like(
      lines[1],
      { kind: 'other', refundNo: null, channelRefundNo: null, amount: 0n, discount: 0n, fee: 0n },
      refundState,
    );
    t.like(totals?.[0], { payments: 1, refunds: 0, refunded: 0n, paid: 1234n, fees: 7n, net: 1193n });
  }
});

test('a merchant discount is not settled, and a voucher is', async (t) => {
  const discounted: Row = { ordered: 10_000, settled: 8_000, fee: 48_000, orderNo: 'P1' };
  const { lines, totals } = await collect(await read(t, billText([discounted])));
  t.like(lines[0], { amount: 10_000n, discount: 2_000n, fee: 48n });
  t.is(totals?.[0]?.net, 7_952n);
});

test('refunds from the available balance follow as a second bill with its own sums', async (t) => {
  const more = { ...REFUND, refundId: '50000002', refundNo: 'R2', asked: 100, returned: 100, fee: 0 };
  const both = [
    Buffer.concat([gzipSync(billText([PAYMENT, REFUND])), gzipSync('\r\n'), gzipSync(billText([more]))]),
    `${billText([PAYMENT, REFUND]).trimEnd()}\r\n${billText([more])}`,
  ];
  for (const bytes of both) {
    const { lines, totals } = await collect(await read(t, bytes));
    t.deepEqual(
      lines.map(({ line, kind, refundNo, amount }) => [line, kind, refundNo, amount]),
      [
        [1, 'payment', null, 1234n],
        [2, 'refund', 'R1', 234n],
        [3, 'refund', 'R2', 100n],
      ],
    );
    t.like(totals, [{ payments: 1, paid: 1234n, refunds: 2, refunded: 334n, fees: 6n, net: 864n }]);
  }
  const wrong = billText([more]).replace(/`1\.00(?=\r\n$)/, '`1.01');
  await refused(t, await read(t, `${billText([PAYMENT])}${wrong}`), 'wrong_sums', { line: 8 });
  await refused(t, await read(t, `${billText([PAYMENT])}${HEADER}\r\n`), 'cut_short');
  const other = billText([more]).replace('商户退款单号', '退款单号');
  const first = await collect(await read(t, `${billText([PAYMENT])}${other}`));
  t.is(first.lines.length, 1, 'a second bill in another form says nothing about the first');
});

test('a reversed payment is a refund if the row has a refunded amount, else it does not count', async (t) => {
  const back = await collect(await read(t, billText([{ ...REFUND, state: 'REVOKED' }])));
  t.deepEqual([back.lines[0]?.kind, back.lines[0]?.amount], ['refund', 234n]);
  const bare = await collect(await read(t, billText([{ ...PAYMENT, state: 'REVOKED' }])));
  t.deepEqual([bare.lines[0]?.kind, bare.lines[0]?.amount], ['other', 0n]);
  t.is(bare.totals?.[0]?.paid, 0n);
});

test('a bill without rows, without a byte order mark, with bare line ends or with backticks in the header is accepted', async (t) => {
  const empty = await collect(await read(t, billText([])));
  t.deepEqual([empty.lines, empty.totals?.[0]?.payments], [[], 0]);
  for (const text of [
    billText([PAYMENT], { mark: '' }),
    billText([PAYMENT], { end: '\n' }),
    changed([PAYMENT], (lines) => lines.splice(0, 1, `\ufeff${rowText(HEADER.split(','))}`)),
    billText([PAYMENT]).trimEnd(),
  ])
    t.is((await collect(await read(t, text))).lines[0]?.amount, 1234n);
});

test('formulas, commas and backticks in texts stay text', async (t) => {
  const rows = ['=1+1', '+1', '-1', '@SUM(A1)', 'a,b', 'a,`b,`c', '“茶”,`0.00'].map((name): Row => ({
    ...PAYMENT,
    name,
  }));
  const { lines } = await collect(await read(t, billText(rows)));
  t.deepEqual(
    lines.map(({ amount, fee, raw }) => [amount, fee, raw]),
    rows.map((row) => [1234n, 7n, rowText(cellsOf(row))]),
  );
});

test('the bill of a partner belongs to its sub-merchant', async (t) => {
  const owner = { ...OWNER, subMchid: '1900000208' };
  const { lines } = await collect(await read(t, billText([{ ...PAYMENT, sub: '1900000208' }]), owner));
  t.is(lines.length, 1);
  await refused(t, await read(t, billText([{ ...PAYMENT, sub: '1900000209' }]), owner), 'wrong_account', {
    line: 2,
    column: 4,
  });
});

test('a row of another merchant refuses the bill', async (t) => {
  const text = billText([PAYMENT, { ...PAYMENT, mchid: '1900000999' }]);
  await refused(t, await read(t, text), 'wrong_account', { line: 3, column: 3 });
});

test('a bill of another day is refused, but a refund may have the time of its payment', async (t) => {
  for (const time of ['2026-02-28 23:59:59', '2026-03-02 00:00:00'])
    await refused(t, await read(t, billText([{ ...PAYMENT, time }])), 'wrong_day', { line: 2, column: 1 });
  await refused(t, await read(t, billText([{ ...REFUND, time: '2026-03-02 00:00:00' }])), 'wrong_day', {
    line: 2,
    column: 1,
  });
  t.is((await collect(await read(t, billText([{ ...REFUND, time: '2026-02-01 12:00:00' }])))).lines.length, 1);
});

test('an unreadable amount, fee or time is reported with line and column', async (t) => {
  const spoil = (column: number, cell: string) =>
    changed([PAYMENT, PAYMENT], (lines) => {
      const cells = cellsOf(PAYMENT);
      cells[column - 1] = cell;
      lines[2] = rowText(cells);
    });
  for (const amount of ['12,34', '12.345', '', ' 12.34', '1e3', '12.', '.5', '=12', '-1.00', '+1.00', '１２'])
    await refused(t, await read(t, spoil(25, amount)), 'wrong_cell', { line: 3, column: 25 });
  for (const [column, cell] of [
    [1, '2026-03-01T10:00:00'],
    [1, '2026-02-30 10:00:00'],
    [1, '2026-03-01 24:00:00'],
    [12, 'us'],
    [13, 'x'],
    [17, 'x'],
    [23, '0.0000001'],
    [26, '-0.01'],
  ] as const)
    await refused(t, await read(t, spoil(column, cell)), 'wrong_cell', { line: 3, column });
});

test('a cell without its backtick is reported', async (t) => {
  const bare = (column: number) => {
    const cells = cellsOf(PAYMENT).map((cell, at) => (at === column - 1 ? cell : `\`${cell}`));
    return changed([PAYMENT], (lines) => lines.splice(1, 1, cells.join(',')));
  };
  for (const column of [1, 2, 10, 27]) await refused(t, await read(t, bare(column)), 'wrong_cell', { line: 2, column });
  const text = changed([PAYMENT], (lines) => lines.splice(3, 1, sumCells([PAYMENT]).join(',')));
  await refused(t, await read(t, text), 'wrong_cell', { line: 4, column: 1 });
});

test('a missing or duplicate column is reported with its line', async (t) => {
  const header = (text: string) => changed([PAYMENT], (lines) => lines.splice(0, 1, text));
  await refused(t, await read(t, header(HEADER.replace('手续费,', '手续,'))), 'wrong_columns', { line: 1 });
  await refused(t, await read(t, header(`${HEADER},手续费`)), 'wrong_columns', { line: 1, column: 28 });
  const sums = changed([PAYMENT], (lines) => lines.splice(2, 1, SUMS_HEADER.replace('手续费总金额', '手续费')));
  await refused(t, await read(t, sums), 'wrong_columns', { line: 3 });
  await refused(t, await read(t, `${billText([PAYMENT])}\`1,\`2\r\n`), 'wrong_columns', { line: 5 });
  await refused(
    t,
    await read(
      t,
      changed([PAYMENT], (lines) => lines.splice(1, 1, '`a,`b')),
    ),
    'wrong_columns',
    { line: 2 },
  );
});

test('each wrong sum refuses the bill', async (t) => {
  for (const column of [1, 2, 3, 4, 5, 6, 7]) {
    const cells = sumCells([PAYMENT, REFUND]);
    cells[column - 1] =
      column === 1 ? '3' : `${cells[column - 1]}`.replace(/\d$/, (last) => String((Number(last) + 1) % 10));
    const text = changed([PAYMENT, REFUND], (lines) => lines.splice(4, 1, rowText(cells)));
    await refused(t, await read(t, text), 'wrong_sums', { line: 5 });
  }
  const lost = changed([PAYMENT, PAYMENT], (lines) => lines.splice(1, 1));
  await refused(t, await read(t, lost), 'wrong_sums', { line: 4 });
});

test('a truncated bill is refused, compressed or not', async (t) => {
  const text = billText([PAYMENT, REFUND]);
  for (const lines of [1, 2, 3, 4])
    await refused(t, await read(t, text.split('\r\n').slice(0, lines).join('\r\n')), 'cut_short');
  const packed = gzipSync(text);
  for (const length of [20, packed.length - 8, packed.length - 1])
    await refused(t, await read(t, packed.subarray(0, length)), 'cut_short');
  await refused(t, await read(t, ''), 'not_a_bill');
  await refused(t, await read(t, '<html>busy</html>'), 'not_a_bill', { line: 1 });
});

test('a compressed bill with a wrong checksum or corrupt data is refused', async (t) => {
  const packed = gzipSync(billText([PAYMENT]));
  packed[packed.length - 8] = packed[packed.length - 8]! ^ 1;
  await refused(t, await read(t, packed), 'wrong_hash');
  await refused(
    t,
    await read(t, Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff])),
    'not_a_bill',
  );
});

test('invalid UTF-8 bytes are reported with line and character', async (t) => {
  const bytes = Buffer.from(billText([PAYMENT, { ...PAYMENT, name: '茶?' }]));
  const bad = bytes.lastIndexOf('?');
  bytes[bad] = 0xff;
  const column = rowText(cellsOf({ ...PAYMENT, name: '茶?' })).indexOf('?') + 1;
  await refused(t, await read(t, bytes), 'wrong_charset', { line: 3, column });
});

test('an endless line and a gigabyte of zeros are refused before they fill the memory', async (t) => {
  await refused(t, await read(t, billText([{ ...PAYMENT, name: 'x'.repeat(70_000) }])), 'too_large', { line: 2 });
  await refused(t, await read(t, gzipSync(Buffer.alloc(64 * 1024 * 1024))), 'too_large', { line: 1 });
  const rows = `${rowText(cellsOf({ ...PAYMENT, name: ' '.repeat(60_000) }))}\r\n`.repeat(600);
  const bomb = gzipSync(`${HEADER}\r\n${rows}`);
  t.true(bomb.length * 200 < rows.length);
  await refused(t, await read(t, bomb), 'too_large');
});
