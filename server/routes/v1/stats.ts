import type { Stats } from '../../catalog/stats.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { Overview, StatsQuery } from '../wire/stats.ts';

/** Statistics over all projects. */
export function statsRoutes({ stats }: { stats: Stats }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/stats/overview:
   *   get:
   *     tags: [Statistics]
   *     operationId: getStats
   *     summary: Get the statistics of a period
   *     description: For one mode, over all projects or one; by day in the time zone `tz`. Payments count when they were paid, refunds when they succeeded.
   */
  router.get(
    '/api/v1/stats/overview',
    endpoint({ auth: { admin: 'viewer', reach: 'filter' }, query: StatsQuery, returns: Overview }, ({ query }) =>
      stats.overview(query),
    ),
  );
  return router;
}
