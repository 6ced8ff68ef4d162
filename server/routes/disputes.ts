import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { UploadedFile } from '../http/uploads.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { COMPLAINT_RESULTS, DISPUTE_STATES } from '../payments/channel.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { WAITS, orWaiting } from './approvals.ts';
import { requesterOf, forApplications } from './schemas/audience.ts';
import { ACCEPT_DISPUTE_ERRORS, DISPUTE_ERRORS } from './schemas/errors.ts';
import { Code, Id, Paging, SafeText, Timestamp, pageOf } from './schemas/fields.ts';
import { PayWayName } from './schemas/orders.ts';

/** A dispute on the wire. */
export const Dispute = z
  .object({
    disputeNo: z.string(),
    orderNo: z.string(),
    clientId: z.string(),
    project: z.string(),
    payWay: PayWayName,
    channelDisputeNo: z.string().describe('Number of the dispute at the channel.'),
    reason: z.string().describe('The word of the channel.'),
    amount: z.number().describe('What the payer disputes, in major units.'),
    amountMinor: z.int(),
    currency: z.string(),
    status: z
      .enum(DISPUTE_STATES)
      .describe('`needs_answer`: the channel waits for the merchant until `dueAt`; `won` and `lost` are decided.'),
    dueAt: Timestamp.nullable(),
    lostAmount: z.number().describe('What the dispute took, in major units; part of the refunded amount of the order.'),
    refundNo: z.string().nullable().describe('The refund by which the order counts it.'),
    answeredAt: Timestamp.nullable(),
    acceptedAt: Timestamp.nullable(),
    nextCheckAt: Timestamp.nullable(),
    openedAt: Timestamp,
    updatedAt: Timestamp,
    closedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Dispute' });

/** A dispute in a path. */
const DisputeParams = z.object({ disputeNo: Id });

/** Filters of an application's own disputes. */
const OwnDisputesQuery = z.object({
  ...Paging,
  orderNo: Id.optional(),
  status: z.enum(DISPUTE_STATES).optional(),
});

/** Filters of the dispute list. */
const DisputesQuery = OwnDisputesQuery.extend({
  channelDisputeNo: Id.optional(),
  clientId: Id.optional(),
  project: Code.optional(),
  payWay: PayWayName.optional(),
});

const AnswerRequest = z
  .object({
    text: SafeText(1, 2000).describe('The answer of the merchant.'),
    file: z.array(UploadedFile).optional().describe('Evidence files, as parts of a form: images, at PayPal PDF, too.'),
  })
  .meta({ id: 'AnswerDisputeRequest' });
/** Limits for evidence files: the largest that any channel accepts. Each channel checks its own smaller limits. */
const EVIDENCE = { several: 'file', mostFiles: 10, mostBytes: 10 * 1024 * 1024, mostBytesInAll: 50 * 1024 * 1024 };
const AcceptRequest = z
  .object({ note: SafeText(1, 500).describe('Sent to the channel, which may show it to the payer.') })
  .meta({ id: 'AcceptDisputeRequest' });
const FinishRequest = z
  .object({
    result: z
      .enum(COMPLAINT_RESULTS)
      .optional()
      .describe('The result for Alipay, `other` by default; WeChat Pay takes none.'),
  })
  .meta({ id: 'FinishDisputeRequest' })
  .optional();

/** Disputes of all orders: find, read, answer, accept. */
export function disputeRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/disputes:
   *   get:
   *     tags: [Disputes]
   *     operationId: listDisputes
   *     summary: List disputes
   *     description: Newest first; `status=needs_answer` lists those that the channel waits for.
   */
  router.get(
    '/api/v1/disputes',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: DisputesQuery, returns: Dispute, list: true },
      async ({ query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.disputes(filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/disputes/{disputeNo}:
   *   get:
   *     tags: [Disputes]
   *     operationId: getDispute
   *     summary: Get a dispute
   */
  router.get(
    '/api/v1/disputes/:disputeNo',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'dispute' }, params: DisputeParams, returns: Dispute },
      ({ params, caller, request }) => operations.readDispute(requesterOf(caller, request), params.disputeNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/disputes/{disputeNo}/answer:
   *   post:
   *     tags: [Disputes]
   *     operationId: answerDispute
   *     summary: Answer a dispute
   *     description: >
   *       The text goes to the payer or, once the channel examines the dispute, to the channel. With files the request is a form whose parts are named
   *       `text` and `file`, ten files at most, of 10 MB each and 50 MB in all; they are sent on and not kept. At Alipay an answer ends the complaint.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { text: Delivered on 2026-11-20 and signed for by the customer }
   */
  router.post(
    '/api/v1/disputes/:disputeNo/answer',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'dispute' },
        params: DisputeParams,
        accepts: ['json', 'multipart'],
        uploads: EVIDENCE,
        body: AnswerRequest,
        returns: Dispute,
        idempotent: true,
        errors: DISPUTE_ERRORS,
      },
      ({ params, body, caller, request, claim }) =>
        operations.answerDispute(
          requesterOf(caller, request),
          params.disputeNo,
          { text: body.text, files: body.file ?? [] },
          claim,
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/disputes/{disputeNo}/accept:
   *   post:
   *     tags: [Disputes]
   *     operationId: acceptDispute
   *     summary: Accept a dispute
   *     description: >-
   *       The channel refunds the payer from the account of the merchant. This cannot be undone. Refunds of the order are refused from then
   *       on until the channel decides, and a refund that is in progress has to end first. Above `Approval.RefundAbove` the dispute is not
   *       accepted yet: 202 with the approval that another administrator has to give.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { note: We are sorry that the parcel was lost }
   */
  router.post(
    '/api/v1/disputes/:disputeNo/accept',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'dispute' },
        params: DisputeParams,
        body: AcceptRequest,
        returns: Dispute,
        answers: WAITS,
        idempotent: true,
        errors: ACCEPT_DISPUTE_ERRORS,
      },
      async ({ params, body, caller, request, claim }) =>
        orWaiting(await operations.acceptDispute(requesterOf(caller, request), params.disputeNo, body.note, claim)),
    ),
  );

  /**
   * @openapi
   * /api/v1/disputes/{disputeNo}/finish:
   *   post:
   *     tags: [Disputes]
   *     operationId: finishDispute
   *     summary: Say that a complaint has been dealt with
   *     description: Complaints of Alipay and WeChat Pay only; PayPal decides on its own. Alipay also receives `result`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { result: refunded }
   */
  router.post(
    '/api/v1/disputes/:disputeNo/finish',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'dispute' },
        params: DisputeParams,
        body: FinishRequest,
        returns: Dispute,
        idempotent: true,
        errors: DISPUTE_ERRORS,
      },
      ({ params, body, caller, request, claim }) =>
        operations.finishDispute(requesterOf(caller, request), params.disputeNo, body?.result ?? 'other', claim),
    ),
  );
  return router;
}

const own = forApplications('/api/v2/payment/disputes', 'payment:read');

/** Disputes about the orders of the calling app. */
export function ownDisputeRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/payment/disputes:
   *   get:
   *     tags: [Payments]
   *     operationId: listOwnDisputes
   *     summary: List own disputes
   *     description: Newest first. Administrators answer and accept them.
   */
  router.get(
    own.prefix,
    endpoint(
      { auth: own.read, query: OwnDisputesQuery, returns: Dispute, list: true },
      async ({ query: { limit, cursor, ...filter }, caller: { clientId } }) =>
        pageOf(await operations.disputes({ ...filter, clientId }, cursor, limit)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/disputes/{disputeNo}:
   *   get:
   *     tags: [Payments]
   *     operationId: getOwnDispute
   *     summary: Get a dispute
   */
  router.get(
    `${own.prefix}/:disputeNo`,
    endpoint({ auth: own.read, params: DisputeParams, returns: Dispute }, ({ params, caller, request }) =>
      operations.readDispute(requesterOf(caller, request), params.disputeNo),
    ),
  );
  return router;
}
