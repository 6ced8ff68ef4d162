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

/** A pay-per-call number, `X` and 24 characters. */
const OutTradeNo = z
  .string()
  .regex(/^X\d{14}[0-9A-Z]{10}$/, 'must be the outTradeNo of a pay-per-call order')
  .meta({ id: 'OutTradeNo', examples: ['X20300101000000ABCDEFGHJK'] });

/** The body of a call; it may be absent when the call is repeated with a proof. */
const SkillRequest = z
  .object({
    resource: Code.optional().describe('Code of a skill; may be omitted if the project has only one, or in Debug.'),
    input: z.unknown().optional().describe('Input of the resource; part of the offer.'),
    payWay: PayWayName.optional().describe('By default the first enabled channel of the skill.'),
    userId: Id.optional().describe('Whose coins may pay, if the skill has a `coinPrice`.'),
  })
  .optional()
  .meta({ id: 'SkillRequest' });

/** The headers of a call. */
const SkillHeaders = z.object({
  'x-out-trade-no': OutTradeNo.optional().describe(
    'The order number from the 402 response; sent when the call is repeated.',
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
      "Proof of payment of Alipay's agents, JSON in either alphabet of base64, with or without padding; its `client_session` may have 4 KB.",
    ),
  'accept-payment': z
    .string()
    .max(1024)
    .optional()
    .describe(
      'Methods that the client can pay with, e.g. `wechat/charge, alipay/charge;q=0.5`; the others are not asked for.',
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
    coin: CoinPrice.optional().describe('What the call cost, if coins paid it.'),
    status: z
      .literal('refunded')
      .optional()
      .describe('Fulfilment failed permanently; the payment was refunded in full.'),
    refundReason: z.string().optional(),
  })
  .meta({ id: 'SkillContent' });

/** Fields next to `data` for agents of Alipay, as named in Alipay's product document. */
const AgentContent = z.object({
  resource_id: z.string().optional().describe("The resource, for orders that an agent of Alipay's paid."),
  content: z.unknown().optional().describe('The content of `data`, for these agents.'),
  trade_no: z.string().optional().describe('The payment at Alipay, for these agents.'),
  out_trade_no: z.string().optional().describe('The number of the order, for these agents.'),
  already_fulfilled: z.boolean().optional().describe('`alreadyFulfilled` of `data`, for these agents.'),
});

/** A pay-per-call order. */
const SkillOrder = z
  .object({
    outTradeNo: z.string(),
    orderNo: z.string(),
    resource: z.string(),
    subject: z.string(),
    status: z.enum(ORDER_STATUSES),
    fulfilment: z.enum(['none', 'running', 'done', 'failed']),
    successor: z.string().nullable().describe('The order that took its place when it ended unpaid.'),
    payWay: PayWayName,
    mode: z.enum(['simulator', 'sandbox', 'live']),
    amount: z.number().describe('Major units.'),
    amountMinor: z.int().describe('Minor units.'),
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

/** A pay-per-call order paid with coins. */
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

/** The body of a pay-per-call refund. */
const SkillRefundRequest = z
  .object({
    outTradeNo: OutTradeNo,
    refundAmount: Amount.optional().describe('Major units; the full remaining amount if omitted.'),
    reason: SafeText(1, 80).optional(),
    merchantRefundNo: Id.optional(),
  })
  .meta({ id: 'SkillRefundRequest' });

/** The response to a pay-per-call refund. */
const SkillRefundPlaced = RefundPlaced.extend({ outTradeNo: z.string() }).meta({ id: 'SkillRefundPlaced' });

/** An entry of the price list. */
const SkillPrice = z
  .object({
    resource: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    price: z.number().describe('Major units.'),
    amount: z.number().describe('Same as `price`.'),
    amountMinor: z.int(),
    currency: z.string(),
    payWays: z.array(z.string()),
    offerTtlSeconds: z.int(),
    coinPrice: CoinPrice.nullable().describe('What a call costs in coins, for a `userId` that has them.'),
    refundAfterFulfilment: z.boolean(),
  })
  .meta({ id: 'SkillPrice' });

/** Figures of one application and resource. */
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
    refunded: z.int().describe('Refunded in full.'),
    revenue: z.number().describe('Paid minus refunded, in major units.'),
    revenueMinor: z.int(),
  })
  .meta({ id: 'SkillFigures' });

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
   *         description: Payment required first. `data` is the order; the headers contain the offer in the format of each kind of client.
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

const Query = z.object({
  from: Instant.optional(),
  to: Instant.optional(),
  project: Code.optional(),
  clientId: Id.optional(),
  mode: z.enum(['simulator', 'sandbox', 'live']).optional(),
});

/** Figures of pay-per-call for the console. */
export function skillpayStatsRoutes({ stats }: Pick<SkillOperations, 'stats'>): RouteGroup {
  const router = routeGroup('/api/v1/stats');

  /**
   * @openapi
   * /api/v1/stats/skillpay:
   *   get:
   *     tags: [Statistics]
   *     operationId: getSkillpayStats
   *     summary: Get pay-per-call statistics by application and resource
   *     description: Offers created in the period and their outcome; one row per mode and currency.
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
  .describe('By product code, the skill as SkillHub knows it.');

const Change = z
  .object({
    developerId: Id.optional().describe('Developer at SkillHub, `sh-…`.'),
    keyId: Id.optional().describe('Id of the public key at SkillHub, `PUB_KEY_…`.'),
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

/** WeChat agent pay of a project, for administrators. */
export function agentPayRoutes(settings: AgentPaySettings): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/skillpay/agent-pay:
   *   get:
   *     tags: [WeChat agent pay]
   *     operationId: getAgentPay
   *     summary: Get the WeChat agent pay configuration
   *     description: The developer account that requests payment codes from WeChat, and the result of the last requests. The private key is never returned.
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
   *     description: >
   *       From then on the 402 of the named skills carries `WeixinPay-Required` if the order is paid with WeChat Pay. Omitted fields keep their
   *       values; the first time all but `skills` are required. In Debug, and in staging with a simulator, payment codes come from the simulator.
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
   *     description: No more payment codes are requested; issued ones remain payable.
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
   *     description: >
   *       Requests a payment code for data without an order, so it cannot be paid. WeChat refuses the request; `ok` = only because it does
   *       not know the data.
   */
  router.post(
    '/api/v1/skillpay/agent-pay/test',
    endpoint({ auth: { admin: 'admin', projectScope: 'query' }, query: InProject, returns: Tested }, ({ query }) =>
      settings.test(query.project),
    ),
  );
  return router;
}
