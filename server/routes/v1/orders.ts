import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import { consoleAsker } from '../wire/console-asker.ts';
import { Amount, Id, SafeText, Timestamp } from '../wire/fields.ts';
import { orderFilter, OrdersQuery } from '../wire/order-filters.ts';
import { pageOf } from '../wire/order-page.ts';
import { Order, RefundPlaced } from '../wire/orders.ts';

const OrderParams = z.object({ orderNo: Id });

const TimelineEntry = z
  .object({
    at: Timestamp,
    kind: z.enum(['move', 'message', 'exception', 'event', 'delivery']),
    summary: z.string(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'TimelineEntry' });

const OrderRefundRequest = z
  .object({
    refundAmount: Amount.optional().describe('Major units; left out = all that is left.'),
    merchantRefundNo: Id.optional(),
    reason: SafeText(1, 80).optional(),
  })
  .meta({ id: 'OrderRefundRequest' });

/** The order console: find, read, follow, repair. No operation edits money fields. */
export function orderRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup('/api/v1/orders');

  /**
   * @openapi
   * /api/v1/orders:
   *   get:
   *     tags: [Orders]
   *     summary: Find orders of all projects
   *     description: Newest first. `exception=any` finds every order with an open exception.
   */
  router.get(
    '/',
    endpoint({ auth: { admin: 'viewer' }, query: OrdersQuery, returns: Order, list: true }, async ({ query }) =>
      pageOf(await operations.orders(orderFilter(query), query.cursor, query.limit)),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}:
   *   get:
   *     tags: [Orders]
   *     summary: Read one order as it is stored
   */
  router.get(
    '/:orderNo',
    endpoint({ auth: { admin: 'viewer' }, params: OrderParams, returns: Order }, ({ params, caller }) =>
      operations.readOrder(consoleAsker(caller), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/timeline:
   *   get:
   *     tags: [Orders]
   *     summary: Everything that happened to an order
   *     description: Moves with their rule, channel messages, exceptions, events and deliveries, oldest first.
   */
  router.get(
    '/:orderNo/timeline',
    endpoint(
      { auth: { admin: 'viewer' }, params: OrderParams, returns: z.array(TimelineEntry) },
      ({ params, caller }) => operations.timeline(consoleAsker(caller), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/sync:
   *   post:
   *     tags: [Orders]
   *     summary: Ask the channel about an order and its refunds now
   */
  router.post(
    '/:orderNo/sync',
    endpoint({ auth: { admin: 'admin' }, params: OrderParams, returns: Order }, ({ params, caller }) =>
      operations.sync(consoleAsker(caller), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/close:
   *   post:
   *     tags: [Orders]
   *     summary: Close an order
   */
  router.post(
    '/:orderNo/close',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: OrderParams,
        returns: Order,
        idempotent: true,
        errors: ['order_already_paid'],
      },
      ({ params, caller, idempotent }) => operations.close(consoleAsker(caller), params.orderNo, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/refunds:
   *   post:
   *     tags: [Orders]
   *     summary: Refund an order
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { refundAmount: 2.5, reason: Returned }
   */
  router.post(
    '/:orderNo/refunds',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: OrderParams,
        body: OrderRefundRequest,
        returns: RefundPlaced,
        status: 201,
        idempotent: true,
        errors: ['order_not_paid', 'refund_exceeds_refundable', 'refund_in_progress', 'refunds_blocked', 'coins_spent'],
      },
      ({ params, body, caller, idempotent }) =>
        operations.refund(consoleAsker(caller), { ...body, orderNo: params.orderNo }, claimOf(idempotent)),
    ),
  );
  return router;
}
