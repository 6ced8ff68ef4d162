import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';

const AppMe = z
  .object({
    client_id: z.string(),
    name: z.string(),
    project: z.string(),
    /** What the token may do now. */
    scopes: z.array(z.string()),
    mode: z.enum(['live', 'test']),
  })
  .meta({ id: 'AppMe' });

/** The application behind a token. */
export function appMeRoutes(): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/me:
   *   get:
   *     tags: [Application]
   *     operationId: getOwnApp
   *     summary: Get the application of the token
   *     description: Allowed for any token. `mode` is `test` while Debug is on and in staging, when no order moves real money.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data: { client_id: app_0a1b2c3d4e5f6g7h8i9j, name: shop, project: default, scopes: ['payment:read'], mode: live }
   */
  router.get(
    '/api/v2/me',
    endpoint({ auth: 'any-token', returns: AppMe }, ({ caller }) => ({
      client_id: caller.clientId,
      name: caller.name,
      project: caller.project,
      scopes: [...caller.scopes],
      mode: caller.mode === 'test' ? 'test' : 'live',
    })),
  );
  return router;
}
