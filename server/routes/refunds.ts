import { z } from 'zod';
import { REFUND_STATUSES } from '../domain.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { forApplications, requesterOf } from './schemas/audience.ts';
import { RESOLVE_REFUND_ERRORS, RETRY_REFUND_ERRORS } from './schemas/errors.ts';
import { Code, Id, Paging, SafeText, TimeRange, pageOf } from './schemas/fields.ts';
import { Refund, RefundPlaced } from './schemas/orders.ts';

const RefundParams = z.object({ refundNo: Id });

const RefundsQuery = z.object({
  ...Paging,
  ...TimeRange,
  refundNo: Id.optional(),
  orderNo: Id.optional(),
  merchantRefundNo: Id.optional(),
  clientId: Id.optional(),
  project: Code.optional(),
  status: z.enum(REFUND_STATUSES).optional(),
  origin: z.enum(['merchant', 'admin', 'late', 'surplus', 'skillpay', 'channel', 'dispute']).optional(),
});

const { clientId: _clientId, project: _project, ...ownFilters } = RefundsQuery.shape;
const OwnRefundsQuery = z.object(ownFilters);

const ResolveRefundRequest = z
  .object({
    action: z
      .enum(['paid_elsewhere', 'release', 'failed_at_channel'])
      .describe(
        '`paid_elsewhere`: the payer was refunded outside the channel. `release`: the refund fails and its amount can be refunded again; the channel is queried first and must not know the refund; not possible for refunds that were made outside this service. `failed_at_channel`: the channel confirmed, for example in its portal, that it will not make the refund.',
      ),
    reason: SafeText(1, 500),
  })
  .meta({ id: 'ResolveRefundRequest' });

/** Refunds of all orders: list, read, sync, retry, resolve. */
export function refundRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/refunds:
   *   get:
   *     tags: [Refunds]
   *     operationId: listRefunds
   *     summary: List refunds
   */
  router.get(
    '/api/v1/refunds',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: RefundsQuery, returns: Refund, list: true },
      async ({ query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.refunds(filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}:
   *   get:
   *     tags: [Refunds]
   *     operationId: getAnyRefund
   *     summary: Get a refund
   */
  router.get(
    '/api/v1/refunds/:refundNo',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'refund' }, params: RefundParams, returns: Refund },
      ({ params, caller, request }) => operations.readRefund(requesterOf(caller, request), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/retry:
   *   post:
   *     tags: [Refunds]
   *     operationId: retryRefund
   *     summary: Retry a failed, abnormal or overdue refund
   *     description: >-
   *       While the channel may still have the refund, the same refund number is sent, so the money is never refunded twice. Once the
   *       channel has ended the refund, another number is sent.
   */
  router.post(
    '/api/v1/refunds/:refundNo/retry',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'refund' },
        params: RefundParams,
        returns: RefundPlaced,
        errors: RETRY_REFUND_ERRORS,
      },
      ({ params, caller, request }) => operations.retryRefund(requesterOf(caller, request), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/sync:
   *   post:
   *     tags: [Refunds]
   *     operationId: syncRefund
   *     summary: Query the channel about a refund
   */
  router.post(
    '/api/v1/refunds/:refundNo/sync',
    endpoint(
      { auth: { admin: 'operator', projectScope: 'refund' }, params: RefundParams, returns: Refund },
      ({ params, caller, request }) => operations.syncRefund(requesterOf(caller, request), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/refunds/{refundNo}/resolve:
   *   post:
   *     tags: [Refunds]
   *     operationId: resolveRefund
   *     summary: Resolve an abnormal or overdue refund manually
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { action: paid_elsewhere, reason: Paid back by bank transfer }
   */
  router.post(
    '/api/v1/refunds/:refundNo/resolve',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'refund' },
        params: RefundParams,
        body: ResolveRefundRequest,
        returns: RefundPlaced,
        errors: RESOLVE_REFUND_ERRORS,
      },
      ({ params, body, caller, request }) =>
        operations.resolveRefund(requesterOf(caller, request), params.refundNo, body.action, body.reason),
    ),
  );
  return router;
}

const own = forApplications('/api/v2/payment/refunds', 'payment:read');

/** Routes for applications: list the refunds of their own orders. */
export function ownRefundRoutes(operations: Pick<PaymentOperations, 'refunds'>): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/payment/refunds:
   *   get:
   *     tags: [Payments]
   *     operationId: listOwnRefunds
   *     summary: List the refunds of own orders
   *     description: Newest first, with the refunds that administrators, the service or the channel made; `origin` tells them apart.
   */
  router.get(
    own.prefix,
    endpoint(
      { auth: own.read, query: OwnRefundsQuery, returns: Refund, list: true },
      async ({ query: { limit, cursor, ...filter }, caller: { clientId } }) =>
        pageOf(await operations.refunds({ ...filter, clientId }, cursor, limit)),
    ),
  );
  return router;
}
