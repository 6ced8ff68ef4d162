import { BillMalformed } from '../../payments/channel.ts';
import { daySpan, readClock, readDecimal, readSum, wrongCell } from '../bill-cells.ts';
import { type Columns, findColumns } from '../bill-columns.ts';

/** Days of Alipay begin with those of Beijing. */
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
/** The name of a column of the details. */
export type Column = (typeof DETAILS)[number];

/** The columns of the sums by shop (业务汇总, the same document). */
const SUMMARY = ['交易订单总笔数', '退款订单总笔数', '订单金额', '商家实收', '服务费'] as const;
/** The name of a column of the sums. */
export type SumColumn = (typeof SUMMARY)[number];

/** What the lines before a table say. */
export interface Preamble {
  account: string;
}

/** How many lines of a file come before its header. */
export const PREAMBLE_LINES = 4;

/** Reads one of the first four lines: title, account, period, the beginning of the table; throws BillMalformed. */
export function readPreamble(text: string, line: number, day: string, title: string): Partial<Preamble> {
  if (!text.startsWith('#'))
    throw new BillMalformed('not_a_bill', 'The first lines are not those of a bill.', { line });
  if (line === 1 && !text.includes(title))
    throw new BillMalformed('not_a_bill', `The title is not ${title}.`, { line });
  if (line === 2) {
    const [, account] = /账号[：:]\s*\[(\d{16,32})\]/.exec(text) ?? [];
    if (account === undefined) throw new BillMalformed('not_a_bill', 'The account is missing.', { line });
    return { account };
  }
  if (line === 3) requirePeriod(text, line, day);
  return {};
}

function requirePeriod(text: string, line: number, day: string): void {
  const [begin, end] = [...text.matchAll(/(\d{4})年(\d\d)月(\d\d)日 (\d\d:\d\d:\d\d)/g)].map(
    ([, year, month, date, clock]) => readClock(`${year}-${month}-${date} ${clock}`),
  );
  if (begin === undefined || end === undefined)
    throw new BillMalformed('not_a_bill', 'The period is missing.', { line });
  const asked = daySpan(day, 0);
  const last = asked.end.getTime();
  if (begin !== asked.begin.getTime() || (end !== last && end !== last - 1000))
    throw new BillMalformed('wrong_day', `The bill is not of ${day}: ${text.slice(0, 120)}`, { line });
}

/** The cells of a row, without the blanks and tabs that they are padded with. */
export type Cells = readonly string[];

/** What a row of the details is read with. */
export interface DetailTable {
  cellsOf(text: string, line: number): Cells;
  columns: Columns<Column>;
}

/**
 * How many of the commas too many stand in the name of the goods, just before the times; those in the remark, behind everything that is
 * read, move nothing. Texts of others decide that, so what fits in two ways is refused.
 */
function commasInName(columns: Columns<Column>, cells: Cells, more: number, line: number): number {
  const cell = (column: Column, moved: number): string => cells[columns[column] + moved]!.trim();
  const isTime = (text: string): boolean => !Number.isNaN(readClock(text));
  const fitting = Array.from({ length: more + 1 }, (_, moved) => moved).filter(
    (moved) =>
      isTime(cell('创建时间', moved)) &&
      isTime(cell('完成时间', moved)) &&
      MONEY.every((column) => !Number.isNaN(readDecimal(cell(column, moved), 2))),
  );
  if (fitting.length > 1)
    throw new BillMalformed('wrong_columns', 'Commas in its texts let the row be read in more than one way.', { line });
  return fitting[0] ?? 0;
}

const MONEY = ['订单金额', '商家实收', '服务费'] as const;

/** The table of the details under its header. */
export function readDetailHeader(text: string, line: number): DetailTable {
  const header = headerCells(text);
  const columns = findColumns(header, DETAILS, line);
  const width = header.length;
  return {
    columns,
    cellsOf(row, number) {
      const cells = row.split(',');
      const more = cells.length - width;
      if (more < 0) throw new BillMalformed('wrong_columns', `${cells.length} cells, not ${width}.`, { line: number });
      if (more > 0) cells.splice(columns['创建时间'] - 1, commasInName(columns, cells, more, number));
      return cells;
    },
  };
}

/** What the lines behind the table say. */
export interface Trailer {
  count: number;
  /** What the merchant got, or gave back; without a sign. */
  received: bigint;
}

/** One of the two lines with the sums behind the details; undefined for other lines. Throws BillMalformed. */
export function readTrailer(text: string, line: number): { of: 'payments' | 'refunds'; sums: Trailer } | undefined {
  const [, word, rest = ''] = /^#+(交易|退款)合计[：:](.*)$/.exec(text) ?? [];
  if (word === undefined) return undefined;
  const [, count = '', amount = ''] = /^(\d+)笔，[^，\d-]*-?([\d.]+)元/.exec(rest) ?? [];
  const received = readSum(amount, 2);
  if (received === undefined) throw wrongCell(line, 0, `${word}合计`, rest);
  return { of: word === '交易' ? 'payments' : 'refunds', sums: { count: Number(count), received } };
}

/** The sums of all shops, from the row under the header of the second file. */
export function readSummaryRow(header: string, row: string, line: number): Record<SumColumn, bigint> {
  const columns = findColumns(headerCells(header), SUMMARY, PREAMBLE_LINES + 1);
  const cells = row.split(',').map((cell) => cell.trim());
  const sums = SUMMARY.map((name): [SumColumn, bigint] => {
    const text = cells[columns[name]] ?? '';
    const sum = readSum(text, name.endsWith('笔数') ? 0 : 2);
    if (sum === undefined) throw wrongCell(line, columns[name], name, text);
    return [name, sum];
  });
  return Object.fromEntries(sums) as Record<SumColumn, bigint>;
}

/** The names without their unit, （元） or (元). */
function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/[（(]元[）)]/, '').trim());
}
