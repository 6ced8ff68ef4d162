/** Reads the file of a WeChat trade bill: its table, its rows and its sums. */
import { type BillLine, BillMalformed, type BillPart, type BillTotals } from '../../payments/channel.ts';
import { fileBytes, firstBytes, gunzippedFile, isGzip, textBlocks } from '../bill-bytes.ts';
import {
  type DaySpan,
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

/**
 * The columns of a trade bill (ALL) that this service reads. Source: pay.weixin.qq.com, "交易账单详细说明"
 * (docs/merchant/products/bill-download/format-trade). The columns and their sequence have changed over the years. The
 * older format has 总金额 in place of 应结订单金额, so it is rejected because of a missing column.
 */
const NAMES = [
  '交易时间',
  '商户号',
  '特约商户号',
  '微信订单号',
  '商户订单号',
  '交易状态',
  '货币种类',
  '应结订单金额',
  '微信退款单号',
  '商户退款单号',
  '退款金额',
  '充值券退款金额',
  '退款状态',
  '手续费',
  '订单金额',
  '申请退款金额',
] as const;
type Column = (typeof NAMES)[number];

/** The merchant's text may contain the cell separator, so the columns after it are counted from the end of the row. */
const LAST_TEXT = '商户数据包';

/** The columns of the line of sums at the end of the bill. Source: as for `NAMES`. */
const SUM_NAMES = [
  '总交易单数',
  '应结订单总金额',
  '退款总金额',
  '充值券退款总金额',
  '手续费总金额',
  '订单总金额',
  '申请退款总金额',
] as const;
type SumName = (typeof SUM_NAMES)[number];

interface Table {
  cellsOf(text: string, line: number): string[];
  at(cells: readonly string[], column: Column): number;
}

function readHeader(text: string, line: number): Table {
  const header = headerCells(text);
  const columns = findColumns(header, NAMES, line);
  const lastText = header.indexOf(LAST_TEXT);
  const width = header.length;
  return {
    cellsOf(row, number) {
      const cells = row.slice(1).split(',`');
      if (cells.length < width) throw missingCells(row, cells.length, width, number);
      if (cells.length > width && lastText < 0)
        throw new BillMalformed('wrong_columns', `${cells.length} cells, not ${width}.`, { line: number });
      return cells;
    },
    at(cells, column) {
      const place = columns[column];
      return place <= lastText ? place : place + cells.length - width;
    },
  };
}

/** Reads the line of sums; amounts in hundred-thousandths of a yuan. Throws BillMalformed. */
function readSums(header: string, row: string, line: number): Record<SumName, bigint> {
  const columns = findColumns(headerCells(header), SUM_NAMES, line - 1);
  if (!row.startsWith('`')) throw wrongCell(line, 0, 'A sum without a backtick', row);
  const cells = row.slice(1).split(',`');
  const sums = SUM_NAMES.map((name): [SumName, bigint] => {
    const place = columns[name];
    const sum = readSum(cells[place] ?? '', name === '总交易单数' ? 0 : 5);
    if (sum === undefined) throw wrongCell(line, place, name, cells[place] ?? '');
    return [name, sum];
  });
  return Object.fromEntries(sums) as Record<SumName, bigint>;
}

/** Returns the column names of a header. Some bills write a backtick before each name; it is removed. */
function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/^`/, '').trim());
}

/**
 * Builds the error for a row with too few cells. The usual cause is a cell without a backtick, which was joined to the
 * cell before it. So the error reports the first cell without a backtick, if there is one.
 */
function missingCells(row: string, found: number, width: number, line: number): BillMalformed {
  const bare = row.split(',').findIndex((cell) => !cell.startsWith('`'));
  if (bare >= 0) return wrongCell(line, bare, 'A cell without a backtick', row.split(',')[bare] ?? '');
  return new BillMalformed('wrong_columns', `${found} cells, not ${width}.`, { line });
}

/** WeChat Pay's bill days are days in Beijing (UTC+8). */
export const UTC_OFFSET_MINUTES = 480;

/** The merchant that the bill must belong to. In partner mode it is the partner and one sub-merchant. */
interface BillOwner {
  mchid: string;
  subMchid: string | undefined;
  /**
   * True if the file contains the rows of all merchants of the partner. Then only the rows of `subMchid` are returned.
   */
  isWhole?: boolean;
}

/**
 * Reads a trade bill (交易账单, ALL) from a GZIP file or a plain file. After the trade bill the file may contain a second
 * bill (RECHARGE_REFUND) with the refunds from the available balance. The second bill is read too. Throws
 * BillMalformed.
 */
export async function* readTradeBill(
  file: string,
  day: string,
  owner: BillOwner,
  isLenient = false,
): AsyncGenerator<BillPart> {
  const span = daySpan(day, UTC_OFFSET_MINUTES);
  const rows = createRows(isLenient, span.begin);
  const bytes = isGzip(await firstBytes(file, 2)) ? gunzippedFile(file) : fileBytes(file);
  const reader = createReader(span, owner, rows);
  for await (const { from, lines } of textBlocks(bytes, 'utf-8')) {
    const read = reader.take(lines, from);
    if (read.length > 0) yield { kind: 'lines', lines: read };
  }
  const part = rows.end(reader.end());
  // In a bill of all merchants, any merchant may be the cause of a wrong sum (`shortfall`). So the shortfall is not
  // reported for the merchant whose rows are returned.
  yield owner.isWhole && part.kind === 'totals' ? { kind: 'totals', totals: part.totals } : part;
}

/** The number of decimals of a fee in yuan. */
const FEE_DECIMALS = 5;
const PER_FEN = 1000;

const SUMS = [
  'rows',
  'settled',
  'returned',
  'vouchers',
  'fees',
  'ordered',
  'asked',
  'refunds',
  'payments',
  'paid',
  'failed',
  'failedNet',
  'failedFees',
] as const;

/**
 * The statuses of a failed refund: FAIL in bills, CLOSED and REFUNDCLOSE in queries ("交易账单详细说明", "查询单笔退款"). A refund
 * with any other status except SUCCESS is unfinished; its result does not appear in a later bill.
 */
const FAILED: ReadonlySet<string> = new Set(['FAIL', 'CLOSED', 'REFUNDCLOSE']);

function createReader({ begin, end }: DaySpan, owner: BillOwner, rows: Rows) {
  const sums = createSums(SUMS, rows);
  // The sums stated in a bill of all merchants include every merchant, so the sums of this merchant are kept
  // separately.
  const own = owner.isWhole ? createSums(SUMS, rows) : sums;
  /** True if a row of another merchant was unreadable. The sums then cannot be compared. */
  let hasGap = false;
  let table: Table | undefined;
  let sumsHeader: string | undefined;
  let totals: BillTotals | undefined;
  let stated: Record<SumName, bigint> | undefined;
  let isSkipped = false;
  let count = 0;

  return {
    take(lines: readonly string[], from: number): BillLine[] {
      const read: BillLine[] = [];
      for (let at = 0; at < lines.length; at += 1) {
        const text = lines[at]!;
        const line = from + at;
        if (!table) {
          if (!text.includes('交易时间')) throw new BillMalformed('not_a_bill', 'The bill has no header.', { line });
          table = readHeader(text, line);
        } else if (isSkipped) {
          continue;
        } else if (totals) {
          if (text.includes('交易时间')) beginSecond(text, line);
          else if (text.trim() !== '')
            throw new BillMalformed('wrong_columns', 'The bill has a line after its sums.', { line });
        } else if (sumsHeader !== undefined) {
          stated = added(stated, readSums(sumsHeader, text, line));
          totals = requireSums(stated, line);
        } else if (/^`?总交易单数,/.test(text)) {
          sumsHeader = text;
        } else {
          const of = table;
          if (owner.isWhole && namesOther(of, text, line)) addOther(of, text, line);
          else
            read.push(
              rows.read(
                text,
                () => readRow(of, text, line),
                () => unread(of, text, line),
              ),
            );
        }
      }
      return read;
    },
    end(): BillTotals {
      if (!table) throw new BillMalformed('not_a_bill', 'The bill file is empty.');
      if (!totals) throw new BillMalformed('cut_short', 'The bill is truncated: its sums are missing.');
      return totals;
    },
  };

  /**
   * Begins the second bill of the file. WeChat Pay does not document its current format, so a bill with unexpected
   * columns is skipped.
   */
  function beginSecond(text: string, line: number): void {
    try {
      table = readHeader(text, line);
      totals = undefined;
      sumsHeader = undefined;
    } catch (error) {
      if (!(error instanceof BillMalformed)) throw error;
      isSkipped = true;
    }
  }

  function readRow(of: Table, text: string, line: number): BillLine {
    if (!text.startsWith('`')) throw wrongCell(line, 0, 'A cell without a backtick', text);
    const cells = of.cellsOf(text, line);
    const cell = (column: Column): string => cells[of.at(cells, column)] ?? '';
    const wrong = (column: Column): BillMalformed => wrongCell(line, of.at(cells, column), column, cell(column));
    const fen = (column: Column): number => {
      const value = readDecimal(cell(column), 2);
      if (Number.isNaN(value)) throw wrong(column);
      return value;
    };
    const isOurs = isOwn(cell('商户号'), cell('特约商户号'), line, (column) => of.at(cells, column) + 1);
    const add = (name: (typeof SUMS)[number], value: number): void => {
      sums.add(name, value);
      if (own !== sums && isOurs) own.add(name, value);
    };
    const at = readClock(cell('交易时间'));
    if (Number.isNaN(at)) throw wrong('交易时间');
    const time = new Date(at - UTC_OFFSET_MINUTES * 60_000);
    const event = cell('交易状态');
    const ordered = fen('订单金额');
    const asked = fen('申请退款金额');
    const isRefund = event === 'REFUND' || (event === 'REVOKED' && asked > 0);
    // A refund is in the bill of the day on which WeChat Pay accepted it, with the time of acceptance ("交易账单详细说明"). The
    // documents do not say whether this also applied in the past, so a refund with an earlier time is accepted.
    if (time >= end || (!isRefund && time < begin))
      throw new BillMalformed('wrong_day', `The time ${cell('交易时间')} is not on the day of the bill.`, {
        line,
        column: of.at(cells, '交易时间') + 1,
      });
    const currency = cell('货币种类');
    if (!/^[A-Z]{3}$/.test(currency)) throw wrong('货币种类');
    if (ordered < 0) throw wrong('订单金额');
    if (asked < 0) throw wrong('申请退款金额');
    const fee = readDecimal(cell('手续费'), FEE_DECIMALS);
    if (Number.isNaN(fee)) throw wrong('手续费');
    // WeChat Pay pays out 应结订单金额 − 退款金额 − 手续费. The order and the refund amount are without the merchant's own vouchers
    // (免充值). Prepaid vouchers (充值券: 代金券金额, 充值券退款金额) are paid out like money.
    const [settled, returned, vouchers] = [fen('应结订单金额'), fen('退款金额'), fen('充值券退款金额')];
    // All cells are read before any amount is added to the sums, so that an unreadable row is not added in part.
    add('rows', 1);
    add('settled', settled);
    add('returned', returned);
    add('vouchers', vouchers);
    add('fees', fee);
    add('ordered', ordered);
    add('asked', asked);
    const isPaid = event === 'SUCCESS';
    if (isPaid) {
      add('payments', 1);
      add('paid', ordered);
    }
    const isFailed = isRefund && FAILED.has(cell('退款状态'));
    const isBack = isRefund && !isFailed;
    if (isBack) add('refunds', 1);
    if (isFailed) {
      add('failed', asked);
      add('failedNet', settled - returned);
      add('failedFees', fee);
    }
    if (isOurs) count += 1;
    return {
      line: count,
      kind: isPaid ? 'payment' : !isBack ? 'other' : cell('退款状态') === 'SUCCESS' ? 'refund' : 'pending',
      event: isRefund ? `${event} ${cell('退款状态')}` : event,
      orderNo: numberIn(cell('商户订单号')),
      // A failed refund gets no refund number here. Otherwise it could match a refund that has succeeded in this
      // service. Without the match, the succeeded refund is reported as missing in the bill.
      refundNo: isFailed ? null : numberIn(cell('商户退款单号')),
      channelTradeNo: numberIn(cell('微信订单号')),
      channelRefundNo: isFailed ? null : numberIn(cell('微信退款单号')),
      currency,
      amount: BigInt(isPaid ? ordered : isBack ? asked : 0),
      discount: BigInt(isPaid ? ordered - settled : isBack ? returned - asked : 0),
      fee: BigInt(isFailed ? 0 : Math.sign(fee) * Math.round(Math.abs(fee) / PER_FEN)),
      share: 0n,
      at: time,
      raw: text,
    };
  }

  /**
   * Whether a row belongs to another merchant of the partner. A row whose merchant cannot be read also counts as such.
   */
  function namesOther(of: Table, text: string, line: number): boolean {
    try {
      const cells = of.cellsOf(text, line);
      return cells[of.at(cells, '商户号')] === owner.mchid && cells[of.at(cells, '特约商户号')] !== owner.subMchid;
    } catch {
      return true;
    }
  }

  /** Adds a row of another merchant to the sums, which include all merchants. The row itself is not returned. */
  function addOther(of: Table, text: string, line: number): void {
    try {
      readRow(of, text, line);
    } catch (error) {
      if (!(error instanceof BillMalformed)) throw error;
      hasGap = true;
    }
  }

  /** Returns the order, trade and refund numbers of an unreadable row, if the row has the right number of cells. */
  function unread(of: Table, text: string, line: number): Unread {
    count += 1;
    try {
      const cells = text.startsWith('`') ? of.cellsOf(text, line) : [];
      const cell = (column: Column): string | null => numberIn(cells[of.at(cells, column)] ?? '');
      return {
        line: count,
        orderNo: cell('商户订单号'),
        refundNo: cell('商户退款单号'),
        channelTradeNo: cell('微信订单号'),
        channelRefundNo: cell('微信退款单号'),
      };
    } catch {
      return { line: count };
    }
  }

  function isOwn(mchid: string, sub: string, line: number, place: (column: Column) => number): boolean {
    const wrong = (whose: string, column: Column): BillMalformed =>
      new BillMalformed('wrong_account', `The bill is about the merchant ${whose}.`, { line, column: place(column) });
    if (mchid !== owner.mchid) throw wrong(mchid, '商户号');
    const isOurs = owner.subMchid === undefined || sub === owner.subMchid;
    if (!isOurs && !owner.isWhole) throw wrong(sub, '特约商户号');
    return isOurs;
  }

  /** Both sums, of the rows and of the bill, include failed refunds; the returned totals do not. */
  function requireSums(stated: Record<SumName, bigint>, line: number): BillTotals {
    const perFen = BigInt(PER_FEN);
    const money = (name: (typeof SUMS)[number], column: SumName): void => {
      const rest = stated[column] % perFen;
      if (rest !== 0n) throw wrongCell(line, 0, column, String(stated[column]));
      sums.require(name, stated[column] / perFen, column, line);
    };
    if (!hasGap) requireAll();
    const fees = (own.of('fees') - own.of('failedFees')) / perFen;
    return {
      currency: 'CNY',
      payments: Number(own.of('payments')),
      paid: own.of('paid'),
      refunds: Number(own.of('refunds')),
      refunded: own.of('asked') - own.of('failed'),
      fees,
      net: own.of('settled') - own.of('returned') - own.of('failedNet') - fees,
    };

    function requireAll(): void {
      sums.requireCount('rows', stated['总交易单数'], '总交易单数', line);
      money('settled', '应结订单总金额');
      money('returned', '退款总金额');
      money('vouchers', '充值券退款总金额');
      sums.require('fees', stated['手续费总金额'], '手续费总金额', line);
      money('ordered', '订单总金额');
      money('asked', '申请退款总金额');
    }
  }
}

function added(
  before: Readonly<Record<SumName, bigint>> | undefined,
  more: Record<SumName, bigint>,
): Record<SumName, bigint> {
  if (!before) return more;
  const names = Object.keys(more) as SumName[];
  return Object.fromEntries(names.map((name) => [name, before[name] + more[name]])) as Record<SumName, bigint>;
}

/** WeChat Pay writes 0 for a missing number. */
function numberIn(text: string): string | null {
  return text === '' || text === '0' ? null : text;
}
