import { z } from 'zod';
import { Amount, Code, Id, SafeText, Timestamp } from './fields.ts';
import { PayWayName, Refund, RefundPlaced } from './orders.ts';
import { ORDER_STATUSES } from '../../domain.ts';

/** A pay-per-call number, `X` and 24 characters. */
export const OutTradeNo = z
  .string()
  .regex(/^X\d{14}[0-9A-Z]{10}$/, 'must be the outTradeNo of a pay-per-call order')
  .meta({ id: 'OutTradeNo', examples: ['X20300101000000ABCDEFGHJK'] });

/** The body of a call; the repeat may leave it out. */
export const SkillRequest = z
  .object({
    resource: Code.optional().describe('Code of a skill; may be omitted if the project has only one, or in Debug.'),
    input: z.unknown().optional().describe('Input of the resource; part of the offer.'),
    payWay: PayWayName.optional().describe('By default the first enabled channel of the skill.'),
    userId: Id.optional().describe('Whose coins may pay, if the skill has a `coinPrice`.'),
  })
  .optional()
  .meta({ id: 'SkillRequest' });

/** The headers of a call. */
export const SkillHeaders = z.object({
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

/** The paid content, or the news that it failed and the money is back. */
export const SkillContent = z
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

/** Members beside `data` for agents of Alipay, as Alipay's product document names them. */
export const AgentContent = z.object({
  resource_id: z.string().optional().describe("The resource, for orders that an agent of Alipay's paid."),
  content: z.unknown().optional().describe('The content of `data`, for these agents.'),
  trade_no: z.string().optional().describe('The payment at Alipay, for these agents.'),
  out_trade_no: z.string().optional().describe('The number of the order, for these agents.'),
  already_fulfilled: z.boolean().optional().describe('`alreadyFulfilled` of `data`, for these agents.'),
});

/** A pay-per-call order. */
export const SkillOrder = z
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

/** A pay-per-call order that coins paid. */
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
export const SkillRefundRequest = z
  .object({
    outTradeNo: OutTradeNo,
    refundAmount: Amount.optional().describe('Major units; the full remaining amount if omitted.'),
    reason: SafeText(1, 80).optional(),
    merchantRefundNo: Id.optional(),
  })
  .meta({ id: 'SkillRefundRequest' });

/** The answer to a pay-per-call refund. */
export const SkillRefundPlaced = RefundPlaced.extend({ outTradeNo: z.string() }).meta({ id: 'SkillRefundPlaced' });

/** One line of the price list. */
export const SkillPrice = z
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

/** Figures of one app and resource. */
export const SkillFigures = z
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
