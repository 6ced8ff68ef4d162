import { InvalidRequest } from '../errors.ts';
import type { PayWay } from '../domain.ts';

/** An amount in minor units (fen, cents) of an ISO 4217 currency. */
export interface Money {
  minor: bigint;
  currency: string;
}

/** Largest amount in major units that any order may have (channel limit of Alipay). */
export const MAX_MAJOR = 100_000_000n;

/** ISO 4217 exponents of the currencies that the channels take. */
const EXPONENTS: Readonly<Record<string, number>> = {
  AUD: 2,
  BRL: 2,
  CAD: 2,
  CHF: 2,
  CNY: 2,
  CZK: 2,
  DKK: 2,
  EUR: 2,
  GBP: 2,
  HKD: 2,
  HUF: 2,
  ILS: 2,
  JPY: 0,
  MXN: 2,
  MYR: 2,
  NOK: 2,
  NZD: 2,
  PHP: 2,
  PLN: 2,
  SEK: 2,
  SGD: 2,
  THB: 2,
  TWD: 2,
  USD: 2,
};

/** Currencies that a channel takes with another number of decimals than ISO 4217 (PayPal: no decimals). */
const OVERRIDES: Readonly<Partial<Record<PayWay, Readonly<Record<string, number>>>>> = {
  paypal: { HUF: 0, JPY: 0, TWD: 0 },
};

/** Decimals of a currency at a channel; undefined when the currency is not known. */
export function exponentOf(currency: string, payWay: PayWay): number | undefined {
  const override = OVERRIDES[payWay];
  if (override && Object.hasOwn(override, currency)) return override[currency];
  return Object.hasOwn(EXPONENTS, currency) ? EXPONENTS[currency] : undefined;
}

/**
 * The currencies whose amounts have no decimals at the channel that takes them; those of all others have two. By its currency alone
 * an amount can be read only because a channel with other decimals than PayPal takes no currency but CNY.
 */
export const WITHOUT_DECIMALS: readonly string[] = Object.keys(EXPONENTS).filter(
  (currency) => exponentOf(currency, 'paypal') === 0,
);

/** A bound of amounts of every currency, in minor units of those that have no decimals and of those that have two. */
export interface AmountBound {
  whole: bigint;
  decimal: bigint;
}

/**
 * Reads a bound of a list (major units, zero or more, at most two decimals); undefined when it is not one. `up`: rounds up where a
 * currency has no decimals, as the least amount does: from 12.50 on JPY begin at 13, and up to 12.50 they end at 12.
 */
export function readBound(text: string, up: boolean): AmountBound | undefined {
  const [, major, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (major === undefined) return undefined;
  const decimal = BigInt(major + decimals.padEnd(2, '0'));
  return { decimal, whole: (decimal + (up ? 99n : 0n)) / 100n };
}

/**
 * Reads `amount` of a request (major units, JSON number or decimal string) into minor units.
 * Throws InvalidRequest `amount_invalid` for exponents, signs, too many decimals, zero and anything above the maximum.
 */
export function readAmount(input: number | string, currency: string, payWay: PayWay, pointer = '/amount'): Money {
  const exponent = exponentOf(currency, payWay);
  if (exponent === undefined) throw invalid('/currency', `${currency} is not supported.`);
  const text = typeof input === 'number' ? String(input) : input;
  const match = /^(\d{1,9})(?:\.(\d+))?$/.exec(text);
  if (!match) throw invalid(pointer, 'The amount must be a positive decimal number in major units, e.g. 12.34.');
  const decimals = match[2] ?? '';
  if (decimals.length > exponent) throw invalid(pointer, `${currency} amounts have at most ${exponent} decimals.`);
  const minor = BigInt(match[1] + decimals.padEnd(exponent, '0'));
  if (minor <= 0n) throw invalid(pointer, 'The amount must be greater than zero.');
  if (minor > MAX_MAJOR * 10n ** BigInt(exponent)) throw invalid(pointer, `The amount must not exceed ${MAX_MAJOR}.`);
  return { minor, currency };
}

/** Writes an amount as a decimal string in major units with all its decimals, e.g. `12.30`. */
export function majorText(money: Money, payWay: PayWay): string {
  const exponent = exponentOf(money.currency, payWay) ?? 2;
  const sign = money.minor < 0n ? '-' : '';
  const digits = (money.minor < 0n ? -money.minor : money.minor).toString().padStart(exponent + 1, '0');
  return exponent === 0 ? sign + digits : `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** The amount as a JSON number in major units; exact for every amount that readAmount lets in. */
export function majorNumber(money: Money, payWay: PayWay): number {
  return Number(majorText(money, payWay));
}

/** Reads an amount that a channel wrote (decimal string, major units); undefined when it is not one. */
export function readMajorText(text: unknown, currency: string, payWay: PayWay): Money | undefined {
  const exponent = exponentOf(currency, payWay);
  if (exponent === undefined || typeof text !== 'string') return undefined;
  const match = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text);
  if (!match) return undefined;
  const decimals = (match[2] ?? '').replace(/0+$/, '');
  if (decimals.length > exponent) return undefined;
  return { minor: BigInt(match[1] + decimals.padEnd(exponent, '0')), currency };
}

/** Whether two amounts are the same money. */
export function sameMoney(a: Money, b: Money): boolean {
  return a.minor === b.minor && a.currency === b.currency;
}

function invalid(pointer: string, detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer, code: 'amount_invalid', detail }], 'amount_invalid');
}
