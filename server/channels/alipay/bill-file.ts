/** Reads the file of a bill: the details and the sums by shop. */
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

/** A day of Alipay is a day in Beijing. */
export const UTC_OFFSET_MINUTES = 480;

/** The columns of the details (业务明细) that are read: opendocs.alipay.com, "账单文件说明" of alipay.data.dataservice.bill.downloadurl.query. */
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
/** Shared amounts (分账); old bills do not have this column. */
const SHARE = '分润';
/** The name of a column of the details. */
type Column = (typeof DETAILS)[number];

/** The columns of the sums by shop (业务汇总), from the same document as `DETAILS`. */
const SUMMARY = ['交易订单总笔数', '退款订单总笔数', '订单金额', '商家实收', '服务费'] as const;
/** The net amount of the day (same document as above); not every file has it. */
const NET = '实收净额';
/** The name of a column of the sums. */
type SumColumn = (typeof SUMMARY)[number];

/** The number of lines before the header. */
const PREAMBLE_LINES = 4;

/** Reads one of the first four lines: title, account, period, start of the table. Returns the account of the second; throws BillMalformed. */
function readPreamble(text: string, line: number, day: string, title: string): string | undefined {
  if (!text.startsWith('#'))
    throw new BillMalformed('not_a_bill', 'The file does not begin with the first lines of a bill.', { line });
  if (line === 1 && !text.includes(title))
    throw new BillMalformed('not_a_bill', `The title is not ${title}.`, { line });
  if (line === 2) return accountIn(text, line);
  if (line === 3) requirePeriod(text, line, day);
  return undefined;
}

/** The account in the second line: the seller's number followed by more digits; throws BillMalformed. */
function accountIn(text: string, line: number): string {
  const [, account] = /账号[：:]\s*\[(\d{16,32})\]/.exec(text) ?? [];
  if (account === undefined) throw new BillMalformed('not_a_bill', 'The account is missing.', { line });
  return account;
}

function requirePeriod(text: string, line: number, day: string): void {
  const [begin, end] = [...text.matchAll(/(\d{4})年(\d\d)月(\d\d)日 (\d\d:\d\d:\d\d)/g)].map(
    ([, year, month, date, clock]) => readClock(`${year}-${month}-${date} ${clock}`),
  );
  if (begin === undefined || end === undefined)
    throw new BillMalformed('not_a_bill', 'The period is missing.', { line });
  const span = daySpan(day, 0);
  const last = span.end.getTime();
  if (begin !== span.begin.getTime() || (end !== last && end !== last - 1000))
    throw new BillMalformed('wrong_day', `The bill is not of ${day}: ${text.slice(0, 120)}`, { line });
}

/** The cells of a row; padded with blanks and tabs. */
type Cells = readonly string[];

/** The columns of the details, and the reader of their cells. */
interface DetailTable {
  cellsOf(text: string, line: number): Cells;
  columns: Columns<Column>;
  /** The index of the column of shared amounts; -1 = none. */
  share: number;
}

/**
 * The last free-text columns before the times, before the amounts and before the last amounts. 备注 is left out, because
 * it comes after every cell that is read.
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
 * The cells of a row with unquoted commas in the name of the goods, a shop, a payer or a voucher. Example: the name
 * `Tea, green` fills two cells, so that every later cell is one place further right. The positions of times and amounts
 * show how far each cell has moved. Third parties write these texts, so a row that can be read in two ways is rejected.
 */
function cellsOfCommas(header: readonly string[], read: readonly number[], cells: Cells, line: number): Cells {
  const ends = LAST_TEXTS.map((name) => header.indexOf(name)).filter((at) => at >= 0);
  // All cells between two of these texts move equally far, and never less far than the cells before them.
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
      throw new BillMalformed('wrong_columns', 'Commas in its texts let the row be read in more than one way.', {
        line,
      });
  return header.map((_, at) => cell(at, fitting[partOf(at)]![0]!));
}

/** The table of the details under its header. */
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

/** One of the two lines with sums after the table, for payments or for refunds. */
interface Trailer {
  count: number;
  /** The column of the sum: 商家实收 or, in older bills, 订单金额. */
  of: 'received' | 'ordered';
  /** Fen, without a sign. */
  amount: bigint;
}

/** Reads one of the two lines with sums after the details; undefined for other lines. Throws BillMalformed. */
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

/** Reads the sums of all shops (合计) in the second file; amounts in fen. */
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

/** The column names without their unit, （元） or (元). */
function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/[（(]元[）)]/, '').trim());
}

/** The sums of all shops in the second file. */
interface BillSummary {
  account: string;
  sums: Record<SumColumn, bigint>;
  /** The net amount of the day (实收净额); null = the file has none. */
  net: bigint | null;
  /** The line of the sums. */
  line: number;
}

/** Reads the second file of a bill (业务汇总); throws BillMalformed. */
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
  if (!isEnded || !found) throw new BillMalformed('cut_short', 'The file with the sums ends early.');
  return { account, ...found };
}

/** Reads a bill of trades (业务明细): the downloaded zip, or its file of details alone; throws BillMalformed. */
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

/** The digits of a seller's number (PID), with which an account number begins. */
const PID_DIGITS = 16;

/** The seller's number in the second line of a bill, zipped or not; throws BillMalformed. */
export async function readPayee(file: string): Promise<string> {
  const isZip = (await firstBytes(file, 2)).toString('latin1') === 'PK';
  const archive = isZip ? await openBillArchive(file) : undefined;
  try {
    for await (const { lines } of textBlocks(archive ? archive.details() : fileBytes(file), 'gb18030'))
      return accountIn(lines[1] ?? '', 2).slice(0, PID_DIGITS);
  } finally {
    archive?.close();
  }
  throw new BillMalformed('not_a_bill', 'The bill is empty.');
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
          throw new BillMalformed('wrong_columns', 'There is a row after the end of the table.', { line });
      }
      return read;
    },
    end(): BillTotals {
      const { payments, refunds } = trailers;
      if (!table) throw new BillMalformed('cut_short', 'The bill ends before its table.');
      if (!payments || !refunds) throw new BillMalformed('cut_short', 'The bill ends before its sums.');
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
    // An account number is the seller's number followed by more digits.
    if (!account.startsWith(sellerId) || (summary && summary.account !== account))
      throw new BillMalformed('wrong_account', `The bill is about the account ${account}.`, { line });
  }

  /**
   * Reads a payment or a refund; the amounts of a refund are negative. The merchant's net amount is 商家实收 + 服务费 + 分润,
   * like the net amount of the day (实收净额). 商家实收 is the order amount less the merchant's own discounts (商家优惠, vouchers
   * and red packets), including Alipay's discounts.
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

  /** The numbers of an unreadable row, if its cells match the columns. */
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
    // No document states whether these sums include refunds, so a sum with refunds and a sum without refunds are
    // accepted.
    if (stated['订单金额'] !== sums.of('paid') - sums.of('refunded'))
      sums.require('paid', stated['订单金额'], '订单金额', line);
    if (stated['商家实收'] !== sums.of('received') - sums.of('returned'))
      sums.require('received', stated['商家实收'], '商家实收', line);
  }
}
