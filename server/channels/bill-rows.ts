/** Reads the rows of a bill: cells, columns, unreadable rows, and sums. */
import { type BillLine, BillMalformed, type BillPart, type BillTotals } from '../payments/channel.ts';

/** The maximum number of unreadable rows. A bill with more of them is rejected. */
const MOST_UNREADABLE = 100;

/** Error codes that affect only one row. An error with any other code rejects the whole file. */
const OF_A_ROW: ReadonlySet<string> = new Set(['wrong_cell', 'wrong_columns']);

/**
 * The line number and the readable numbers of an unreadable row. An order, refund or trade number is absent if it
 * cannot be read.
 */
export type Unread = Pick<BillLine, 'line'> &
  Partial<Pick<BillLine, 'orderNo' | 'refundNo' | 'channelTradeNo' | 'channelRefundNo'>>;

export interface Rows {
  /**
   * Reads a row. If the row is unreadable and the reader is lenient (see `createRows`), returns a line of the kind
   * `unreadable` without an amount. If the reader is not lenient, an unreadable row throws BillMalformed.
   */
  read(text: string, readRow: () => BillLine, unread: () => Unread): BillLine;
  unreadable(): number;
  /** Records that a sum stated in the bill differs from the sum of the readable rows. */
  short(shortfall: string): void;
  /** Throws if the bill has rows but none of them is readable. */
  requireOne(): void;
  /** Returns the last part of a bill: its sums, and the differences recorded by `short`. */
  end(...totals: BillTotals[]): BillPart;
}

/**
 * Creates the reader of the rows of a bill. With `isLenient`, unreadable rows do not reject the file. This is used for
 * downloaded files, because the channel has no better file. An imported file is rejected instead, because a spreadsheet
 * program may have changed it. The operator can download it from the channel again.
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
      // The sums stated in the bill include the unreadable rows, so they cannot be returned as totals.
      return { kind: 'totals', totals: [], ...(shortfalls.length > 0 && { shortfall: shortfalls.join(' ') }) };
    },
  };

  function requireOne(): void {
    if (first && readable === 0) throw first;
  }
}

function lineOf(raw: string, { message, line, column }: BillMalformed, unread: Unread, at: Date): BillLine {
  // Removes the text of the cell from the message, because the cell may contain data of the payer. When this data is
  // erased later, only the field `raw` is cleared and not the message.
  const reason = message.replace(/: ".*$/s, '');
  return {
    kind: 'unreadable',
    event: `${line ?? ''}${column === undefined ? '' : `:${column}`} ${reason}`.trim().slice(0, 64),
    orderNo: null,
    refundNo: null,
    channelTradeNo: null,
    channelRefundNo: null,
    ...unread,
    // XXX is the ISO 4217 code for "no currency".
    currency: 'XXX',
    amount: 0n,
    discount: 0n,
    fee: 0n,
    share: 0n,
    at,
    raw,
  };
}

const ZERO = 48;
const NINE = 57;
const DOT = 46;
const MINUS = 45;

/** A JavaScript number holds every integer of this length exactly. */
const MOST_DIGITS = 15;

/**
 * Reads a decimal number as an integer in minor units with `decimals` decimal places. More decimal places are allowed
 * only if they are zeros. Returns NaN for any other text. Bills have millions of amounts, so it reads single
 * characters, which is faster than a regular expression.
 */
export function readDecimal(text: string, decimals: number): number {
  const { length } = text;
  const isNegative = text.charCodeAt(0) === MINUS;
  const start = isNegative ? 1 : 0;
  let value = 0;
  let at = start;
  for (; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === DOT) break;
    if (code < ZERO || code > NINE) return NaN;
    value = value * 10 + code - ZERO;
  }
  const whole = at - start;
  if (whole === 0 || whole > MOST_DIGITS - decimals || at === length - 1) return NaN;
  let behind = 0;
  for (at += 1; at < length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return NaN;
    if (behind === decimals) {
      if (code !== ZERO) return NaN;
      continue;
    }
    value = value * 10 + code - ZERO;
    behind += 1;
  }
  for (; behind < decimals; behind += 1) value *= 10;
  return isNegative && value !== 0 ? -value : value;
}

/** Reads a sum in minor units; undefined if it is not a decimal number, or contains a fraction of a minor unit. */
export function readSum(text: string, decimals: number): bigint | undefined {
  const [, sign, whole = '', behind = ''] = /^(-?)(\d{1,18})(?:\.(\d{1,8}))?$/.exec(text) ?? [];
  if (whole === '' || /[1-9]/.test(behind.slice(decimals))) return undefined;
  const value = BigInt(whole + behind.slice(0, decimals).padEnd(decimals, '0'));
  return sign === '-' ? -value : value;
}

/** Reads `yyyy-MM-dd HH:mm:ss` as milliseconds since 1970, as if the time were UTC. Returns NaN for any other text. */
export function readClock(text: string): number {
  if (text.length !== 19 || text[4] !== '-' || text[7] !== '-' || text[10] !== ' ') return NaN;
  if (text[13] !== ':' || text[16] !== ':') return NaN;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  if (!(month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 59)) return NaN;
  const at = Date.UTC(year, month - 1, day, hour, minute, second);
  // Date.UTC turns an invalid day such as 30 February into a day of the next month.
  return new Date(at).getUTCDate() === day ? at : NaN;
}

/** Reads an unsigned integer. Returns NaN if there is any character that is not a digit. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return NaN;
    value = value * 10 + code - ZERO;
  }
  return value;
}

/** The first instant of a day and the first instant of the next day. */
export interface DaySpan {
  begin: Date;
  end: Date;
}

const DAY_MS = 86_400_000;

/** Returns the span of a day (`yyyy-MM-dd`) that is `utcOffsetMinutes` ahead of UTC. Throws for an invalid day. */
export function daySpan(day: string, utcOffsetMinutes: number): DaySpan {
  const start = readClock(`${day} 00:00:00`);
  if (Number.isNaN(start)) throw new RangeError(`${day} is not a valid day in the form YYYY-MM-DD.`);
  const begin = new Date(start - utcOffsetMinutes * 60_000);
  return { begin, end: new Date(begin.getTime() + DAY_MS) };
}

/** Builds the error for an unreadable cell. `column` counts from 0. */
export function wrongCell(line: number, column: number, name: string, text: string): BillMalformed {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return new BillMalformed('wrong_cell', `${name} cannot be read: "${shown}".`, { line, column: column + 1 });
}

export type Columns<Name extends string> = Readonly<Record<Name, number>>;

/** Finds columns by name. Throws BillMalformed `wrong_columns` if a column is missing or duplicate. */
export function findColumns<Name extends string>(
  header: readonly string[],
  names: readonly Name[],
  line: number,
): Columns<Name> {
  const found = names.map((name): [Name, number] => {
    const at = header.indexOf(name);
    if (at < 0) throw new BillMalformed('wrong_columns', `The bill has no column ${name}.`, { line });
    const again = header.indexOf(name, at + 1);
    if (again >= 0)
      throw new BillMalformed('wrong_columns', `The bill has the column ${name} twice.`, { line, column: again + 1 });
    return [name, at];
  });
  return Object.fromEntries(found) as Columns<Name>;
}

/** Running sums of a bill, each with a name, in minor units. */
interface Sums<Name extends string> {
  add(name: Name, value: number): void;
  of(name: Name): bigint;
  /** Throws BillMalformed `wrong_sums` if the sums differ. With unreadable rows the difference is only recorded. */
  require(name: Name, stated: bigint, what: string, line: number): void;
  /**
   * Compares a number of payments or refunds. Throws BillMalformed `wrong_sums` if unreadable rows cannot explain a
   * difference.
   */
  requireCount(name: Name, stated: bigint, what: string, line: number): void;
}

/** At this size a plain number is added to the bigint, because larger plain numbers may not be exact. */
const CARRY = 2 ** 52;

/** Creates sums that are plain numbers first, because millions of bigint additions are slow. */
export function createSums<Name extends string>(
  names: readonly Name[],
  rows: Pick<Rows, 'unreadable' | 'short'>,
): Sums<Name> {
  const small = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  const large = Object.fromEntries(names.map((name) => [name, 0n])) as Record<Name, bigint>;
  const of = (name: Name) => large[name] + BigInt(small[name]);
  return {
    of,
    add(name, value) {
      const sum = small[name] + value;
      if (sum < CARRY && sum > -CARRY) {
        small[name] = sum;
        return;
      }
      large[name] += BigInt(small[name]) + BigInt(value);
      small[name] = 0;
    },
    require(name, stated, what, line) {
      const sum = of(name);
      if (sum === stated) return;
      if (rows.unreadable() === 0) throw wrongSums(stated, sum, what, line);
      rows.short(messageOf(stated, sum, what));
    },
    requireCount(name, stated, what, line) {
      const sum = of(name);
      if (stated < sum || stated > sum + BigInt(rows.unreadable())) throw wrongSums(stated, sum, what, line);
      if (stated !== sum) rows.short(messageOf(stated, sum, what));
    },
  };
}

function messageOf(stated: bigint, sum: bigint, what: string): string {
  return `${what}: the bill says ${stated}, its lines add up to ${sum}.`;
}

function wrongSums(stated: bigint, sum: bigint, what: string, line: number): BillMalformed {
  return new BillMalformed('wrong_sums', messageOf(stated, sum, what), { line });
}
