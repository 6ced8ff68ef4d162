import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { REFUND_STATES } from '../../payments/order.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { consoleAsker } from '../wire/console-asker.ts';
import { Code, Id, Paging, SafeText, TimeRange } from '../wire/fields.ts';
import { pageOf } from '../wire/order-page.ts';
import { Refund, RefundPlaced } from '../wire/orders.ts';

const RefundParams = z.object({ refundNo: Id });

const RefundsQuery = z.object({
  ...Paging,
  ...TimeRange,
  refundNo: Id.optional(),
  orderNo: Id.optional(),
  merchantRefundNo: Id.optional(),
  clientId: Id.optional(),
  project: Code.optional(),
  status: z.enum(REFUND_STATES).optional(),
  origin: z.enum(['merchant', 'admin', 'late', 'surplus', 'skillpay', 'channel']).optional(),
});

const ResolveRefundRequest = z
  .object({
    action: z.enum(['paid_elsewhere', 'release']).describe('`release` asks the channel first.'),
    reason: SafeText(1, 500),
  })
  .meta({ id: 'ResolveRefundRequest' });

/** Refunds of all orders: find, read, and help those that are stuck. */
export function refundRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup('/api/v1/refunds');

  /**
   * @openapi
   * /api/v1/refunds:
   *   get:
   *     tags: [Refunds]
   *     summary: Find refunds
   */
  router.get(
    '/',
    endpoint({ auth: { admin: 'viewer' }, query: RefundsQuery, returns: Refund, list: true }, async ({ query }) => {
      const { limit, cursor, ...filter } = query;
      return pageOf(await operations.refunds(filter, cursor, limit));
    }),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}:
   *   get:
   *     tags: [Refunds]
   *     summary: Read one refund
   */
  router.get(
    '/:refundNo',
    endpoint({ auth: { admin: 'viewer' }, params: RefundParams, returns: Refund }, ({ params, caller }) =>
      operations.readRefund(consoleAsker(caller), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/retry:
   *   post:
   *     tags: [Refunds]
   *     summary: Retry a failed or abnormal refund
   *     description: With the same number at the channel, so it can never be paid twice.
   */
  router.post(
    '/:refundNo/retry',
    endpoint(
      { auth: { admin: 'admin' }, params: RefundParams, returns: RefundPlaced, errors: ['refund_not_retryable'] },
      ({ params, caller }) => operations.retryRefund(consoleAsker(caller), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/sync:
   *   post:
   *     tags: [Refunds]
   *     summary: Ask the channel about a refund now
   */
  router.post(
    '/:refundNo/sync',
    endpoint({ auth: { admin: 'admin' }, params: RefundParams, returns: Refund }, ({ params, caller }) =>
      operations.syncRefund(consoleAsker(caller), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/resolve:
   *   post:
   *     tags: [Refunds]
   *     summary: End an abnormal refund by hand
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { action: paid_elsewhere, reason: Paid back by bank transfer }
   */
  router.post(
    '/:refundNo/resolve',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: RefundParams,
        body: ResolveRefundRequest,
        returns: RefundPlaced,
        errors: ['refund_not_abnormal', 'refund_not_released'],
      },
      ({ params, body, caller }) =>
        operations.resolveRefund(consoleAsker(caller), params.refundNo, body.action, body.reason),
    ),
  );
  return router;
}
