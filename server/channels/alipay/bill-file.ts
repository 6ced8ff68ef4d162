/** Reads an Alipay bill: the detail table with one row per payment or refund, and the totals in the summary. */
import { type BillLine, BillMalformed, type BillPart, type BillTotals } from '../../payments/channel.ts';
import { fileBytes, firstBytes, textBlocks } from '../bill-bytes.ts';
import {
  type Columns,
  type Rows,
  type Unread,
  createRows,
  createSums,
  daySpan,
  findColumns,
  readClock,
  readDecimal,
  readSum,
  wrongCell,
} from '../bill-rows.ts';
import { openBillArchive } from './bill-zip.ts';

/** Alipay's bill days are days in Beijing (UTC+8). */
export const UTC_OFFSET_MINUTES = 480;

/**
 * The columns of the detail table (业务明细) that this service reads. Source: opendocs.alipay.com, "账单文件说明" of
 * alipay.data.dataservice.bill.downloadurl.query.
 */
const DETAILS = [
  '支付宝交易号',
  '商户订单号',
  '业务类型',
  '创建时间',
  '完成时间',
  '订单金额',
  '商家实收',
  '退款批次号/请求号',
  '服务费',
] as const;
/** The column of amounts shared with other receivers (分账). Old bills do not have this column. */
const SHARE = '分润';
type Column = (typeof DETAILS)[number];

/** The columns of the summary (业务汇总, sums by shop). Source: as for `DETAILS`. */
const SUMMARY = ['交易订单总笔数', '退款订单总笔数', '订单金额', '商家实收', '服务费'] as const;
/** The column of the net amount of the day in the summary. Not every summary has this column. */
const NET = '实收净额';
type SumColumn = (typeof SUMMARY)[number];

const PREAMBLE_LINES = 4;

/** Returns the account number if `line` is the second of the four lines before the table. Throws BillMalformed. */
function readPreamble(text: string, line: number, day: string, title: string): string | undefined {
  if (!text.startsWith('#'))
    throw new BillMalformed('not_a_bill', 'One of the first four lines of the bill does not begin with #.', { line });
  if (line === 1 && !text.includes(title))
    throw new BillMalformed('not_a_bill', `The title in the first line does not contain ${title}.`, { line });
  if (line === 2) return accountIn(text, line);
  if (line === 3) requirePeriod(text, line, day);
  return undefined;
}

/** The account number is the seller id followed by more digits. */
function accountIn(text: string, line: number): string {
  const [, account] = /账号[：:]\s*\[(\d{16,32})\]/.exec(text) ?? [];
  if (account === undefined) throw new BillMalformed('not_a_bill', 'The second line has no account (账号).', { line });
  return account;
}

function requirePeriod(text: string, line: number, day: string): void {
  const [begin, end] = [...text.matchAll(/(\d{4})年(\d\d)月(\d\d)日 (\d\d:\d\d:\d\d)/g)].map(
    ([, year, month, date, clock]) => readClock(`${year}-${month}-${date} ${clock}`),
  );
  if (begin === undefined || end === undefined)
    throw new BillMalformed('not_a_bill', 'The third line has no period (begin and end).', { line });
  const span = daySpan(day, 0);
  const last = span.end.getTime();
  if (begin !== span.begin.getTime() || (end !== last && end !== last - 1000))
    throw new BillMalformed(
      'wrong_day',
      `The bill is not for the day ${day}. Its third line is: ${text.slice(0, 120)}`,
      { line },
    );
}

/** The cells of a row, still padded with spaces and tabs. */
type Cells = readonly string[];

interface DetailTable {
  cellsOf(text: string, line: number): Cells;
  columns: Columns<Column>;
  /** The index of the column of shared amounts (分润); -1 if the bill has no such column. */
  share: number;
}

/**
 * Free-text columns, in the sequence of the table. The times follow 商品名称, the first amounts follow 对方账户, and the other
 * amounts follow 券名称. A comma in a free text moves only the cells after it. No cell after the free text 备注 is read, so
 * 备注 is not listed.
 */
const LAST_TEXTS = ['商品名称', '对方账户', '券名称'] as const;
/** Columns that contain an amount in every row. */
const AMOUNTS: ReadonlySet<string> = new Set([
  '订单金额',
  '商家实收',
  '支付宝红包',
  '集分宝',
  '支付宝优惠',
  '商家优惠',
  '券核销金额',
  '商家红包消费金额',
  '卡消费金额',
  '服务费',
  '分润',
]);

/**
 * Returns the cells of a row whose free texts contain unquoted commas (name of the goods, shop, payer or voucher).
 * Example: the name `Tea, green` fills two cells, so every later cell moves one place to the right. The cells of times
 * and amounts show how far the row has moved. The free texts come from third parties, so a row that can be read in two
 * ways is rejected.
 */
function cellsOfCommas(header: readonly string[], read: readonly number[], cells: Cells, line: number): Cells {
  const ends = LAST_TEXTS.map((name) => header.indexOf(name)).filter((at) => at >= 0);
  // The columns of `LAST_TEXTS` divide a row into parts. Unquoted commas move all cells of a part by the same number of
  // places. From one part to the next this number can only stay the same or increase.
  const partOf = (at: number): number => ends.filter((end) => at > end).length;
  const cell = (at: number, moved: number): string => cells[at + moved]!.trim();
  const isRight = (at: number, moved: number): boolean => {
    const name = header[at]!;
    if (name === '创建时间' || name === '完成时间') return !Number.isNaN(readClock(cell(at, moved)));
    return !AMOUNTS.has(name) || !Number.isNaN(readDecimal(cell(at, moved), 2));
  };
  const moves = Array.from({ length: cells.length - header.length + 1 }, (_, moved) => moved);
  const fitting = [...ends, header.length].map((_, part) =>
    part === 0 ? [0] : moves.filter((moved) => header.every((_, at) => partOf(at) !== part || isRight(at, moved))),
  );
  for (let part = 1; part < fitting.length; part += 1)
    fitting[part] = fitting[part]!.filter((moved) => moved >= fitting[part - 1]![0]!);
  for (let part = fitting.length - 2; part > 0; part -= 1)
    fitting[part] = fitting[part]!.filter((moved) => moved <= fitting[part + 1]!.at(-1)!);
  if (fitting.some(({ length }) => length === 0)) return cells;
  for (const at of read)
    if (new Set(fitting[partOf(at)]!.map((moved) => cell(at, moved))).size > 1)
      throw new BillMalformed(
        'wrong_columns',
        'The row contains unquoted commas and can be read in more than one way.',
        { line },
      );
  return header.map((_, at) => cell(at, fitting[partOf(at)]![0]!));
}

function readDetailHeader(text: string, line: number): DetailTable {
  const header = headerCells(text);
  const columns = findColumns(header, DETAILS, line);
  const width = header.length;
  const share = header.indexOf(SHARE);
  const read = [...Object.values(columns), ...(share < 0 ? [] : [share])];
  return {
    columns,
    share,
    cellsOf(row, number) {
      const cells = row.split(',');
      const more = cells.length - width;
      if (more < 0) throw new BillMalformed('wrong_columns', `${cells.length} cells, not ${width}.`, { line: number });
      return more > 0 ? cellsOfCommas(header, read, cells, number) : cells;
    },
  };
}

/** One of the two lines of sums after the detail table: the sum of the payments or the sum of the refunds. */
interface Trailer {
  count: number;
  /** The column that the sum adds up: 商家实收 or, in older bills, 订单金额. */
  of: 'received' | 'ordered';
  /** The sum in fen, without a sign. */
  amount: bigint;
}

/** Returns undefined for a line that is not one of the two lines of sums. */
function readTrailer(text: string, line: number): { of: 'payments' | 'refunds'; sums: Trailer } | undefined {
  const [, word, rest = ''] = /^#+(交易|退款)合计[：:](.*)$/.exec(text) ?? [];
  if (word === undefined) return undefined;
  const [, count = ''] = /^(\d+)笔，/.exec(rest) ?? [];
  const [, received] = /商家实收[^，\d-]*-?([\d.]+)元/.exec(rest) ?? [];
  const [, first = ''] = /^\d+笔，[^，\d-]*-?([\d.]+)元/.exec(rest) ?? [];
  const amount = readSum(received ?? first, 2);
  if (amount === undefined) throw wrongCell(line, 0, `${word}合计`, rest);
  const of = received === undefined ? 'ordered' : 'received';
  return { of: word === '交易' ? 'payments' : 'refunds', sums: { count: Number(count), of, amount } };
}

/** Reads the row of totals over all shops (合计) in the summary: the numbers of orders, and the amounts in fen. */
function readSummaryRow(
  header: string,
  row: string,
  line: number,
): { sums: Record<SumColumn, bigint>; net: bigint | null } {
  const names = headerCells(header);
  const columns = findColumns(names, SUMMARY, PREAMBLE_LINES + 1);
  const cells = row.split(',').map((cell) => cell.trim());
  const sumIn = (at: number, name: string): bigint => {
    const text = cells[at] ?? '';
    return readSum(text, name.endsWith('笔数') ? 0 : 2) ?? raise(wrongCell(line, at, name, text));
  };
  const sums = SUMMARY.map((name): [SumColumn, bigint] => [name, sumIn(columns[name], name)]);
  const net = names.indexOf(NET);
  return { sums: Object.fromEntries(sums) as Record<SumColumn, bigint>, net: net < 0 ? null : sumIn(net, NET) };
}

function raise(error: Error): never {
  throw error;
}

function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/[（(]元[）)]/, '').trim());
}

interface BillSummary {
  account: string;
  sums: Record<SumColumn, bigint>;
  /** The net amount of the day (实收净额); null if the file has no such column. */
  net: bigint | null;
  line: number;
}

async function readSummary(bytes: AsyncIterable<Uint8Array>, day: string): Promise<BillSummary> {
  let account = '';
  let header = '';
  let found: Pick<BillSummary, 'sums' | 'net' | 'line'> | undefined;
  let isEnded = false;
  for await (const { from, lines } of textBlocks(bytes, 'gb18030')) {
    for (const [at, text] of lines.entries()) {
      const line = from + at;
      if (line <= PREAMBLE_LINES) account = readPreamble(text, line, day, '汇总') ?? account;
      else if (line === PREAMBLE_LINES + 1) header = text;
      else if (text.startsWith('#')) isEnded = true;
      else if (text.startsWith('合计')) found = { ...readSummaryRow(header, text, line), line };
    }
  }
  if (!isEnded || !found) throw new BillMalformed('cut_short', 'The file with the sums (汇总) is truncated.');
  return { account, ...found };
}

/** Reads a trade bill (业务明细): either the zip as downloaded, or the unpacked detail file. Throws BillMalformed. */
export async function* readBill(
  file: string,
  day: string,
  sellerId: string,
  isLenient = false,
): AsyncGenerator<BillPart> {
  const rows = createRows(isLenient, daySpan(day, UTC_OFFSET_MINUTES).begin);
  const isZip = (await firstBytes(file, 2)).toString('latin1') === 'PK';
  if (!isZip) {
    yield* readDetails(fileBytes(file), createReader(day, sellerId, undefined, rows), rows);
    return;
  }
  const archive = await openBillArchive(file);
  try {
    const summary = archive.summary && (await readSummary(archive.summary(), day));
    yield* readDetails(archive.details(), createReader(day, sellerId, summary, rows), rows);
  } finally {
    archive.close();
  }
}

/** The number of digits of a seller id (PID). Every account number begins with the seller id. */
const PID_DIGITS = 16;

/** Returns the seller id from the second line of a bill, zipped or not. Throws BillMalformed. */
export async function readPayee(file: string): Promise<string> {
  const isZip = (await firstBytes(file, 2)).toString('latin1') === 'PK';
  const archive = isZip ? await openBillArchive(file) : undefined;
  try {
    for await (const { lines } of textBlocks(archive ? archive.details() : fileBytes(file), 'gb18030'))
      return accountIn(lines[1] ?? '', 2).slice(0, PID_DIGITS);
  } finally {
    archive?.close();
  }
  throw new BillMalformed('not_a_bill', 'The bill file is empty.');
}

async function* readDetails(
  bytes: AsyncIterable<Uint8Array>,
  reader: ReturnType<typeof createReader>,
  rows: Rows,
): AsyncGenerator<BillPart> {
  for await (const { from, lines } of textBlocks(bytes, 'gb18030')) {
    const read = reader.take(lines, from);
    if (read.length > 0) yield { kind: 'lines', lines: read };
  }
  yield rows.end(reader.end());
}

const SUMS = ['payments', 'paid', 'received', 'refunds', 'refunded', 'returned', 'fees'] as const;

function createReader(day: string, sellerId: string, summary: BillSummary | undefined, rows: Rows) {
  const sums = createSums(SUMS, rows);
  const trailers: Partial<Record<'payments' | 'refunds', Trailer & { line: number }>> = {};
  let table: DetailTable | undefined;
  let isEnded = false;
  let count = 0;

  return {
    take(lines: readonly string[], from: number): BillLine[] {
      const read: BillLine[] = [];
      for (let at = 0; at < lines.length; at += 1) {
        const text = lines[at]!;
        const line = from + at;
        if (line <= PREAMBLE_LINES) begin(text, line);
        else if (!table) table = readDetailHeader(text, line);
        else if (text.startsWith('#')) {
          isEnded = true;
          const trailer = readTrailer(text, line);
          if (trailer) trailers[trailer.of] = { ...trailer.sums, line };
        } else if (!isEnded) {
          const of = table;
          read.push(
            rows.read(
              text,
              () => readRow(of, text, line),
              () => unread(of, text, line),
            ),
          );
        } else if (text.trim() !== '')
          throw new BillMalformed('wrong_columns', 'The bill has a row after the end of its table.', { line });
      }
      return read;
    },
    end(): BillTotals {
      const { payments, refunds } = trailers;
      if (!table) throw new BillMalformed('cut_short', 'The bill is truncated: it has no table.');
      if (!payments || !refunds) throw new BillMalformed('cut_short', 'The bill is truncated: its sums are missing.');
      sums.requireCount('payments', BigInt(payments.count), '交易合计', payments.line);
      sums.require(payments.of === 'received' ? 'received' : 'paid', payments.amount, '交易合计', payments.line);
      sums.requireCount('refunds', BigInt(refunds.count), '退款合计', refunds.line);
      sums.require(refunds.of === 'received' ? 'returned' : 'refunded', refunds.amount, '退款合计', refunds.line);
      if (summary) requireSummary(summary);
      return {
        currency: 'CNY',
        payments: payments.count,
        paid: sums.of('paid'),
        refunds: refunds.count,
        refunded: sums.of('refunded'),
        fees: sums.of('fees'),
        net: summary?.net ?? null,
      };
    },
  };

  function begin(text: string, line: number): void {
    const account = readPreamble(text, line, day, '明细');
    if (account === undefined) return;
    // The account number in a bill begins with the seller id and has more digits after it.
    if (!account.startsWith(sellerId) || (summary && summary.account !== account))
      throw new BillMalformed(
        'wrong_account',
        `The account ${account} in the bill does not match the seller id or the summary file in the same zip.`,
        { line },
      );
  }

  /**
   * Reads a row of the detail table: a payment or a refund. The amounts of a refund are negative. The merchant's net
   * amount is 商家实收 + 服务费 + 分润, like the net amount of the day (实收净额). 商家实收 is the order amount minus the merchant's own
   * discounts (商家优惠, vouchers and red packets); discounts paid by Alipay are not subtracted.
   */
  function readRow({ columns, share, cellsOf }: DetailTable, text: string, line: number): BillLine {
    const cells = cellsOf(text, line);
    const cell = (column: Column): string => cells[columns[column]]!.trim();
    const wrong = (column: Column): BillMalformed => wrongCell(line, columns[column], column, cell(column));
    const fen = (column: Column): number => {
      const value = readDecimal(cell(column), 2);
      if (Number.isNaN(value)) throw wrong(column);
      return value;
    };
    const shared = share < 0 ? 0 : -readDecimal(cells[share]!.trim(), 2);
    if (Number.isNaN(shared)) throw wrongCell(line, share, '分润', cells[share]!.trim());
    const event = cell('业务类型');
    const ordered = fen('订单金额');
    const received = fen('商家实收');
    const fee = -fen('服务费');
    const isRefund = event.includes('退款');
    const isPayment = event === '交易';
    if (isRefund ? ordered > 0 : isPayment && ordered < 0) throw wrong('订单金额');
    const timeColumn = cell('完成时间') === '' ? '创建时间' : '完成时间';
    const at = readClock(cell(timeColumn));
    if (Number.isNaN(at)) throw wrong(timeColumn);
    if (isRefund) {
      sums.add('refunds', 1);
      sums.add('refunded', -ordered);
      sums.add('returned', -received);
    } else {
      sums.add('payments', 1);
      sums.add('paid', ordered);
      sums.add('received', received);
    }
    sums.add('fees', fee);
    count += 1;
    return {
      line: count,
      kind: isRefund ? 'refund' : isPayment ? 'payment' : 'other',
      event,
      orderNo: cell('商户订单号') || null,
      refundNo: (isRefund && cell('退款批次号/请求号')) || null,
      channelTradeNo: cell('支付宝交易号') || null,
      channelRefundNo: null,
      currency: 'CNY',
      amount: BigInt(isRefund ? -ordered : ordered),
      discount: BigInt(ordered - received),
      fee: BigInt(fee),
      share: BigInt(shared),
      at: new Date(at - UTC_OFFSET_MINUTES * 60_000),
      raw: text,
    };
  }

  /** Returns the order, trade and refund numbers of an unreadable row, if the row has the right number of cells. */
  function unread({ columns, cellsOf }: DetailTable, text: string, line: number): Unread {
    count += 1;
    try {
      const cells = cellsOf(text, line);
      const cell = (column: Column): string | null => cells[columns[column]]!.trim() || null;
      const isRefund = cell('业务类型')?.includes('退款') ?? false;
      const refundNo = isRefund ? cell('退款批次号/请求号') : null;
      return { line: count, orderNo: cell('商户订单号'), channelTradeNo: cell('支付宝交易号'), refundNo };
    } catch {
      return { line: count };
    }
  }

  function requireSummary({ sums: stated, line }: BillSummary): void {
    sums.requireCount('payments', stated['交易订单总笔数'], '交易订单总笔数', line);
    sums.requireCount('refunds', stated['退款订单总笔数'], '退款订单总笔数', line);
    sums.require('fees', -stated['服务费'], '服务费', line);
    // No document states whether refunds are subtracted from 订单金额 and 商家实收 in the summary. So the service accepts each
    // of these two sums with or without the refunds.
    if (stated['订单金额'] !== sums.of('paid') - sums.of('refunded'))
      sums.require('paid', stated['订单金额'], '订单金额', line);
    if (stated['商家实收'] !== sums.of('received') - sums.of('returned'))
      sums.require('received', stated['商家实收'], '商家实收', line);
  }
}
