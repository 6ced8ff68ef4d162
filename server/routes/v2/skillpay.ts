import { z } from 'zod';
import { endpoint, Reply } from '../../http/endpoint.ts';
import { readIdempotencyKey } from '../../http/idempotency.ts';
import type { SkillOperations } from '../../skillpay/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import {
  OutTradeNo,
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
   *     summary: Call a paid resource
   *     description: >
   *       The first call answers 402 with a payment code in `<Brand>-Pay-Required`, the number in `X-Out-Trade-No` and the x402
   *       offer in `PAYMENT-REQUIRED`. When the payer has paid, the same call with `X-Out-Trade-No` (or an x402
   *       `PAYMENT-SIGNATURE`) answers 200 with the content; repeating it never fulfils twice. An `Idempotency-Key` of the first
   *       call points to the order: a retry gets the same order in its present state.
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
        errors: [
          'payment_required',
          'payment_expired',
          'resource_required',
          'resource_mismatch',
          'proof_invalid',
          'order_closed',
          'order_refunded',
          'fulfilment_in_progress',
          'fulfilment_unavailable',
          'fulfilment_failed_refund_pending',
          'too_many_offers',
          'not_on_sale',
          'project_disabled',
          'channel_disabled',
          'channel_not_configured',
          'channel_refused',
          'channel_outcome_unknown',
          'channel_answer_unusable',
        ],
      },
      async ({ headers, body, caller }) => {
        const outTradeNo = headers['x-out-trade-no'];
        const signature = headers['payment-signature'];
        const isFirst = outTradeNo === undefined && signature === undefined;
        const idempotencyKey = isFirst ? readIdempotencyKey(headers['idempotency-key']) : undefined;
        return new Reply(await operations.call(caller, body, { outTradeNo, signature, idempotencyKey }));
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/query/{outTradeNo}:
   *   get:
   *     tags: [Pay-per-call]
   *     summary: Query a pay-per-call order
   */
  router.get(
    '/query/:outTradeNo',
    endpoint({ auth, params: z.object({ outTradeNo: OutTradeNo }), returns: SkillOrder }, ({ params, caller }) =>
      operations.query(caller, params.outTradeNo),
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/refund:
   *   post:
   *     tags: [Pay-per-call]
   *     summary: Refund a pay-per-call order
   *     description: >
   *       Without `refundAmount` all that is left. 409 while the paid work is being done; after a full refund the content is no
   *       longer given.
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
        returns: SkillRefundPlaced,
        idempotent: true,
        errors: [
          'order_not_paid',
          'refund_exceeds_refundable',
          'refund_in_progress',
          'refunds_blocked',
          'refund_limit_reached',
          'refund_window_over',
          'merchant_number_used',
          'fulfilment_in_progress',
          'refund_after_fulfilment',
        ],
      },
      ({ body, caller, idempotent }) => operations.refund(caller, body, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v2/skillpay/resources:
   *   get:
   *     tags: [Pay-per-call]
   *     summary: List what can be called, with prices
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
