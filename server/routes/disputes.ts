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

export const Dispute = z
  .object({
    disputeNo: z.string(),
    orderNo: z.string(),
    clientId: z.string(),
    project: z.string(),
    payWay: PayWayName,
    channelDisputeNo: z.string().describe('Number of the dispute at the channel.'),
    reason: z.string().describe('Reason of the payer, as the channel reports it.'),
    amount: z.number().describe('Disputed amount in major units.'),
    amountMinor: z.int(),
    currency: z.string(),
    status: z
      .enum(DISPUTE_STATES)
      .describe(
        '`needs_answer`: the merchant must answer by `dueAt`. `won`, `lost`: the channel decided for or against the merchant.',
      ),
    dueAt: Timestamp.nullable(),
    lostAmount: z
      .number()
      .describe(
        'Amount that the merchant lost to the dispute, in major units. The refunded amount of the order includes it.',
      ),
    refundNo: z
      .string()
      .nullable()
      .describe('Number of the refund that records the lost amount in the order; null = nothing was lost.'),
    answeredAt: Timestamp.nullable(),
    acceptedAt: Timestamp.nullable(),
    nextCheckAt: Timestamp.nullable(),
    openedAt: Timestamp,
    updatedAt: Timestamp,
    closedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Dispute' });

const DisputeParams = z.object({ disputeNo: Id });

const OwnDisputesQuery = z.object({
  ...Paging,
  orderNo: Id.optional(),
  status: z.enum(DISPUTE_STATES).optional(),
});

const DisputesQuery = OwnDisputesQuery.extend({
  channelDisputeNo: Id.optional(),
  clientId: Id.optional(),
  project: Code.optional(),
  payWay: PayWayName.optional(),
});

const AnswerRequest = z
  .object({
    text: SafeText(1, 2000).describe('The answer of the merchant.'),
    file: z
      .array(UploadedFile)
      .optional()
      .describe('Evidence files, as parts of a multipart form: images; for PayPal also PDF.'),
  })
  .meta({ id: 'AnswerDisputeRequest' });
/** The largest limits for evidence files among all channels. Each channel also checks its own, smaller limits. */
const EVIDENCE = { several: 'file', mostFiles: 10, mostBytes: 10 * 1024 * 1024, mostBytesInAll: 50 * 1024 * 1024 };
const AcceptRequest = z
  .object({ note: SafeText(1, 500).describe('Note for the channel, which may show it to the payer.') })
  .meta({ id: 'AcceptDisputeRequest' });
const FinishRequest = z
  .object({
    result: z
      .enum(COMPLAINT_RESULTS)
      .optional()
      .describe('Result that Alipay receives; default `other`. It is not sent to WeChat Pay.'),
  })
  .meta({ id: 'FinishDisputeRequest' })
  .optional();

/** Routes for administrators: find, read, answer and accept the disputes about any order. */
export function disputeRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/disputes:
   *   get:
   *     tags: [Disputes]
   *     operationId: listDisputes
   *     summary: List disputes
   *     description: Newest first; `status=needs_answer` lists the disputes that the merchant must answer.
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
   *     description: >-
   *       The text is sent to the payer or, once the channel examines the dispute, to the channel. To add files, send a multipart form
   *       with parts named `text` and `file`: at most ten files, of at most 10 MB each and 50 MB in total. The files are forwarded and
   *       not stored. At Alipay, an answer ends the complaint.
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
   *       The channel refunds the payer from the account of the merchant. This cannot be undone. A refund in progress must end before
   *       the dispute can be accepted. After the acceptance, refunds of the order are rejected until the channel decides. Above
   *       `Approval.RefundAbove` the dispute is not accepted yet: the response is 202 with the approval that another administrator has
   *       to give.
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
   *     summary: Mark a complaint as resolved
   *     description: >-
   *       Only for complaints of Alipay and WeChat Pay; disputes of PayPal are decided by PayPal. Alipay also receives `result`.
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

/** Routes for applications: read the disputes about their own orders. */
export function ownDisputeRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/payment/disputes:
   *   get:
   *     tags: [Payments]
   *     operationId: listOwnDisputes
   *     summary: List own disputes
   *     description: Newest first. Only administrators can answer or accept disputes.
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
