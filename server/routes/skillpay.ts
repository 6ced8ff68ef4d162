import { z } from 'zod';
import { ORDER_STATUSES } from '../domain.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { readIdempotencyKey } from '../http/input.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { AgentPaySettings } from '../skillpay/agent-settings.ts';
import type { SkillOperations } from '../skillpay/operations.ts';
import { InProject, actingIn } from './schemas/audience.ts';
import { ModeName } from './schemas/credentials.ts';
import { CALL_SKILL_ERRORS, REFUND_ERRORS, WRITE_AGENT_PAY_ERRORS } from './schemas/errors.ts';
import { Amount, Code, Id, Instant, SafeText, Timestamp } from './schemas/fields.ts';
import { PayWayName, Refund, RefundPlaced } from './schemas/orders.ts';

const OutTradeNo = z
  .string()
  .regex(/^X\d{14}[0-9A-Z]{10}$/, 'must be the outTradeNo of a pay-per-call order')
  .meta({ id: 'OutTradeNo', examples: ['X20300101000000ABCDEFGHJK'] });

/** The body may be absent when the caller repeats the request with a proof of payment. */
const SkillRequest = z
  .object({
    resource: Code.optional().describe('Code of a skill; may be omitted if the project has only one, or in Debug.'),
    input: z.unknown().optional().describe('Input for the resource. It is part of the offer.'),
    payWay: PayWayName.optional().describe('Channel; by default the first enabled channel of the skill.'),
    userId: Id.optional().describe('ID of the user whose coins may pay the call, if the skill has a `coinPrice`.'),
  })
  .optional()
  .meta({ id: 'SkillRequest' });

const SkillHeaders = z.object({
  'x-out-trade-no': OutTradeNo.optional().describe(
    'The order number from the 402 response. Send it when you repeat the call.',
  ),
  'payment-signature': z
    .string()
    .max(8192)
    .optional()
    .describe('Proof of payment of an x402 client, base64-encoded JSON.'),
  'payment-authorization': z
    .string()
    .max(8192)
    .optional()
    .describe('Credential of the HTTP authentication scheme Payment: `Payment <base64url>`.'),
  'payment-proof': z
    .string()
    .max(8192)
    .optional()
    .describe(
      'Proof of payment of an Alipay agent: JSON in base64 or base64url, with or without padding. Its `client_session` may have up to 4 KB.',
    ),
  'accept-payment': z
    .string()
    .max(1024)
    .optional()
    .describe(
      'Payment methods that the client supports, e.g. `wechat/charge, alipay/charge;q=0.5`. The response contains no challenges for other methods.',
    ),
  'idempotency-key': z.string().max(258).optional().describe('For the first call: a retry returns the same order.'),
});

const CoinPrice = z.object({ code: z.string(), amount: z.int() });

/** The paid content, or `refunded` if fulfilment failed and the payment was refunded. */
const SkillContent = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    content: z.unknown().optional().describe('JSON if the content type is JSON, else text.'),
    contentType: z.string().optional(),
    alreadyFulfilled: z.boolean().optional().describe('True if this is the stored result of an earlier call.'),
    receipt: z.string().optional().describe('Compact JWS, `typ: pay-receipt+jws`.'),
    coin: CoinPrice.optional().describe('Price in coins, if the call was paid with coins.'),
    status: z
      .literal('refunded')
      .optional()
      .describe(
        'Reason why the content could not be created. Present only if the payment was refunded in full for this reason.',
      ),
    refundReason: z.string().optional(),
  })
  .meta({ id: 'SkillContent' });

/**
 * Fields beside `data` in the response. Their names are from Alipay's product document, because Alipay's agents read
 * them.
 */
const AgentContent = z.object({
  resource_id: z.string().optional().describe('Code of the resource. Only for orders that an Alipay agent paid.'),
  content: z.unknown().optional().describe('Same as `content` of `data`. Only for orders that an Alipay agent paid.'),
  trade_no: z
    .string()
    .optional()
    .describe('Number of the payment at Alipay. Only for orders that an Alipay agent paid.'),
  out_trade_no: z.string().optional().describe('Number of the order. Only for orders that an Alipay agent paid.'),
  already_fulfilled: z
    .boolean()
    .optional()
    .describe('Same as `alreadyFulfilled` of `data`. Only for orders that an Alipay agent paid.'),
});

const SkillOrder = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    resource: z.string(),
    subject: z.string(),
    status: z.enum(ORDER_STATUSES),
    fulfilment: z.enum(['none', 'running', 'done', 'failed']),
    successor: z
      .string()
      .nullable()
      .describe('Number of the order that replaced this one after it ended unpaid; null = none.'),
    payWay: PayWayName,
    mode: z.enum(['simulator', 'sandbox', 'live']),
    amount: z.number().describe('Amount in major units.'),
    amountMinor: z.int().describe('Amount in minor units.'),
    currency: z.string(),
    refundedAmount: z.number(),
    refunds: z.array(Refund),
    createdAt: Timestamp,
    paidAt: Timestamp.nullable(),
    fulfilledAt: Timestamp.nullable(),
    expiresAt: Timestamp,
    stale: z.boolean(),
  })
  .meta({ id: 'SkillOrder' });

/** A pay-per-call order that was paid with coins (the prepaid balance of a user) instead of through a channel. */
export const SkillCoinOrder = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    kind: z.literal('coin'),
    resource: z.string(),
    subject: z.string(),
    userId: z.string(),
    status: z.enum(['paid', 'refunded']),
    fulfilment: z.enum(['none', 'running', 'done', 'failed']),
    coin: CoinPrice,
    createdAt: Timestamp,
    paidAt: Timestamp,
    fulfilledAt: Timestamp.nullable(),
    refundedAt: Timestamp.nullable(),
  })
  .meta({ id: 'SkillCoinOrder' });

const SkillRefundRequest = z
  .object({
    outTradeNo: OutTradeNo,
    refundAmount: Amount.optional().describe('Amount in major units; if omitted, the full remaining amount.'),
    reason: SafeText(1, 80).optional(),
    merchantRefundNo: Id.optional(),
  })
  .meta({ id: 'SkillRefundRequest' });

const SkillRefundPlaced = RefundPlaced.extend({ outTradeNo: z.string() }).meta({ id: 'SkillRefundPlaced' });

const SkillPrice = z
  .object({
    resource: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    price: z.number().describe('Price of a call in major units.'),
    amount: z.number().describe('Same as `price`.'),
    amountMinor: z.int(),
    currency: z.string(),
    payWays: z.array(z.string()),
    offerTtlSeconds: z.int(),
    coinPrice: CoinPrice.nullable().describe(
      'Price of a call in coins. It applies if the user in `userId` has enough coins; null = coins cannot pay.',
    ),
    refundAfterFulfilment: z.boolean(),
  })
  .meta({ id: 'SkillPrice' });

const SkillFigures = z
  .object({
    project: z.string(),
    clientId: z.string(),
    resource: z.string(),
    mode: z.enum(['simulator', 'sandbox', 'live']),
    currency: z.string(),
    offered: z.int(),
    paid: z.int(),
    fulfilled: z.int(),
    failed: z.int(),
    refunded: z.int().describe('Calls that were refunded in full.'),
    revenue: z.number().describe('Paid minus refunded, in major units.'),
    revenueMinor: z.int(),
  })
  .meta({ id: 'SkillFigures' });

const auth = { scope: 'skillpay:call' } as const;

/** Routes for applications: call a paid resource (pay-per-call, X402), query and refund its orders, list prices. */
export function skillpayRoutes(operations: SkillOperations): RouteGroup {
  const router = routeGroup('/api/v2/skillpay');

  /**
   * @openapi
   * /api/v2/skillpay/resource:
   *   post:
   *     tags: [Pay-per-call]
   *     operationId: callResource
   *     summary: Call a paid resource
   *     description: >-
   *       The first call returns 402. Its headers contain a payment code (`<Brand>-Pay-Required`), the order number (`X-Out-Trade-No`),
   *       the x402 offer (`PAYMENT-REQUIRED`) and MPP challenges (`WWW-Authenticate`). After the payer has paid, send the same call
   *       again with `X-Out-Trade-No`, an x402 `PAYMENT-SIGNATURE`, an MPP credential in `Payment-Authorization`, or a `Payment-Proof`
   *       of an Alipay agent. It returns 200 with the content. Further repetitions never create the content twice. With an
   *       `Idempotency-Key` on the first call, a retry returns the same order in its current state. A call without `payWay` offers every
   *       channel of the skill; on the payment page the payer may choose another channel than the first. If an offer expired unpaid, a
   *       repeated call returns 402 `payment_expired` with a new offer in `data`; `inPlaceOf` is the number of the expired order. If the
   *       user in `userId` has enough coins for the `coinPrice` of the skill, the call returns 200 at once. Such a call is free when it
   *       is repeated with its `X-Out-Trade-No` or its `Idempotency-Key`. Without both, it is a new call and costs again.
   *     x-payment-info:
   *       offers:
   *         - { intent: charge, method: wechat, amount: null, currency: cny, description: The price of the resource }
   *         - { intent: charge, method: alipay, amount: null, currency: cny, description: The price of the resource }
   *         - { intent: charge, method: paypal, amount: null, description: The price of the resource }
   *     responses:
   *       402:
   *         description: The call must be paid first. `data` is the order; the headers contain the offer in the format of each kind of client.
   *         headers:
   *           X-Out-Trade-No: { schema: { type: string }, description: The number of the order. }
   *           PAYMENT-REQUIRED: { schema: { type: string }, description: 'The offer for x402 clients, base64-encoded JSON.' }
   *           WWW-Authenticate: { schema: { type: string }, description: 'Challenges of the authentication scheme Payment, one for each channel.' }
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
   *     description: >-
   *       Without `refundAmount`, the full remaining amount is refunded. Returns 409 while the content is being created. Also returns
   *       409 after delivery unless the resource has `refundAfterFulfilment`. A refund before delivery, even a partial one, ends the
   *       right to the content; if the refund fails, the right is restored. After a full refund, content that was delivered is no longer
   *       returned, either.
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

const Query = z.object({
  from: Instant.optional(),
  to: Instant.optional(),
  project: Code.optional(),
  clientId: Id.optional(),
  mode: z.enum(['simulator', 'sandbox', 'live']).optional(),
});

/** Routes for administrators: statistics of pay-per-call requests. */
export function skillpayStatsRoutes({ stats }: Pick<SkillOperations, 'stats'>): RouteGroup {
  const router = routeGroup('/api/v1/stats');

  /**
   * @openapi
   * /api/v1/stats/skillpay:
   *   get:
   *     tags: [Statistics]
   *     operationId: getSkillpayStats
   *     summary: Get pay-per-call statistics by application and resource
   *     description: Offers that were created in the period, and their results. One row per mode and currency.
   */
  router.get(
    '/skillpay',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: Query, returns: SkillFigures, list: true },
      async ({ query }) => ({
        data: await stats(query),
        page: { nextCursor: null, hasMore: false },
      }),
    ),
  );
  return router;
}

const Skills = z
  .record(Code, z.object({ id: z.string().min(1).max(128), version: z.string().min(1).max(32) }))
  .describe('ID and version of each skill at SkillHub, by product code.');

const Change = z
  .object({
    developerId: Id.optional().describe('ID of the developer account at SkillHub, `sh-…`.'),
    keyId: Id.optional().describe('ID of the public key at SkillHub, `PUB_KEY_…`.'),
    privateKey: z.string().max(16_384).optional().describe('RSA private key, PEM; stored encrypted and never shown.'),
    skills: Skills.optional(),
  })
  .meta({ id: 'AgentPayChange' });

const Settings = z
  .object({
    project: Code,
    mode: ModeName,
    developerId: z.string(),
    keyId: z.string(),
    fingerprint: z.string().describe('SHA-256 of the public key.'),
    skills: Skills,
    lastSuccessAt: Timestamp.nullable(),
    lastFailureAt: Timestamp.nullable(),
    lastFailure: z.string().nullable(),
    updatedBy: z.string(),
    updatedAt: Timestamp,
  })
  .meta({ id: 'AgentPay' });

const Tested = z.object({ ok: z.boolean(), message: z.string() }).meta({ id: 'AgentPayTest' });

/** Routes for administrators: they read and change the configuration of WeChat agent pay for a project. */
export function agentPayRoutes(settings: AgentPaySettings): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   get:
   *     tags: [WeChat agent pay]
   *     operationId: getAgentPay
   *     summary: Get the WeChat agent pay configuration
   *     description: >-
   *       The developer account that requests payment codes from WeChat, and the result of the last requests. The private key is never
   *       returned.
   */
  router.get(
    '/api/v1/skillpay/agent-pay',
    endpoint({ auth: { admin: 'viewer', projectScope: 'query' }, query: InProject, returns: Settings }, ({ query }) =>
      settings.show(query.project),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   put:
   *     tags: [WeChat agent pay]
   *     operationId: setAgentPay
   *     summary: Set the WeChat agent pay configuration
   *     description: >-
   *       From then on, the 402 response of the listed skills contains the header `WeixinPay-Required` if the order is paid with WeChat
   *       Pay. Omitted fields keep their values. When the configuration is created, all fields except `skills` are required. In Debug,
   *       and in staging with a simulator, payment codes come from the simulator.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { developerId: sh-1A2B3C4D, keyId: PUB_KEY_408B07E79B8269FEC3D5D3E6AB8ED163, skills: { weather: { id: weather-report, version: 1.0.0 } } }
   */
  router.put(
    '/api/v1/skillpay/agent-pay',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'query', confirmed: 'where-live' },
        query: InProject,
        body: Change,
        returns: Settings,
        errors: WRITE_AGENT_PAY_ERRORS,
      },
      (input) => settings.set(actingIn(input), input.body),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   delete:
   *     tags: [WeChat agent pay]
   *     operationId: removeAgentPay
   *     summary: Remove the WeChat agent pay configuration
   *     description: No new payment codes are requested. Codes that were already issued can still be paid.
   */
  router.delete(
    '/api/v1/skillpay/agent-pay',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'query', confirmed: 'where-live' }, query: InProject, returns: Settings },
      (input) => settings.remove(actingIn(input)),
    ),
  );

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay/test:
   *   post:
   *     tags: [WeChat agent pay]
   *     operationId: testAgentPay
   *     summary: Test the WeChat agent pay configuration
   *     description: >-
   *       Requests a payment code for data without an order, so the code cannot be paid. WeChat normally refuses this request. The test
   *       succeeds (`ok`) if the only reason for the refusal is that WeChat does not know the data.
   */
  router.post(
    '/api/v1/skillpay/agent-pay/test',
    endpoint({ auth: { admin: 'admin', projectScope: 'query' }, query: InProject, returns: Tested }, ({ query }) =>
      settings.test(query.project),
    ),
  );
  return router;
}
