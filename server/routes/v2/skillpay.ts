import { z } from 'zod';
import { endpoint, Reply } from '../../http/endpoint.ts';
import { readIdempotencyKey } from '../../http/input.ts';
import type { SkillOperations } from '../../skillpay/operations.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { CALL_SKILL_ERRORS, REFUND_ERRORS } from '../wire/errors.ts';
import {
  AgentContent,
  OutTradeNo,
  SkillCoinOrder,
  SkillContent,
  SkillHeaders,
  SkillOrder,
  SkillPrice,
  SkillRefundPlaced,
  SkillRefundRequest,
  SkillRequest,
} from '../wire/skillpay.ts';

const auth = { scope: 'skillpay:call' } as const;

/** Pay-per-call (X402) of the calling app: call, query, refund, price list. */
export function skillpayRoutes(operations: SkillOperations): RouteGroup {
  const router = routeGroup('/api/v2/skillpay');

  /**
   * @openapi
   * /api/v2/skillpay/resource:
   *   post:
   *     tags: [Pay-per-call]
   *     operationId: callResource
   *     summary: Call a paid resource
   *     description: >
   *       The first call returns 402 with a payment code in `<Brand>-Pay-Required`, the order number in `X-Out-Trade-No` and the x402
   *       offer in `PAYMENT-REQUIRED`, MPP challenges in `WWW-Authenticate`. After the payer has paid, the same call with `X-Out-Trade-No` (or an x402
   *       `PAYMENT-SIGNATURE`, an MPP credential in `Payment-Authorization`, or a `Payment-Proof` of an agent of Alipay) returns 200 with the content; repeating it never fulfils twice. An `Idempotency-Key` on the first
   *       call identifies the order: a retry returns the same order in its current state. A call that names no `payWay` is offered every channel of
   *       the skill; the payer may take another than the first at the payment page. When an offer expired unpaid, its repeat returns 402
   *       `payment_expired` with a new offer in `data`, whose `inPlaceOf` is the former number. A call with a `userId` that has the coins of
   *       the skill's `coinPrice` is answered 200 at once; repeated with its `X-Out-Trade-No` or under its `Idempotency-Key` it is
   *       free, without either it is a new call and costs again.
   *     x-payment-info:
   *       offers:
   *         - { intent: charge, method: wechat, amount: null, currency: cny, description: The price of the resource }
   *         - { intent: charge, method: alipay, amount: null, currency: cny, description: The price of the resource }
   *         - { intent: charge, method: paypal, amount: null, description: The price of the resource }
   *     responses:
   *       402:
   *         description: To be paid first. `data` is the order; the headers say it in the words of each kind of client.
   *         headers:
   *           X-Out-Trade-No: { schema: { type: string }, description: The number of the order. }
   *           PAYMENT-REQUIRED: { schema: { type: string }, description: 'The offer for x402 clients, base64-encoded JSON.' }
   *           WWW-Authenticate: { schema: { type: string }, description: 'Challenges of the scheme Payment, one for each channel.' }
   *         content:
   *           application/problem+json:
   *             schema:
   *               $ref: '#/components/schemas/CallResourceProblem'
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { resource: weather, input: { city: Paris }, payWay: wechat }
   */
  router.post(
    '/resource',
    endpoint(
      {
        auth,
        headers: SkillHeaders,
        body: SkillRequest,
        returns: SkillContent,
        beside: AgentContent,
        errors: CALL_SKILL_ERRORS,
      },
      async ({ headers, body, caller, request }) => {
        const idempotencyKey = () => readIdempotencyKey(headers['idempotency-key']);
        return new Reply(await operations.call(caller, body, { headers, rawBody: request.rawBody, idempotencyKey }));
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/query/{outTradeNo}:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: queryCall
   *     summary: Query a pay-per-call order
   */
  router.get(
    '/query/:outTradeNo',
    endpoint(
      { auth, params: z.object({ outTradeNo: OutTradeNo }), returns: z.union([SkillOrder, SkillCoinOrder]) },
      ({ params, caller }) => operations.query(caller, params.outTradeNo),
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/refund:
   *   post:
   *     tags: [Pay-per-call]
   *     operationId: refundCall
   *     summary: Refund a pay-per-call order
   *     description: >
   *       Without `refundAmount`, the full remaining amount. 409 while the order is being fulfilled, and after delivery unless
   *       the resource has `refundAfterFulfilment`. A refund before delivery, of a part, too, ends the claim to the content; if the refund
   *       fails, the claim is back. After a full refund delivered content is no longer returned either.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { outTradeNo: X20300101000000ABCDEFGHJK, reason: Not what I wanted }
   */
  router.post(
    '/refund',
    endpoint(
      {
        auth,
        body: SkillRefundRequest,
        returns: z.union([SkillRefundPlaced, SkillCoinOrder]),
        idempotent: true,
        errors: REFUND_ERRORS,
      },
      ({ body, caller, claim }) => operations.refund(caller, body, claim),
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/resources:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: listResources
   *     summary: List resources and prices
   */
  router.get(
    '/resources',
    endpoint({ auth, returns: SkillPrice, list: true }, async ({ caller }) => ({
      data: await operations.resources(caller),
      page: { nextCursor: null, hasMore: false },
    })),
  );
  return router;
}
