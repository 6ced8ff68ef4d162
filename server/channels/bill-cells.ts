import { BillMalformed } from '../payments/channel.ts';

const ZERO = 48;
const NINE = 57;
const DOT = 46;
const MINUS = 45;

/** Digits of an amount in its smallest unit, as many as stay exact. */
const MOST_DIGITS = 15;

/**
 * A decimal number as a whole number of its smallest unit, `decimals` behind the point; NaN for anything else. Decimals beyond
 * that must be zeros. Bills have millions of these, so it reads characters instead of a pattern.
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

/** A sum of a whole bill, of any size, in the smallest unit; undefined for anything else. */
export function readSum(text: string, decimals: number): bigint | undefined {
  const [, sign, whole = '', behind = ''] = /^(-?)(\d{1,18})(?:\.(\d{1,8}))?$/.exec(text) ?? [];
  if (whole === '' || /[1-9]/.test(behind.slice(decimals))) return undefined;
  const value = BigInt(whole + behind.slice(0, decimals).padEnd(decimals, '0'));
  return sign === '-' ? -value : value;
}

/** `yyyy-MM-dd HH:mm:ss` as milliseconds since 1970, as if it were UTC; NaN for anything else. */
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
  // A day that its month does not have is counted on into the next one.
  return new Date(at).getUTCDate() === day ? at : NaN;
}

/** NaN unless there are only digits. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return NaN;
    value = value * 10 + code - ZERO;
  }
  return value;
}

/** The first instant of a day and that of the next one. */
export interface DaySpan {
  begin: Date;
  end: Date;
}

const DAY_MS = 86_400_000;

/** A day, `yyyy-MM-dd`, of a place whose days begin that many minutes before those of UTC; throws for what is no day. */
export function daySpan(day: string, utcOffsetMinutes: number): DaySpan {
  const start = readClock(`${day} 00:00:00`);
  if (Number.isNaN(start)) throw new RangeError(`${day} is no day.`);
  const begin = new Date(start - utcOffsetMinutes * 60_000);
  return { begin, end: new Date(begin.getTime() + DAY_MS) };
}

/** A cell that cannot be read; `column` counts from 0. */
export function wrongCell(line: number, column: number, name: string, text: string): BillMalformed {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return new BillMalformed('wrong_cell', `${name} cannot be read: "${shown}".`, { line, column: column + 1 });
}
