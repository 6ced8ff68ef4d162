import type { AppLimits, CurrencyLimits } from '../db/entities/identity.ts';
import type { ReadTx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { COUNTED, leftOf, spanAt } from './limits.ts';
import { majorNumber } from './money.ts';
import type { Ports } from './ports.ts';

/** One limit of an application now, in major units (`ordersPerHour`: orders). */
export interface LimitView {
  currency: string;
  limit: keyof CurrencyLimits;
  allowed: number;
  /** Null for perOrder, which counts nothing. */
  used: number | null;
  left: number;
  /** RFC 3339; when it is counted anew. */
  resetsAt: string | null;
}

const NAMES: readonly (keyof CurrencyLimits)[] = ['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour'];

/** The limits of an application with what is left of them; a 404 when there is no such application. */
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
      const shown = (minor: bigint) =>
        limit === 'ordersPerHour'
          ? Number(minor)
          : majorNumber({ minor, currency }, currency === 'CNY' ? 'wechat' : 'paypal');
      const left = shown(leftOf(allowed, used ?? 0n));
      return [{ currency, limit, allowed: shown(allowed), used: used === null ? null : shown(used), left, resetsAt }];
    }),
  );
}
