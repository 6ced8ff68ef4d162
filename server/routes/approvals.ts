import { z } from 'zod';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { requesterOf } from './schemas/audience.ts';
import { APPROVE_ERRORS, REJECT_ERRORS } from './schemas/errors.ts';
import { Code, Id, Paging, SafeText, Timestamp, pageOf } from './schemas/fields.ts';

const State = z.enum(['waiting', 'approved', 'rejected']);

const Approval = z
  .object({
    refundNo: z
      .string()
      .describe(
        'Number of the refund, of the dispute to be accepted, or of the exception whose payment is to be refunded.',
      ),
    kind: z
      .enum(['refund', 'dispute', 'exception'])
      .describe('Kind of the operation that returns the money to the payer.'),
    orderNo: z.string(),
    clientId: z.string(),
    project: z.string(),
    refundAmount: z.number(),
    refundAmountMinor: z.int(),
    currency: z.string(),
    reason: z.string().nullable().describe('Reason that the requester gave; null = none.'),
    askedBy: z
      .string()
      .describe(
        'The requester: `admin:NAME` or `app:CLIENT_ID`. The requester cannot approve the request, nor can an administrator who is not independent of the requester.',
      ),
    state: State,
    decidedBy: z.string().nullable(),
    decision: z.string().nullable().describe('Reason of the rejection; null = not rejected.'),
    createdAt: Timestamp,
    decidedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Approval' });

/** The response to an operation that waits for another administrator's approval and has changed nothing yet. */
export const WAITS = { 202: { 'application/json': z.object({ data: Approval }) } } as const;

/** Responds with the result, or with 202 and the approval for which the operation waits. */
export function orWaiting<View>(made: { done: View } | { waits: z.input<typeof Approval> }): Reply<View> {
  return 'waits' in made
    ? new Reply({
        status: 202,
        body: JSON.stringify({ data: made.waits }),
        headers: { 'content-type': 'application/json; charset=utf-8' },
      })
    : new Reply({ data: made.done });
}

const ApprovalsQuery = z.object({
  ...Paging,
  state: State.optional(),
  orderNo: Id.optional(),
  project: Code.optional(),
});
const ApprovalParams = z.object({ refundNo: Id });
const Rejection = z.object({ reason: SafeText(1, 500) }).meta({ id: 'RejectApprovalRequest' });

/** Routes for refunds, disputes and exceptions that need approval because they exceed `Approval.RefundAbove`. */
export function approvalRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/approvals:
   *   get:
   *     tags: [Refunds]
   *     operationId: listApprovals
   *     summary: List approvals
   *     description: Newest first. The list contains open and decided approvals.
   */
  router.get(
    '/api/v1/approvals',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: ApprovalsQuery, returns: Approval, list: true },
      async ({ query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.approvals(filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/approvals/{refundNo}:
   *   get:
   *     tags: [Refunds]
   *     operationId: getApproval
   *     summary: Get an approval
   */
  router.get(
    '/api/v1/approvals/:refundNo',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'approval' }, params: ApprovalParams, returns: Approval },
      ({ params }) => operations.readApproval(params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/approvals/{refundNo}/approve:
   *   post:
   *     tags: [Refunds]
   *     operationId: approveRefund
   *     summary: Approve a refund, a dispute or an exception
   *     description: >-
   *       The operation is executed immediately. If a dispute now concerns more money than when the approval was requested, it needs a
   *       new approval. An administrator cannot approve a request that it made itself, a request that is older than its account, or a
   *       request of the administrator that created its account. It also cannot approve a request if one administrator created or
   *       changed both the approving account and the requesting account (or application) within 30 days; that administrator may be one
   *       of the two.
   */
  router.post(
    '/api/v1/approvals/:refundNo/approve',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'approval', confirmed: 'where-live' },
        params: ApprovalParams,
        returns: Approval,
        errors: APPROVE_ERRORS,
      },
      ({ params, caller, request }) => operations.approve(requesterOf(caller, request), params.refundNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/approvals/{refundNo}/reject:
   *   post:
   *     tags: [Refunds]
   *     operationId: rejectRefund
   *     summary: Reject a refund, a dispute or an exception
   *     description: >-
   *       A refund fails with `approval_rejected`, and its amount can be refunded again. A dispute or an exception stays unchanged.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { reason: Not agreed with the payer }
   */
  router.post(
    '/api/v1/approvals/:refundNo/reject',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'approval' },
        params: ApprovalParams,
        body: Rejection,
        returns: Approval,
        errors: REJECT_ERRORS,
      },
      ({ params, body, caller, request }) =>
        operations.reject(requesterOf(caller, request), params.refundNo, body.reason),
    ),
  );
  return router;
}
