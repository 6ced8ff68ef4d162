import { BillMalformed } from '../../payments/channel.ts';
import { findColumns } from '../bill-columns.ts';
import { readSum, wrongCell } from '../bill-cells.ts';

/**
 * The columns of a trade bill (ALL) that are read: pay.weixin.qq.com, "交易账单详细说明" (docs/merchant/products/bill-download/format-trade). Which
 * there are, and where, has changed over the years; accounts with the older format have 总金额 for 应结订单金额, and are told that this is missing.
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
/** The name of a column that is read. */
export type Column = (typeof NAMES)[number];

/** Texts of the merchant's own: whatever stands in them, the columns behind them are counted from the end. */
const LAST_TEXT = '商户数据包';

/** The sums in the last line (the same document). */
export const SUM_NAMES = [
  '总交易单数',
  '应结订单总金额',
  '退款总金额',
  '充值券退款总金额',
  '手续费总金额',
  '订单总金额',
  '申请退款总金额',
] as const;
export type SumName = (typeof SUM_NAMES)[number];

/** What a row of cells is read with. */
export interface Table {
  cellsOf(text: string, line: number): string[];
  at(cells: readonly string[], column: Column): number;
}

/** The table under a header. */
export function readHeader(text: string, line: number): Table {
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

/** The sums of the bill under their header, money in hundred-thousandths of a yuan; throws BillMalformed. */
export function readSums(header: string, row: string, line: number): Record<SumName, bigint> {
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

/** The names in a header, which has backticks or, as in most bills, none. */
function headerCells(text: string): string[] {
  return text.split(',').map((name) => name.replace(/^`/, '').trim());
}

/** A cell without a backtick runs into the one before it: the first that cannot be text of the merchant's is named. */
function missingCells(row: string, found: number, width: number, line: number): BillMalformed {
  const bare = row.split(',').findIndex((cell) => !cell.startsWith('`'));
  if (bare >= 0) return wrongCell(line, bare, 'A cell without a backtick', row.split(',')[bare] ?? '');
  return new BillMalformed('wrong_columns', `${found} cells, not ${width}.`, { line });
}
