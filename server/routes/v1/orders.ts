import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { askerOf } from '../wire/audience.ts';
import { CLOSE_ERRORS, FIND_ORDERS_ERRORS, REFUND_BY_ADMIN_ERRORS } from '../wire/errors.ts';
import { Amount, Id, SafeText, Timestamp } from '../wire/fields.ts';
import { orderFilter, OrdersQuery } from '../wire/order-filters.ts';
import { pageOf } from '../wire/order-page.ts';
import { Order, OrderEntry, RefundPlaced } from '../wire/orders.ts';

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
    refundAmount: Amount.optional().describe('Major units; the full remaining amount if omitted.'),
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
   *     operationId: listOrders
   *     summary: List orders of all projects
   *     description: Newest first, without their refunds. `exception=any` matches every order with an open exception.
   */
  router.get(
    '/',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'filter' },
        query: OrdersQuery,
        returns: OrderEntry,
        list: true,
        errors: FIND_ORDERS_ERRORS,
      },
      async ({ query }) => pageOf(await operations.orders(orderFilter(query), query.cursor, query.limit)),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}:
   *   get:
   *     tags: [Orders]
   *     operationId: getOrder
   *     summary: Get an order as stored
   */
  router.get(
    '/:orderNo',
    endpoint(
      { auth: { admin: 'viewer', reach: 'order' }, params: OrderParams, returns: Order },
      ({ params, caller, request }) => operations.readOrder(askerOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/timeline:
   *   get:
   *     tags: [Orders]
   *     operationId: getOrderTimeline
   *     summary: Get the timeline of an order
   *     description: >
   *       State changes, channel messages, exceptions, events and webhook deliveries, oldest first. A message whose `detail.times` is above 1 was answered
   *       alike that often, last at `detail.lastAt`; `detail.call` is `missing` where that many messages could not be stored.
   */
  router.get(
    '/:orderNo/timeline',
    endpoint(
      { auth: { admin: 'viewer', reach: 'order' }, params: OrderParams, returns: z.array(TimelineEntry) },
      ({ params, caller, request }) => operations.timeline(askerOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/sync:
   *   post:
   *     tags: [Orders]
   *     operationId: syncOrder
   *     summary: Query the channel about an order and its refunds
   */
  router.post(
    '/:orderNo/sync',
    endpoint(
      { auth: { admin: 'operator', reach: 'order' }, params: OrderParams, returns: Order },
      ({ params, caller, request }) => operations.sync(askerOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/close:
   *   post:
   *     tags: [Orders]
   *     operationId: closeOrder
   *     summary: Close an order
   */
  router.post(
    '/:orderNo/close',
    endpoint(
      {
        auth: { admin: 'operator', reach: 'order' },
        params: OrderParams,
        returns: Order,
        idempotent: true,
        errors: CLOSE_ERRORS,
      },
      ({ params, caller, request, claim }) => operations.close(askerOf(caller, request), params.orderNo, claim),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/refunds:
   *   post:
   *     tags: [Orders]
   *     operationId: refundOrder
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
        auth: { admin: 'operator', reach: 'order' },
        params: OrderParams,
        body: OrderRefundRequest,
        returns: RefundPlaced,
        status: 201,
        idempotent: true,
        errors: REFUND_BY_ADMIN_ERRORS,
      },
      ({ params, body, caller, request, claim }) =>
        operations.refund(askerOf(caller, request), { ...body, orderNo: params.orderNo }, claim),
    ),
  );
  return router;
}
