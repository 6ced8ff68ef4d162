import test, { type ExecutionContext } from 'ava';
import { readBill } from '../../../../server/channels/alipay/bill-file.ts';
import { billFile, collect, refused } from '../bill-trial.ts';
import * as files from './bill-file.ts';

const { DAY, SELLER } = files;
const PAYMENT: files.Row = { ordered: 3580, received: 3500, fee: -21, orderNo: 'P1', tradeNo: '20260301220014' };
const REFUND: files.Row = {
  time: `${DAY} 23:59:59`,
  type: '退款',
  ordered: -1580,
  received: -1500,
  fee: 9,
  orderNo: 'P1',
  tradeNo: '20260301220014',
  refundNo: 'R1',
};

async function read(t: ExecutionContext, bytes: Uint8Array, seller = SELLER) {
  return readBill(await billFile(t, bytes), DAY, seller);
}

/** A details file with changed lines. */
function changed(rows: readonly files.Row[], change: (lines: string[]) => void): Buffer {
  const lines = files.detailLines(rows);
  change(lines);
  return files.gbk(lines);
}

test('a payment and its refund are two lines without signs and blanks, each with its numbers and fee', async (t) => {
  for (const [bytes, net] of [
    [files.billZip([PAYMENT, REFUND]), 1988n],
    [files.gbk(files.detailLines([PAYMENT, REFUND])), null],
  ] as const) {
    const { lines, totals } = await collect(await read(t, bytes));
    const common = { orderNo: 'P1', channelTradeNo: '20260301220014', channelRefundNo: null, currency: 'CNY' };
    t.deepEqual(
      lines.map(({ raw: _raw, ...line }) => line),
      [
        {
          ...common,
          line: 1,
          kind: 'payment',
          event: '交易',
          refundNo: null,
          amount: 3580n,
          discount: 80n,
          fee: 21n,
          share: 0n,
          at: new Date('2026-03-01T02:00:00Z'),
        },
        {
          ...common,
          line: 2,
          kind: 'refund',
          event: '退款',
          refundNo: 'R1',
          amount: 1580n,
          discount: -80n,
          fee: -9n,
          share: 0n,
          at: new Date('2026-03-01T15:59:59Z'),
        },
      ],
    );
    t.is(lines[0]?.raw, files.cellsOf(PAYMENT).join(','));
    t.deepEqual(totals, [{ currency: 'CNY', payments: 1, paid: 3580n, refunds: 1, refunded: 1580n, fees: 12n, net }]);
  }
});

test('a profit share is not a fee, and the settled sum deducts both', async (t) => {
  const rows = [
    { ...PAYMENT, share: -500 },
    { ...REFUND, share: 200 },
  ];
  const { lines, totals } = await collect(await read(t, files.billZip(rows)));
  t.deepEqual(
    lines.map(({ amount, discount, fee, share }) => [amount, discount, fee, share]),
    [
      [3580n, 80n, 21n, 500n],
      [1580n, -80n, -9n, -200n],
    ],
  );
  t.is(totals?.[0]?.net, 1688n);
});

test('a differing net amount does not refuse the bill, and the settlement reports it', async (t) => {
  const summary = files.summaryLines([PAYMENT]).map((line) => line.replace(/34\.79$/, '34.78'));
  const zip = files.zipOf([
    { name: files.DETAILS_NAME, bytes: files.gbk(files.detailLines([PAYMENT])) },
    { name: files.SUMMARY_NAME, bytes: files.gbk(summary) },
  ]);
  t.is((await collect(await read(t, zip))).totals?.[0]?.net, 3478n);
});

test('a bill of the older format has no share', async (t) => {
  const cut = (line: string, at: number) => line.split(',').toSpliced(at, 1).join(',');
  const details = files.detailLines([PAYMENT]).map((line) => (line.split(',').length > 20 ? cut(line, 23) : line));
  const { lines } = await collect(await read(t, files.gbk(details)));
  t.like(lines[0], { amount: 3580n, fee: 21n, share: 0n });
});

test('a day without rows, a zip without a summary and a UTF-8 file name are accepted', async (t) => {
  t.deepEqual((await collect(await read(t, files.billZip([])))).totals?.[0]?.payments, 0);
  const bytes = files.gbk(files.detailLines([PAYMENT]), '\n');
  for (const entry of [
    { name: files.DETAILS_NAME, bytes },
    { name: Buffer.from(files.DETAILS_NAME), bytes, flags: 0x800 },
  ])
    t.is((await collect(await read(t, files.zipOf([entry])))).lines.length, 1);
});

test('formulas and commas in goods names and remarks stay text', async (t) => {
  const rows = ['=1+1', '+1', '-1', '@SUM(A1)', '茶,热', 'a,b,c', '"a, b"'].flatMap((name): files.Row[] => [
    { ...PAYMENT, name },
    { ...REFUND, remark: name },
    { ...PAYMENT, name, remark: name },
  ]);
  const { lines } = await collect(await read(t, files.billZip(rows)));
  t.deepEqual(
    lines.map(({ amount, refundNo, raw }) => [amount, refundNo, raw]),
    rows.map((row) => [row.type ? 1580n : 3580n, row.type ? 'R1' : null, files.cellsOf(row).join(',')]),
  );
});

test('a comma in the name of a shop, operator, payer or voucher shifts no column', async (t) => {
  const rows = (['shop', 'operator', 'payer', 'voucher'] as const).flatMap((member): files.Row[] => [
    { ...PAYMENT, [member]: '茶, 热' },
    { ...REFUND, [member]: 'a,b,,c', name: 'x,y', remark: 'z,z' },
  ]);
  rows.push({ ...PAYMENT, name: 'a,b', shop: 'c,d', payer: '茶,茶', voucher: '满10,减5', remark: ',' });
  const { lines } = await collect(await read(t, files.billZip(rows)));
  t.deepEqual(
    lines.map(({ amount, fee, refundNo }) => [amount, fee, refundNo]),
    rows.map((row) => [row.type ? 1580n : 3580n, BigInt(-(row.fee ?? 0)), row.type ? 'R1' : null]),
  );
});

test('a voucher that imitates the following cells is refused, and thousands of commas shift no column', async (t) => {
  const forged = '券,0.00,0.00,,-9.99,0.00';
  await refused(t, await read(t, files.billZip([{ ...PAYMENT, voucher: forged }])), 'wrong_columns', { line: 6 });
  const { lines } = await collect(await read(t, files.billZip([{ ...PAYMENT, shop: ','.repeat(5000) }])));
  t.deepEqual([lines[0]?.amount, lines[0]?.fee], [3580n, 21n]);
});

test('an older bill ends with order totals, where a discount is not a wrong sum', async (t) => {
  const older = (paid: string) =>
    changed([PAYMENT, REFUND], (lines) => {
      lines[8] = `#交易合计：1笔，交易金额共${paid}元，优惠共0.80元`;
      lines[9] = '#退款合计：1笔，退款金额共-15.80元，优惠退款共-0.80元';
    });
  const { totals } = await collect(await read(t, older('35.80')));
  t.like(totals?.[0], { paid: 3580n, refunded: 1580n });
  await refused(t, await read(t, older('35.00')), 'wrong_sums', { line: 9 });
});

test('a name that imitates the following cells is refused', async (t) => {
  const forged = files
    .cellsOf({ ...PAYMENT, ordered: 1, received: 1 })
    .slice(3)
    .join(',');
  await refused(t, await read(t, files.billZip([PAYMENT, { ...PAYMENT, name: forged }])), 'wrong_columns', { line: 7 });
  await refused(t, await read(t, files.billZip([{ ...PAYMENT, remark: `,,,${forged}` }])), 'wrong_columns', {
    line: 6,
  });
  const far = `${forged}${','.repeat(60)}`;
  await refused(t, await read(t, files.billZip([{ ...PAYMENT, name: far }])), 'wrong_columns', { line: 6 });
  // A part of the cells is not ambiguous.
  const half = `茶,${files.DAY} 09:59:00,${files.DAY} 10:00:00,1.00`;
  t.is((await collect(await read(t, files.billZip([{ ...PAYMENT, name: half }])))).lines[0]?.amount, 3580n);
});

test('a line of another type is neither payment nor refund', async (t) => {
  const { lines } = await collect(await read(t, files.billZip([{ ...PAYMENT, type: '红包' }])));
  t.deepEqual([lines[0]?.kind, lines[0]?.event, lines[0]?.amount], ['other', '红包', 3580n]);
});

test('a bill of another account is refused, and without a configured seller only a zip with two accounts is', async (t) => {
  const other = `2088000000000002${'0156'}`;
  await refused(t, await read(t, files.billZip([PAYMENT], { account: other })), 'wrong_account', { line: 2 });
  t.is((await collect(await read(t, files.billZip([PAYMENT], { account: other }), ''))).lines.length, 1);
  const mixed = files.zipOf([
    { name: files.DETAILS_NAME, bytes: files.gbk(files.detailLines([PAYMENT])) },
    { name: files.SUMMARY_NAME, bytes: files.gbk(files.summaryLines([PAYMENT], { account: other })) },
  ]);
  await refused(t, await read(t, mixed, ''), 'wrong_account', { line: 2 });
});

test('a bill of another day or of a month is refused', async (t) => {
  await refused(t, await read(t, files.billZip([PAYMENT], { day: '2026-03-02' })), 'wrong_day', { line: 3 });
  const month = changed([PAYMENT], (lines) => {
    lines[2] = '#起始日期：[2026年03月01日 00:00:00]   终止日期：[2026年04月01日 00:00:00]';
  });
  await refused(t, await read(t, month), 'wrong_day', { line: 3 });
});

test('an unreadable amount, fee or time is reported with line and column', async (t) => {
  const spoil = (column: number, cell: string) =>
    changed([PAYMENT, PAYMENT], (lines) => {
      const cells = files.cellsOf(PAYMENT);
      cells[column - 1] = cell;
      lines[6] = cells.join(',');
    });
  for (const [column, cell] of [
    [6, '2026-03-01'],
    [6, '2026-13-01 10:00:00'],
    [12, '35.8x'],
    [12, '35.801'],
    [12, ''],
    [12, '=35.80'],
    [12, '-35.80'],
    [13, '1e2'],
    [23, '0.0.1'],
  ] as const)
    await refused(t, await read(t, spoil(column, cell)), 'wrong_cell', { line: 7, column });
  const plus = { ...REFUND, ordered: 1580, received: 1500 };
  await refused(t, await read(t, files.billZip([plus])), 'wrong_cell', { line: 6, column: 12 });
});

test('a missing or duplicate column is reported with its line', async (t) => {
  const header = (text: string) => changed([PAYMENT], (lines) => lines.splice(4, 1, text));
  await refused(t, await read(t, header(files.HEADER.replace('服务费（元）', '手续费（元）'))), 'wrong_columns', {
    line: 5,
  });
  await refused(t, await read(t, header(`${files.HEADER},服务费(元)`)), 'wrong_columns', { line: 5, column: 26 });
  await refused(
    t,
    await read(
      t,
      changed([PAYMENT], (lines) => lines.splice(5, 1, 'a,b')),
    ),
    'wrong_columns',
    { line: 6 },
  );
  const behind = changed([PAYMENT], (lines) => lines.push(files.cellsOf(PAYMENT).join(',')));
  await refused(t, await read(t, behind), 'wrong_columns', { line: 11 });
});

test('a wrong sum in either file refuses the bill', async (t) => {
  const rows = [PAYMENT, REFUND];
  for (const [line, from, to] of [
    [9, '1笔', '2笔'],
    [9, '共35.00', '共35.01'],
    [10, '1笔', '0笔'],
    [10, '-15.00', '-15.01'],
  ] as const) {
    const bytes = changed(rows, (lines) => (lines[line - 1] = lines[line - 1]!.replace(from, to)));
    await refused(t, await read(t, bytes), 'wrong_sums', { line });
  }
  const zip = (change: (cells: string[]) => void) => {
    const lines = files.summaryLines(rows);
    const cells = lines[6]!.split(',');
    change(cells);
    lines[6] = cells.join(',');
    return files.zipOf([
      { name: files.DETAILS_NAME, bytes: files.gbk(files.detailLines(rows)) },
      { name: files.SUMMARY_NAME, bytes: files.gbk(lines) },
    ]);
  };
  for (const [column, value] of [
    [3, '2'],
    [4, '2'],
    [5, '20.01'],
    [6, '20.01'],
    [10, '0.13'],
  ] as const)
    await refused(
      t,
      await read(
        t,
        zip((cells) => (cells[column - 1] = value)),
      ),
      'wrong_sums',
      { line: 7 },
    );
  // Sums that include the refunds are valid too.
  const gross = zip((cells) => cells.splice(4, 2, '35.80', '35.00'));
  t.is((await collect(await read(t, gross))).lines.length, 2);
  await refused(
    t,
    await read(
      t,
      zip((cells) => (cells[4] = 'x')),
    ),
    'wrong_cell',
    { line: 7, column: 5 },
  );
});

test('a truncated bill is refused, compressed or not', async (t) => {
  const lines = files.detailLines([PAYMENT, REFUND]);
  for (let count = 1; count < lines.length - 1; count += 1)
    await refused(t, await read(t, files.gbk(lines.slice(0, count))), 'cut_short');
  const zip = files.billZip([PAYMENT, REFUND]);
  for (const length of [4, 30, 400, zip.length - 22, zip.length - 1])
    await refused(t, await read(t, zip.subarray(0, length)), 'cut_short');
  const summary = files.gbk(files.summaryLines([PAYMENT]).slice(0, 6));
  const details = { name: files.DETAILS_NAME, bytes: files.gbk(files.detailLines([PAYMENT])) };
  await refused(t, await read(t, files.zipOf([details, { name: files.SUMMARY_NAME, bytes: summary }])), 'cut_short');
});

test('invalid GBK bytes are reported with line and character', async (t) => {
  const bytes = files.gbk(files.detailLines([PAYMENT, { ...PAYMENT, name: '茶?' }]));
  bytes[bytes.lastIndexOf('?')] = 0xff;
  const column =
    files
      .cellsOf({ ...PAYMENT, name: '茶?' })
      .join(',')
      .indexOf('?') + 1;
  await refused(t, await read(t, bytes), 'wrong_charset', { line: 7, column });
  const utf8 = Buffer.from(files.detailLines([PAYMENT]).join('\n'));
  await t.throwsAsync(collect(await read(t, utf8)), { message: /GB18030|first four lines|title/ });
});

test('files other than bills are refused: other files, other zips, names with paths', async (t) => {
  const bytes = files.gbk(files.detailLines([PAYMENT]));
  await refused(t, await read(t, Buffer.from('<html>busy</html>')), 'not_a_bill', { line: 1 });
  await refused(t, await read(t, files.gbk(files.summaryLines([PAYMENT]))), 'not_a_bill', { line: 1 });
  for (const entries of [
    [],
    [{ name: 'a.csv', bytes }],
    [{ name: files.SUMMARY_NAME, bytes }],
    [
      { name: files.DETAILS_NAME, bytes },
      { name: `2${files.DETAILS_NAME}`, bytes },
    ],
    [{ name: `../${files.DETAILS_NAME}`, bytes }],
    [{ name: `C:\\${files.DETAILS_NAME}`, bytes }],
    [{ name: files.DETAILS_NAME, bytes, flags: 1 }],
  ])
    await refused(t, await read(t, files.zipOf(entries)), 'not_a_bill');
  await refused(t, await read(t, files.zipOf([{ name: Buffer.from([0xff, 0xff]), bytes }])), 'wrong_charset');
});

test('a zip whose stated metadata is wrong is refused', async (t) => {
  const bytes = files.gbk(files.detailLines([PAYMENT]));
  const { DETAILS_NAME: name } = files;
  await refused(t, await read(t, files.zipOf([{ name, bytes, crc: 1 }])), 'wrong_hash');
  await refused(t, await read(t, files.zipOf([{ name, bytes, size: bytes.length - 1 }])), 'too_large');
  await refused(t, await read(t, files.zipOf([{ name, bytes, size: bytes.length + 1 }])), 'cut_short');
  await refused(
    t,
    await read(t, files.zipOf([{ name, bytes, packed: Buffer.from('\xff\xff', 'latin1') }])),
    'not_a_bill',
  );
});

test('a zip of zeros is refused by its stated size or by its unpacked size', async (t) => {
  const { DETAILS_NAME: name } = files;
  const zeros = Buffer.alloc(64 * 1024 * 1024);
  await refused(t, await read(t, files.zipOf([{ name, bytes: zeros }])), 'too_large');
  // One gigabyte, stated correctly; then with a false size.
  const some = Buffer.alloc(1024);
  await refused(t, await read(t, files.zipOf([{ name, bytes: some, size: 1024 ** 3 + 1 }])), 'too_large');
  await refused(t, await read(t, files.zipOf([{ name, bytes: zeros, size: 1000 }])), 'too_large');
  await refused(
    t,
    await read(t, files.zipOf(Array.from({ length: 17 }, (_, at) => ({ name: `${at}`, bytes: some })))),
    'too_large',
  );
  const long = changed([{ ...PAYMENT, name: 'x'.repeat(70_000) }], () => {});
  await refused(t, await read(t, long), 'too_large', { line: 6 });
});
