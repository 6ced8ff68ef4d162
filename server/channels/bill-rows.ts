import { BillMalformed, type BillLine, type BillPart, type BillTotals } from '../payments/channel.ts';

/** With more rows that cannot be read it is the file that is wrong. */
const MOST_UNREADABLE = 100;

/** Faults of one row; every other is a fault of the file. */
const OF_A_ROW: ReadonlySet<string> = new Set(['wrong_cell', 'wrong_columns']);

/** A row that cannot be read: its place, and the numbers in it that can. */
export type Unread = Pick<BillLine, 'line'> &
  Partial<Pick<BillLine, 'orderNo' | 'refundNo' | 'channelTradeNo' | 'channelRefundNo'>>;

/** The rows of one bill, and which of them could not be read. */
export interface Rows {
  /** The line of a row; one that cannot be read is a line, too, which counts for nothing. */
  read(text: string, readRow: () => BillLine, unread: () => Unread): BillLine;
  /** How many could not be read. */
  unreadable(): number;
  /** Notes that a sum of the bill is not that of the rows that could be read. */
  short(shortfall: string): void;
  /** Throws when there are rows and none could be read: then it is the file that is wrong. */
  requireOne(): void;
  /** The last part of a bill with sums. */
  end(...totals: BillTotals[]): BillPart;
}

/**
 * `isLenient`: one row that cannot be read costs only itself, because the file came from the channel and another one cannot be had. A file
 * that a person brings is refused instead: it can be downloaded again, and spreadsheet programs change what they save.
 */
export function createRows(isLenient: boolean, begin: Date): Rows {
  const shortfalls: string[] = [];
  let readable = 0;
  let unreadable = 0;
  let first: BillMalformed | undefined;
  return {
    read(text, readRow, unread) {
      try {
        const line = readRow();
        readable += 1;
        return line;
      } catch (error) {
        if (!isLenient || !(error instanceof BillMalformed) || !OF_A_ROW.has(error.fault)) throw error;
        first ??= error;
        unreadable += 1;
        if (unreadable > MOST_UNREADABLE) throw first;
        return lineOf(text, error, unread(), begin);
      }
    },
    unreadable: () => unreadable,
    short: (shortfall) => void shortfalls.push(shortfall),
    requireOne,
    end(...totals) {
      requireOne();
      if (unreadable === 0) return { kind: 'totals', totals };
      // The bill's sums are those of all its rows, and not all are known.
      return { kind: 'totals', totals: [], ...(shortfalls.length > 0 && { shortfall: shortfalls.join(' ') }) };
    },
  };

  function requireOne(): void {
    if (first && readable === 0) throw first;
  }
}

function lineOf(raw: string, { message, line, column }: BillMalformed, unread: Unread, at: Date): BillLine {
  // The cell itself stays in `raw`, which is emptied when its payer is forgotten.
  const reason = message.replace(/: ".*$/s, '');
  return {
    kind: 'unreadable',
    event: `${line ?? ''}${column === undefined ? '' : `:${column}`} ${reason}`.trim().slice(0, 64),
    orderNo: null,
    refundNo: null,
    channelTradeNo: null,
    channelRefundNo: null,
    ...unread,
    // ISO 4217: no currency.
    currency: 'XXX',
    amount: 0n,
    discount: 0n,
    fee: 0n,
    share: 0n,
    at,
    raw,
  };
}
