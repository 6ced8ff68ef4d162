import { type AmountBound, exponentOf } from './domain.ts';
import { InvalidRequest } from './errors.ts';

export { type AmountBound, exponentOf, WITHOUT_DECIMALS } from './domain.ts';

/** An amount in minor units (fen, cents) of an ISO 4217 currency. */
export interface Money {
  minor: bigint;
  currency: string;
}

/** The largest amount of an order, in major units (Alipay's limit). */
export const MAX_MAJOR = 100_000_000n;

/**
 * Parses a minimum or maximum amount by which a list is filtered: major units, zero or more, at most two decimals.
 * Returns undefined if the text is invalid. If the currency has no decimals, a minimum (`up`) is rounded up and a
 * maximum is rounded down. Example: 12.50 as a minimum means JPY 13, as a maximum JPY 12.
 */
export function readBound(text: string, up: boolean): AmountBound | undefined {
  const [, major, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (major === undefined) return undefined;
  const decimal = BigInt(major + decimals.padEnd(2, '0'));
  return { decimal, whole: (decimal + (up ? 99n : 0n)) / 100n };
}

/**
 * Parses `amount` of a request (major units, JSON number or decimal string) into minor units. Throws InvalidRequest
 * `amount_invalid` for exponents, signs, too many decimals, zero and amounts above the maximum.
 */
export function readAmount(input: number | string, currency: string, pointer = '/amount'): Money {
  const exponent = exponentOf(currency);
  if (exponent === undefined) throw invalid('/currency', `${currency} is not supported.`);
  const text = typeof input === 'number' ? String(input) : input;
  const match = /^(\d{1,9})(?:\.(\d+))?$/.exec(text);
  if (!match) throw invalid(pointer, 'The amount must be a positive decimal number in major units, e.g. 12.34.');
  const decimals = match[2] ?? '';
  if (decimals.length > exponent) throw invalid(pointer, `${currency} amounts have at most ${exponent} decimals.`);
  const minor = BigInt(match[1] + decimals.padEnd(exponent, '0'));
  if (minor <= 0n) throw invalid(pointer, 'The amount must be greater than zero.');
  if (minor > MAX_MAJOR * 10n ** BigInt(exponent))
    throw invalid(pointer, `The amount must not exceed ${MAX_MAJOR} in major units (for example, yuan).`);
  return { minor, currency };
}

/** Formats an amount as a decimal string in major units with all its decimals, e.g. `12.30`. */
export function majorText(money: Money): string {
  const exponent = exponentOf(money.currency) ?? 2;
  const sign = money.minor < 0n ? '-' : '';
  const digits = (money.minor < 0n ? -money.minor : money.minor).toString().padStart(exponent + 1, '0');
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** The amount as a JSON number in major units; exact for every amount that `readAmount` accepts. */
export function majorNumber(money: Money): number {
  return Number(majorText(money));
}

/** Parses an amount that a channel wrote (decimal string, major units) into minor units; undefined if it is invalid. */
export function readMajorText(text: unknown, currency: string): Money | undefined {
  const exponent = exponentOf(currency);
  if (exponent === undefined || typeof text !== 'string') return undefined;
  const match = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return undefined;
  const decimals = (match[2] ?? '').replace(/0+$/, '');
  if (decimals.length > exponent) return undefined;
  return { minor: BigInt(match[1] + decimals.padEnd(exponent, '0')), currency };
}

/** Whether amount and currency are equal. */
export function sameMoney(a: Money, b: Money): boolean {
  return a.minor === b.minor && a.currency === b.currency;
}

function invalid(pointer: string, detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer, code: 'amount_invalid', detail }], 'amount_invalid');
}
