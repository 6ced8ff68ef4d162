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
/** Of bills from before Alipay shared (分账) there is none. */
const SHARE = '分润';
/** The name of a column of the details. */
export type Column = (typeof DETAILS)[number];

/** The columns of the sums by shop (业务汇总, the same document). */
const SUMMARY = ['交易订单总笔数', '退款订单总笔数', '订单金额', '商家实收', '服务费'] as const;
/** The net amount of the day (the same document); not every file has it. */
const NET = '实收净额';
/** The name of a column of the sums. */
export type SumColumn = (typeof SUMMARY)[number];

/** How many lines of a file come before its header. */
export const PREAMBLE_LINES = 4;

/** Reads one of the first four lines: title, account, period, the beginning of the table. The account of the second; throws BillMalformed. */
export function readPreamble(text: string, line: number, day: string, title: string): string | undefined {
  if (!text.startsWith('#'))
    throw new BillMalformed('not_a_bill', 'The first lines are not those of a bill.', { line });
  if (line === 1 && !text.includes(title))
    throw new BillMalformed('not_a_bill', `The title is not ${title}.`, { line });
  if (line === 2) return accountIn(text, line);
  if (line === 3) requirePeriod(text, line, day);
  return undefined;
}

/** The account that the second line names: the seller's number and some digits behind it; throws BillMalformed. */
export function accountIn(text: string, line: number): string {
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
  /** The place of what went on to those with whom the merchant shares; -1 = there is none. */
  share: number;
}

/** The last texts of others before the times, before the money and before the last amounts; 备注 is behind every cell that is read. */
const LAST_TEXTS = ['商品名称', '对方账户', '券名称'] as const;
/** Cells between and behind these texts that are amounts in every row. */
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
 * The cells of a row that has commas in the name of the goods, of a shop, a payer or a voucher: the places of times and amounts tell which.
 * Texts of others decide these places, so a row that can be read in two ways is refused.
 */
function cellsOfCommas(header: readonly string[], read: readonly number[], cells: Cells, line: number): Cells {
  const ends = LAST_TEXTS.map((name) => header.indexOf(name)).filter((at) => at >= 0);
  // Cells between two of these texts are moved together, and never less than those before them.
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
export function readDetailHeader(text: string, line: number): DetailTable {
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

/** One of the two sums behind the table. */
export interface Trailer {
  count: number;
  /** Which sum of the rows the amount is: 商家实收 or, in older bills, 订单金额. */
  of: 'received' | 'ordered';
  /** Fen, without a sign. */
  amount: bigint;
}

/** One of the two lines with the sums behind the details; undefined for other lines. Throws BillMalformed. */
export function readTrailer(text: string, line: number): { of: 'payments' | 'refunds'; sums: Trailer } | undefined {
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

/** The sums of all shops, from the row under the header of the second file. */
export function readSummaryRow(
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

/** The names without their unit, （元） or (元). */
function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/[（(]元[）)]/, '').trim());
}
