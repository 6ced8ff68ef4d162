import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { AdminSessions } from '../../identity/admin-sessions.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { CONFIRMED } from '../wire/audience.ts';
import { actorOf } from '../wire/identity.ts';
import { page } from '../wire/page.ts';
import { placeOfSession, presentSession, SessionEntry } from '../wire/sessions.ts';
import { UuidPaging } from '../wire/uuid-cursor.ts';

const OfAdmin = z.object({ id: z.uuid() });
const OneOfAdmin = OfAdmin.extend({ sessionId: z.uuid() });

/** Sessions of other administrators. */
export function adminSessionRoutes({ adminSessions }: { adminSessions: AdminSessions }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/admins/{id}/sessions:
   *   get:
   *     tags: [Administrators]
   *     operationId: listSessionsOfAdmin
   *     summary: List the sessions of an administrator
   */
  router.get(
    '/api/v1/admins/:id/sessions',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'service' },
        params: OfAdmin,
        query: z.object(UuidPaging),
        returns: SessionEntry,
        list: true,
      },
      async ({ params, query, caller }) =>
        page(await adminSessions.list(params.id, query), query.limit, placeOfSession, (row) =>
          presentSession(row, caller.jti),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}/sessions:
   *   delete:
   *     tags: [Administrators]
   *     operationId: endSessionsOfAdmin
   *     summary: End all sessions of an administrator
   *     description: Every replica rejects their tokens as soon as this returns.
   */
  router.delete(
    '/api/v1/admins/:id/sessions',
    endpoint({ auth: CONFIRMED, params: OfAdmin, status: 204 }, ({ params, caller, request }) =>
      adminSessions.endAll(actorOf(caller, request), params.id),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}/sessions/{sessionId}:
   *   delete:
   *     tags: [Administrators]
   *     operationId: endSessionOfAdmin
   *     summary: End one session of an administrator
   *     description: Every replica rejects its token as soon as this returns.
   */
  router.delete(
    '/api/v1/admins/:id/sessions/:sessionId',
    endpoint({ auth: CONFIRMED, params: OneOfAdmin, status: 204 }, ({ params, caller, request }) =>
      adminSessions.end(actorOf(caller, request), params.id, params.sessionId),
    ),
  );
  return router;
}
