import { readClock } from '../bill-cells.ts';

/**
 * PayPal has no file, only pages, so a bill of PayPal is a file of ours: one JSON text a line. First a head, then each
 * transaction_info as PayPal wrote it, and last how many they are, by which a file that was cut is known.
 */
export interface BillHead {
  bill: typeof FORMAT;
  /** The account whose transactions they are, as PayPal says (account_number). */
  account: string;
  /** The first instant of the day and that of the next one. */
  startDate: string;
  endDate: string;
  /** The balances of the account before and after the day; absent where PayPal told none. */
  balances?: BalanceOfDay[];
}

/** The balances of one currency, in minor units as text. */
export interface BalanceOfDay {
  currency: string;
  opening: string;
  closing: string;
}

/** The last line. */
export interface BillTail {
  end: typeof FORMAT;
  rows: number;
}

/** The name of the format in both. */
export const FORMAT = 'paypal-transactions-1';

/** An instant as PayPal's reports write it, 2026-03-01T10:00:00+0000; NaN for anything else. */
export function readInstant(text: string): number {
  if (text[10] !== 'T') return NaN;
  const clock = readClock(`${text.slice(0, 10)} ${text.slice(11, 19)}`);
  const zone = text.slice(19);
  // Nearly all of them; a pattern for each of a million lines would be slow.
  if (zone === '+0000' || zone === 'Z') return clock;
  const [, sign, hours, minutes] = /^(?:\.\d{1,9})?(?:Z|([+-])([01]\d):?([0-5]\d))$/.exec(zone) ?? [undefined, 'x'];
  if (sign === 'x') return NaN;
  const offset = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return clock - (sign === '-' ? -offset : offset);
}
