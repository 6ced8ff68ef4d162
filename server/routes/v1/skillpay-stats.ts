import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { SkillOperations } from '../../skillpay/operations.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { Code, Id, Instant } from '../wire/fields.ts';
import { SkillFigures } from '../wire/skillpay.ts';

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
      { auth: { admin: 'viewer', reach: 'filter' }, query: Query, returns: SkillFigures, list: true },
      async ({ query }) => ({
        data: await stats(query),
        page: { nextCursor: null, hasMore: false },
      }),
    ),
  );
  return router;
}
