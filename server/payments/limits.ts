import type { AppLimits, CurrencyLimits } from '../db/entities/identity.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import { type Use, type UseSpan, countUses, shiftUses } from '../db/queries/identity.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { majorNumber } from '../money.ts';
import type { Ports } from './ports.ts';
import { LimitExceeded, type LimitReached } from './errors.ts';

/**
 * The limits that apply to a period, each with the kind of its counter (`refunds` counts refunds per day). The limit
 * `perOrder` applies to a single order and has no counter.
 */
const COUNTED = {
  perMonth: 'month',
  perDay: 'day',
  ordersPerHour: 'hour',
  refundPerDay: 'refunds',
} as const satisfies Partial<Record<keyof CurrencyLimits, UseSpan>>;

type Counted = keyof typeof COUNTED;

const HOUR = 3_600_000;
/**
 * Days and months begin at midnight in Asia/Shanghai, the default time zone of all figures. This time zone has no
 * daylight saving time.
 */
const AHEAD = 8 * HOUR;

/** The start and end of the period that contains an instant. */
export function spanAt(span: UseSpan, at: Date): { beginsAt: Date; endsAt: Date } {
  const local = new Date(at.getTime() + AHEAD);
  const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const begin = Math.floor(at.getTime() / HOUR) * HOUR;
  if (span === 'hour') return { beginsAt: new Date(begin), endsAt: new Date(begin + HOUR) };
  const midnight = (ofMonth: number, ofDay: number) => new Date(Date.UTC(year, ofMonth, ofDay) - AHEAD);
  if (span === 'month') return { beginsAt: midnight(month, 1), endsAt: midnight(month + 1, 1) };
  return { beginsAt: midnight(month, day), endsAt: midnight(month, day + 1) };
}

/** Counts a new order in its transaction; throws 403 above a limit. The transaction locks the counter rows last. */
export async function countOrder(tx: Tx, limits: AppLimits, order: OrderRow): Promise<void> {
  const { amount, createdAt: at, clientId, currency, payWay } = order;
  const known = allowedIn(limits, order);
  if (known.perOrder !== undefined && amount > BigInt(known.perOrder))
    throw exceeded({ limit: 'perOrder', allowed: BigInt(known.perOrder), left: BigInt(known.perOrder) }, order);
  const uses = await countUses(tx, { clientId, currency }, [
    useOf('day', at, amount),
    useOf('hour', at, 1n),
    useOf('month', at, amount),
  ]);
  for (const limit of ['perMonth', 'perDay', 'ordersPerHour'] as const)
    requireLeft(limit, known, uses, limit === 'ordersPerHour' ? 1n : amount, { currency, payWay, at });
}

/** Counts the refund of an application, in the transaction that stores the refund. Throws 403 above the limit. */
export async function countRefund(
  tx: Tx,
  limits: AppLimits,
  { clientId, currency, payWay }: Pick<OrderRow, 'clientId' | 'currency' | 'payWay'>,
  amount: bigint,
  at: Date,
): Promise<void> {
  const known = allowedIn(limits, { currency, payWay });
  const uses = await countUses(tx, { clientId, currency }, [useOf('refunds', at, amount)]);
  requireLeft('refundPerDay', known, uses, amount, { currency, payWay, at });
}

/** Subtracts the amount of an order that ended unpaid, and adds it again after a late payment, even above the limit. */
export async function recountOrder(tx: Tx, before: OrderRow, after: OrderRow): Promise<void> {
  const [was, is] = [isOver(before), isOver(after)];
  if (was === is) return;
  const { amount, createdAt, clientId, currency } = after;
  const by = is ? -amount : amount;
  await shiftUses(tx, { clientId, currency }, [useOf('day', createdAt, by), useOf('month', createdAt, by)]);
}

function isOver({ state }: OrderRow): boolean {
  return state === 'closed' || state === 'failed';
}

function useOf(span: UseSpan, at: Date, used: bigint): Use {
  return { span, beginsAt: spanAt(span, at).beginsAt, used };
}

/** A currency without limits is rejected, because orders in it would bypass the limits. */
function allowedIn(limits: AppLimits, about: Pick<OrderRow, 'currency' | 'payWay'>): CurrencyLimits {
  const known = Object.hasOwn(limits, about.currency) ? limits[about.currency] : undefined;
  if (known) return known;
  throw exceeded({ limit: 'currency', allowed: 0n, left: 0n }, about);
}

function requireLeft(
  limit: Counted,
  known: CurrencyLimits,
  uses: readonly Use[],
  added: bigint,
  { at, ...about }: Pick<OrderRow, 'currency' | 'payWay'> & { at: Date },
): void {
  if (known[limit] === undefined) return;
  const allowed = BigInt(known[limit]);
  const used = uses.find(({ span }) => span === COUNTED[limit])!.used;
  if (used <= allowed) return;
  const left = leftOf(allowed, used - added);
  throw exceeded({ limit, allowed, left, resetsAt: spanAt(COUNTED[limit], at).endsAt }, about);
}

/** The remaining amount of a limit; 0 if an administrator lowered the limit below the used amount. */
function leftOf(allowed: bigint, used: bigint): bigint {
  return allowed > used ? allowed - used : 0n;
}

function exceeded(
  { limit, allowed, left, resetsAt = null }: Reached,
  { currency }: { currency: string },
): LimitExceeded {
  const shown = shownIn(limit, currency);
  return new LimitExceeded({ limit, currency, allowed: shown(allowed), left: shown(left), resetsAt });
}

/** The value of `ordersPerHour` is a number of orders, not an amount. */
function shownIn(limit: LimitReached['limit'], currency: string): (minor: bigint) => number {
  return (minor) => (limit === 'ordersPerHour' ? Number(minor) : majorNumber({ minor, currency }));
}

type Reached = Pick<LimitReached, 'limit'> & { allowed: bigint; left: bigint; resetsAt?: Date | null };

/** The current state of one limit of an application. Amounts are in major units; `ordersPerHour` counts orders. */
export interface LimitView {
  currency: string;
  limit: keyof CurrencyLimits;
  allowed: number;
  /** The used amount in the current period; null for `perOrder`. */
  used: number | null;
  left: number;
  /** The time when the count starts again, RFC 3339. */
  resetsAt: string | null;
}

const NAMES: readonly (keyof CurrencyLimits)[] = ['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour'];

/** The limits of an application with the used and remaining amounts; throws 404 if the application does not exist. */
export function readLimits({ store, now }: Pick<Ports, 'store' | 'now'>) {
  return (clientId: string): Promise<LimitView[]> =>
    store.read(async (tx) => {
      const app = await tx.apps.find({ clientId });
      if (!app || app.kind === 'console') throw new NotFound('application');
      return app.limits === null ? [] : view(tx, clientId, app.limits, now());
    });
}

async function view(tx: ReadTx, clientId: string, limits: AppLimits, at: Date): Promise<LimitView[]> {
  const begins = Object.values(COUNTED).map((span) => spanAt(span, at).beginsAt);
  const uses = await tx.limitUses.list({ clientId, beginsAt: begins });
  const usedIn = (currency: string, limit: keyof typeof COUNTED) => {
    const { beginsAt } = spanAt(COUNTED[limit], at);
    const isIt = (use: (typeof uses)[number]) =>
      use.currency === currency && use.span === COUNTED[limit] && use.beginsAt.getTime() === beginsAt.getTime();
    return uses.find(isIt)?.used ?? 0n;
  };
  return Object.entries(limits).flatMap(([currency, known]) =>
    NAMES.flatMap((limit) => {
      if (known[limit] === undefined) return [];
      const allowed = BigInt(known[limit]);
      const used = limit === 'perOrder' ? null : usedIn(currency, limit);
      const resetsAt = limit === 'perOrder' ? null : spanAt(COUNTED[limit], at).endsAt.toISOString();
      const shown = shownIn(limit, currency);
      const left = shown(leftOf(allowed, used ?? 0n));
      return [{ currency, limit, allowed: shown(allowed), used: used === null ? null : shown(used), left, resetsAt }];
    }),
  );
}
