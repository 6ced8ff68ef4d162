import { z } from 'zod';
import type { ApiAppRow } from '../../identity/ports.ts';
import { majorNumber } from '../../payments/money.ts';
import { Amount } from './fields.ts';

const CurrencyCode = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code');
const AmountLimit = Amount.nullable().optional();

/** Limits of an application by currency as they are sent; null clears a limit, a currency, or all. */
export const LimitsInput = z
  .record(
    CurrencyCode,
    z
      .object({
        perOrder: AmountLimit,
        perDay: AmountLimit,
        perMonth: AmountLimit,
        refundPerDay: AmountLimit,
        ordersPerHour: z.int().min(0).max(1_000_000).nullable().optional(),
      })
      .nullable(),
  )
  .meta({
    id: 'AppLimitsChange',
    description:
      'By currency, amounts in major units. What is left out stays, null clears; 0 allows nothing. An application with limits may use only the currencies that are named.',
    examples: [{ CNY: { perOrder: 50, perDay: 1000, ordersPerHour: 100 } }],
  });

const ShownLimit = z.number().nullable();

/** Limits of an application by currency in an answer; null = not limited. */
export const ShownLimits = z
  .record(
    z.string(),
    z.object({
      perOrder: ShownLimit,
      perDay: ShownLimit,
      perMonth: ShownLimit,
      refundPerDay: ShownLimit,
      ordersPerHour: z.int().nullable(),
    }),
  )
  .meta({ id: 'AppLimits' });

const AMOUNTS = ['perOrder', 'perDay', 'perMonth', 'refundPerDay'] as const;

/** The limits of an application in major units. */
export function presentLimits(limits: ApiAppRow['limits']): z.input<typeof ShownLimits> | null {
  if (limits === null) return null;
  const presented = Object.entries(limits).map(([currency, known]) => {
    // Only PayPal sells in other currencies than CNY.
    const payWay = currency === 'CNY' ? 'wechat' : 'paypal';
    const major = (name: (typeof AMOUNTS)[number]) =>
      known[name] === undefined ? null : majorNumber({ minor: BigInt(known[name]), currency }, payWay);
    const [perOrder, perDay, perMonth, refundPerDay] = AMOUNTS.map(major) as [
      ShownAmount,
      ShownAmount,
      ShownAmount,
      ShownAmount,
    ];
    return [
      currency,
      { perOrder, perDay, perMonth, refundPerDay, ordersPerHour: known.ordersPerHour ?? null },
    ] as const;
  });
  return Object.fromEntries(presented);
}

type ShownAmount = number | null;
