import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import { Id } from '../wire/fields.ts';
import { OwnOrdersQuery } from '../wire/order-filters.ts';
import { pageOf } from '../wire/order-page.ts';
import { Order, PlacePaymentRequest, Refund, RefundPlaced, RefundRequest } from '../wire/orders.ts';

const OrderParams = z.object({ orderNo: Id });

/** Payments of the calling app: place, query, list, close, refund. */
export function paymentRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup('/api/v2/payment');

  /**
   * @openapi
   * /api/v2/payment/pay:
   *   post:
   *     tags: [Payments]
   *     summary: Place a payment
   *     description: >
   *       Creates an order and asks the channel for what the payer needs. Send an `Idempotency-Key` or a `merchantOrderNo`:
   *       then a retry after a 504 (`channel_outcome_unknown`) continues the same order instead of making a second one.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { subject: Two coffees, amount: 12.5, payWay: alipay, orderType: goods, userId: user-1001, extra: '{"table":7}' }
   */
  router.post(
    '/pay',
    endpoint(
      {
        auth: { scope: 'payment:write' },
        body: PlacePaymentRequest,
        returns: Order,
        status: 201,
        idempotent: true,
        errors: [
          'amount_invalid',
          'channel_disabled',
          'channel_not_configured',
          'channel_refused',
          'channel_outcome_unknown',
          'channel_answer_unusable',
          'merchant_number_used',
          'project_disabled',
          'user_blocked',
          'price_mismatch',
          'out_of_stock',
          'user_limit_reached',
          'not_on_sale',
        ],
      },
      ({ body, caller, idempotent }) => operations.payAs(caller.clientId, body, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/query/{orderNo}:
   *   get:
   *     tags: [Payments]
   *     summary: Query an order
   *     description: An open order is refreshed from its channel when the last answer is older than 5 seconds.
   */
  router.get(
    '/query/:orderNo',
    endpoint({ auth: { scope: 'payment:read' }, params: OrderParams, returns: Order }, ({ params, caller }) =>
      operations.query(asker(caller), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/orders:
   *   get:
   *     tags: [Payments]
   *     summary: List own orders
   *     description: Newest first.
   */
  router.get(
    '/orders',
    endpoint(
      { auth: { scope: 'payment:read' }, query: OwnOrdersQuery, returns: Order, list: true },
      async ({ query, caller }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.orders({ ...filter, clientId: caller.clientId }, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/close/{orderNo}:
   *   post:
   *     tags: [Payments]
   *     summary: Close an order
   *     description: >
   *       Answers with status `closed`, or `closing` while the channel has not confirmed it. Closing twice is fine; a paid order is 409.
   */
  router.post(
    '/close/:orderNo',
    endpoint(
      {
        auth: { scope: 'payment:write' },
        params: OrderParams,
        returns: Order,
        idempotent: true,
        errors: ['order_already_paid'],
      },
      ({ params, caller, idempotent }) => operations.close(asker(caller), params.orderNo, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/refund:
   *   post:
   *     tags: [Payments]
   *     summary: Refund a paid order, in part or in full
   *     description: >
   *       Once accepted the answer is 200 with `pending`, `processing` or `succeeded`, also when the channel is silent; the service goes on by itself.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { orderNo: P20300101000000ABCDEFGHJK, refundAmount: 2.5, merchantRefundNo: refund-1, reason: One coffee was cold }
   */
  router.post(
    '/refund',
    endpoint(
      {
        auth: { scope: 'payment:write' },
        body: RefundRequest,
        returns: RefundPlaced,
        idempotent: true,
        errors: [
          'order_not_paid',
          'refund_exceeds_refundable',
          'refund_in_progress',
          'refunds_blocked',
          'refund_limit_reached',
          'refund_window_over',
          'merchant_number_used',
          'coins_spent',
        ],
      },
      ({ body, caller, idempotent }) => operations.refund(asker(caller), body, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/refunds/{refundNo}:
   *   get:
   *     tags: [Payments]
   *     summary: Read one refund
   */
  router.get(
    '/refunds/:refundNo',
    endpoint(
      { auth: { scope: 'payment:read' }, params: z.object({ refundNo: Id }), returns: Refund },
      ({ params, caller }) => operations.readRefund(asker(caller), params.refundNo),
    ),
  );
  return router;
}

function asker({ clientId }: { clientId: string }) {
  return { owner: { clientId }, actor: `app:${clientId}` };
}
