import type { AppLimits, CurrencyLimits } from '../db/entities/identity.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';
import { exponentOf, readAmount } from '../payments/money.ts';

/** The limits that are amounts; `ordersPerHour` is a number. */
const AMOUNTS = ['perOrder', 'perDay', 'perMonth', 'refundPerDay'] as const;

/** Limits of a currency as they are sent: amounts in major units, null clears one. */
export type CurrencyLimitsChange = {
  [Name in (typeof AMOUNTS)[number]]?: number | string | null | undefined;
} & { ordersPerHour?: number | null | undefined };

/** A change of limits: what is not named stays, a currency that is null goes, and null clears all. */
export type LimitsChange = Readonly<Record<string, CurrencyLimitsChange | null>> | null;

/** The limits after a change; throws a 400 that names every fault. */
export function changedLimits(before: AppLimits | null, change: LimitsChange | undefined): AppLimits | null {
  if (change === undefined) return before;
  if (change === null) return null;
  const errors: FieldError[] = [];
  const after: Record<string, CurrencyLimits> = { ...before };
  for (const [currency, given] of Object.entries(change)) {
    if (exponentOf(currency) === undefined)
      errors.push({
        pointer: `/limits/${currency}`,
        code: 'currency_unknown',
        detail: `${currency} is not supported.`,
      });
    else if (given === null) delete after[currency];
    else after[currency] = changedIn(currency, after[currency] ?? {}, given, errors);
  }
  if (errors.length > 0) throw new InvalidRequest('Invalid limits.', errors);
  return Object.keys(after).length > 0 ? after : null;
}

function changedIn(
  currency: string,
  before: CurrencyLimits,
  { ordersPerHour, ...given }: CurrencyLimitsChange,
  errors: FieldError[],
): CurrencyLimits {
  const after: CurrencyLimits = { ...before };
  for (const name of AMOUNTS) {
    const sent = given[name];
    if (sent === undefined) continue;
    delete after[name];
    if (sent === null) continue;
    try {
      after[name] = String(limitOf(sent, currency, `/limits/${currency}/${name}`));
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error;
      errors.push(...(error.options.errors ?? []));
    }
  }
  if (ordersPerHour === null) delete after.ordersPerHour;
  else if (ordersPerHour !== undefined) after.ordersPerHour = ordersPerHour;
  return after;
}

/** A limit in minor units; unlike an amount it may be zero, which allows nothing. */
function limitOf(sent: number | string, currency: string, pointer: string): bigint {
  return /^0{1,9}(\.0{1,3})?$/.test(String(sent)) ? 0n : readAmount(sent, currency, pointer).minor;
}

/** Whether an application may move more afterwards than before; that asks for the password again. */
export function loosens(before: AppLimits | null, after: AppLimits | null): boolean {
  if (before === null) return false;
  if (after === null) return true;
  return Object.entries(after).some(([currency, now]) => {
    const was = before[currency];
    if (!was) return true;
    const names = Object.keys(was) as (keyof CurrencyLimits)[];
    return names.some((name) => now[name] === undefined || BigInt(now[name]) > BigInt(was[name]!));
  });
}
