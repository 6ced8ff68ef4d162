import { z } from 'zod';
import { InvalidRequest } from '../../errors.ts';
import { type AmountBound, readBound } from '../../payments/money.ts';
import { ORDER_STATUSES } from '../../domain.ts';
import type { OrderFilter } from '../../payments/read.ts';
import { Code, Id, Paging, TimeRange, UserId } from './fields.ts';
import { PayWayName } from './orders.ts';

const status = z.enum(ORDER_STATUSES).optional();

/** Filters of the merchant's own order list. */
export const OwnOrdersQuery = z.object({
  ...Paging,
  ...TimeRange,
  merchantOrderNo: Id.optional(),
  status,
  userId: UserId.optional(),
});

/** Filters of the console's order list. */
export const OrdersQuery = z.object({
  ...Paging,
  ...TimeRange,
  orderNo: Id.optional(),
  merchantOrderNo: Id.optional(),
  channelTradeNo: z.string().min(1).max(128).optional(),
  status,
  exception: z
    .string()
    .regex(/^[a-z_]{1,32}$/)
    .optional(),
  payWay: PayWayName.optional(),
  mode: z.enum(['simulator', 'sandbox', 'live']).optional(),
  orderType: z.string().min(1).max(64).optional(),
  userId: UserId.optional(),
  project: Code.optional(),
  clientId: Id.optional(),
  amountMin: z.string().max(16).optional(),
  amountMax: z.string().max(16).optional(),
});

/** The filter that a console query means; amounts are major units, and count in the currency of each order. */
export function orderFilter(
  query: Partial<Omit<z.output<typeof OrdersQuery>, 'project'>> & Pick<OrderFilter, 'project'>,
): OrderFilter {
  const { limit: _limit, cursor: _cursor, amountMin, amountMax, ...rest } = query;
  return {
    ...rest,
    amountMin: amountMin === undefined ? undefined : bound(amountMin, '/amountMin'),
    amountMax: amountMax === undefined ? undefined : bound(amountMax, '/amountMax'),
  };
}

function bound(text: string, pointer: '/amountMin' | '/amountMax'): AmountBound {
  const read = readBound(text, pointer === '/amountMin');
  if (read) return read;
  const detail = 'must be a decimal number in major units, with at most two decimals';
  throw new InvalidRequest(`The amount ${detail}.`, [{ pointer, code: 'amount_invalid', detail }], 'amount_invalid');
}
