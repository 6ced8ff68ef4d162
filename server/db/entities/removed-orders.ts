import { defineEntity, p } from '@mikro-orm/core';
import type { Mode, PayWay } from '../../payments/channel.ts';
import type { OrderState } from '../../domain.ts';
import { code, instant, type RowOf } from './columns.ts';

/**
 * How many unpaid orders were removed, for the statistics: by the quarter of an hour in which they began, because a day
 * begins on a quarter in every time zone. Payments count for the project alone, pay-per-call for its resource.
 */
export const RemovedOrdersEntity = defineEntity({
  name: 'RemovedOrders',
  tableName: 'removed_orders',
  properties: {
    periodAt: instant().primary(),
    mode: p.string().length(16).$type<Mode>().primary(),
    project: code().primary(),
    state: p.string().length(16).$type<OrderState>().primary(),
    /** Empty for a payment, like `resource`. */
    clientId: code().primary(),
    resource: code().primary(),
    payWay: p.string().length(16).$type<PayWay>().primary(),
    currency: p.string().length(3).primary(),
    count: p.integer(),
  },
});

export type RemovedOrdersRow = RowOf<typeof RemovedOrdersEntity>;
