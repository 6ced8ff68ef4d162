import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import type { LimitView } from '../payments/limits.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { Id, Timestamp } from './wire/fields.ts';

const Limit = z
  .object({
    currency: z.string(),
    limit: z.enum(['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour']),
    allowed: z.number().describe('Major units; `ordersPerHour`: orders.'),
    used: z.number().nullable().describe('In the span of time that ends at `resetsAt`; null for `perOrder`.'),
    left: z.number(),
    resetsAt: Timestamp.nullable(),
  })
  .meta({ id: 'Limit' });

/** What limits are left of an application: for itself, and for administrators. */
export function limitRoutes({ limitsOf }: { limitsOf: (clientId: string) => Promise<LimitView[]> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/limits:
   *   get:
   *     tags: [Application]
   *     operationId: listLimits
   *     summary: List the limits of the application of the token
   *     description: >-
   *       Allowed for any token. Only administrators set limits; without any the list is empty, and with some only the currencies
   *       that are listed may be used. Days and months are those of Asia/Shanghai, hours begin at the full hour. An order that ended
   *       unpaid gives its amount back.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 - { currency: CNY, limit: perDay, allowed: 1000, used: 120, left: 880, resetsAt: '2030-01-31T16:00:00.000Z' }
   */
  router.get(
    '/api/v2/limits',
    endpoint({ auth: 'any-token', returns: z.array(Limit) }, ({ caller }) => limitsOf(caller.clientId)),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/limits:
   *   get:
   *     tags: [API applications]
   *     operationId: listLimitsOfApp
   *     summary: List the limits of an application with what is left
   */
  router.get(
    '/api/v1/api-apps/:client_id/limits',
    endpoint(
      { auth: { admin: 'viewer', reach: 'app' }, params: z.object({ client_id: Id }), returns: z.array(Limit) },
      ({ params }) => limitsOf(params.client_id),
    ),
  );
  return router;
}
