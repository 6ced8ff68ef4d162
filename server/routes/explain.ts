import { z } from 'zod';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { Explanation } from '../payments/explain/explain.ts';
import type { Requester } from '../payments/ports.ts';
import type { Language } from '../pages/language.ts';
import { requesterOf } from './schemas/audience.ts';
import { RefusedNotices, presentRefused } from './schemas/credentials.ts';
import { Id, Timestamp } from './schemas/fields.ts';
import { languageHeaders, pageLanguage } from './schemas/language.ts';

const NextStep = z
  .object({
    action: z.string(),
    at: Timestamp.nullable().describe('Time of the step, RFC 3339 UTC; null = it is in progress.'),
  })
  .nullable();

const OwnExplanation = z
  .object({
    orderNo: z.string(),
    status: z.string(),
    situation: z.string().describe('Stable code of the situation.'),
    reason: z.string(),
    next: NextStep,
    fix: z.string().nullable(),
    expiresAt: Timestamp,
    equation: z.object({
      currency: z.string(),
      paid: z.int(),
      refunded: z.int(),
      refunding: z.int(),
      kept: z.int(),
      refundable: z.int(),
    }),
    refunds: z.array(
      z.object({
        refundNo: z.string(),
        amountMinor: z.int(),
        status: z.string(),
        situation: z.string(),
        reason: z.string(),
        next: NextStep,
        fix: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'OwnOrderExplanation' });

const OrderExplanation = z
  .object({
    ...OwnExplanation.shape,
    fix: z
      .string()
      .nullable()
      .describe('Command that resolves the situation, if manual action is possible; null = none.'),
    askedBy: z.string(),
    exceptions: z.array(z.object({ id: z.string(), kind: z.string(), fix: z.string() })),
    bills: z
      .array(
        z.object({
          billNo: z.string(),
          day: z.iso.date(),
          line: z.int(),
          kind: z.string(),
          event: z.string().describe("The channel's name for the kind of line."),
          amountMinor: z.int(),
          feeMinor: z.int().describe('Fee of the channel in minor units; negative if the channel returned a fee.'),
          currency: z.string(),
          channelNo: z.string().nullable(),
        }),
      )
      .describe('Lines about the order in the bills of the channel.'),
    differences: z
      .array(z.object({ kind: z.string(), state: z.string(), billNo: z.string(), day: z.iso.date() }))
      .describe('Differences between a bill and the order that are not resolved yet.'),
    refusedNotices: RefusedNotices.nullable().describe(
      'Notifications of the channel that were refused since the order was placed; null = none.',
    ),
  })
  .meta({ id: 'OrderExplanation' });

interface ExplainPorts {
  explain: (requester: Requester, orderNo: string, language: Language) => Promise<Explanation>;
}

const ByOrder = z.object({ orderNo: Id });

/** Explains the state of any order to an administrator, for `payctl explain`. */
export function explainRoutes({ explain }: ExplainPorts): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/explain:
   *   get:
   *     tags: [Orders]
   *     operationId: explainOrder
   *     summary: Explain the state of an order
   *     description: >-
   *       The reason for the state of the order, the next automatic step and its time. Based on stored data only; the channel is not
   *       queried. Amounts are in minor units. The texts are in Chinese if the header Accept-Language prefers `zh`, otherwise in
   *       English.
   */
  router.get(
    '/api/v1/orders/:orderNo/explain',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'order' }, params: ByOrder, returns: OrderExplanation },
      async ({ params, caller, request }) => {
        const language = pageLanguage(undefined, request);
        const { refusedNotices, ...explained } = await explain(requesterOf(caller, request), params.orderNo, language);
        const data = { ...explained, refusedNotices: presentRefused(refusedNotices, language) };
        return new Reply({ data, headers: languageHeaders(language) });
      },
    ),
  );
  return router;
}

/** Explains the state of an own order to an application. */
export function ownExplainRoutes({ explain }: ExplainPorts): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/payment/orders/{orderNo}/explain:
   *   get:
   *     tags: [Payments]
   *     operationId: explainOwnOrder
   *     summary: Explain the state of an order
   *     description: >-
   *       The reason for the state of the order and of its refunds, the next automatic step with its time, and the remedy. Based on
   *       stored data only; the channel is not queried. Amounts are in minor units. The texts are in Chinese if the header
   *       Accept-Language prefers `zh`, otherwise in English.
   *     parameters:
   *       - { name: orderNo, in: path, example: P20300131080000ABCDEFGHJK }
   */
  router.get(
    '/api/v2/payment/orders/:orderNo/explain',
    endpoint(
      { auth: { scope: 'payment:read' }, params: ByOrder, returns: OwnExplanation },
      async ({ params, caller, request }) => {
        const language = pageLanguage(undefined, request);
        const data = await explain(requesterOf(caller, request), params.orderNo, language);
        return new Reply({ data, headers: languageHeaders(language) });
      },
    ),
  );
  return router;
}
