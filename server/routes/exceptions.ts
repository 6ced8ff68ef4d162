import { z } from 'zod';
import { EXCEPTION_KINDS } from '../domain.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { WAITS, orWaiting } from './approvals.ts';
import { requesterOf } from './schemas/audience.ts';
import { RESOLVE_EXCEPTION_ERRORS } from './schemas/errors.ts';
import { Code, Id, Paging, SafeText, Timestamp, pageOf } from './schemas/fields.ts';

const OrderException = z
  .object({
    id: z.string(),
    orderNo: z
      .string()
      .nullable()
      .describe('Number of the order; null if the exception is about notifications for orders of another system.'),
    refundNo: z.string().nullable(),
    clientId: z.string().nullable().describe('`client_id` of the application; null if the order is unknown.'),
    project: z.string(),
    kind: z.string(),
    state: z.enum(['open', 'resolved']),
    receivedMinor: z.int().nullable(),
    receivedCurrency: z.string().nullable(),
    blocksRefunds: z.boolean(),
    detail: z.record(z.string(), z.unknown()).nullable(),
    resolution: z.string().nullable(),
    reason: z.string().nullable(),
    resolvedBy: z.string().nullable(),
    createdAt: Timestamp,
    resolvedAt: Timestamp.nullable(),
  })
  .meta({ id: 'OrderException' });

const ExceptionsQuery = z.object({
  ...Paging,
  state: z.enum(['open', 'resolved']).optional(),
  kind: z.enum(EXCEPTION_KINDS).optional(),
  orderNo: Id.optional(),
  project: Code.optional(),
});

const ByExceptionId = z.object({ id: z.uuid() });

const ResolveRequest = z
  .object({
    action: z
      .enum(['acknowledge', 'refund', 'accept', 'close', 'retry'])
      .describe(
        '`refund` applies to an amount mismatch and to a second payment. `accept` applies to an amount mismatch. `close` applies to an overdue order. `retry` applies to an `effect_failed` whose action is still due. All other exceptions are resolved with `acknowledge`. If an `effect_failed` is acknowledged, its action is not done.',
      ),
    reason: SafeText(1, 500),
  })
  .meta({ id: 'ResolveExceptionRequest' });

/** Routes for administrators: list and resolve exceptions, which are cases that an operator must review. */
export function exceptionRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/exceptions:
   *   get:
   *     tags: [Exceptions]
   *     operationId: listExceptions
   *     summary: List exceptions
   *     description: Newest first; `state=open` lists the exceptions that an operator must review.
   */
  router.get(
    '/api/v1/exceptions',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'filter' },
        query: ExceptionsQuery,
        returns: OrderException,
        list: true,
      },
      async ({ query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.exceptions(filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/exceptions/{id}:
   *   get:
   *     tags: [Exceptions]
   *     operationId: getException
   *     summary: Get an exception
   */
  router.get(
    '/api/v1/exceptions/:id',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'exception' }, params: ByExceptionId, returns: OrderException },
      ({ params }) => operations.readException(params.id),
    ),
  );

  /**
   * @openapi
   * /api/v1/exceptions/{id}/resolve:
   *   post:
   *     tags: [Exceptions]
   *     operationId: resolveException
   *     summary: Resolve an exception
   *     description: >-
   *       If a `retry` fails again, the exception stays open, with the newest error text in `detail`. A `refund` above
   *       `Approval.RefundAbove` is not executed yet: the response is 202 with the approval that another administrator has to give. An
   *       `acknowledge` for an accepted dispute permits further refunds of its order, and requires that the password was confirmed.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { action: acknowledge, reason: Agreed with the customer }
   */
  router.post(
    '/api/v1/exceptions/:id/resolve',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'exception' },
        params: ByExceptionId,
        body: ResolveRequest,
        returns: OrderException,
        answers: WAITS,
        errors: RESOLVE_EXCEPTION_ERRORS,
      },
      async ({ params, body, caller, request }) =>
        orWaiting(await operations.resolveException(requesterOf(caller, request), params.id, body.action, body.reason)),
    ),
  );
  return router;
}
