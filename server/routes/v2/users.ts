import type { Users } from '../../catalog/users.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Reply } from '../../http/reply.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { page } from '../wire/page.ts';
import { placeOf } from '../wire/projects.ts';
import { ByUserId, presentUser, User, UserChange, UserInput, UsersQuery } from '../wire/users.ts';

/** Payers of the calling application's project. */
export function ownUserRoutes({ users }: { users: Users }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/users:
   *   get:
   *     tags: [Users]
   *     summary: List payers of the own project
   */
  router.get(
    '/api/v2/users',
    endpoint(
      { auth: { scope: 'user:read' }, query: UsersQuery, returns: User, list: true },
      async ({ query, caller: { project } }) =>
        page(await users.list({ ...query, project }), query.limit, placeOf, (row) => presentUser(row)),
    ),
  );

  /**
   * @openapi
   * /api/v2/users:
   *   post:
   *     tags: [Users]
   *     summary: Create or change a payer of the own project
   *     description: 201 when it is new, 200 when it was there. A payment makes its payer too.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover, metadata: { level: gold } }
   */
  router.post(
    '/api/v2/users',
    endpoint(
      { auth: { scope: 'user:write' }, body: UserInput, returns: User, status: 201 },
      async ({ body: { userId, ...patch }, caller: { project } }) => {
        const { user, isNew } = await users.upsert(undefined, { project, userId }, patch);
        return new Reply({ status: isNew ? 201 : 200, data: presentUser(user) });
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/users/{userId}:
   *   get:
   *     tags: [Users]
   *     summary: Show a payer of the own project
   */
  router.get(
    '/api/v2/users/:userId',
    endpoint(
      { auth: { scope: 'user:read' }, params: ByUserId, returns: User },
      async ({ params, caller: { project } }) => {
        const { user, totals } = await users.withTotals({ project, ...params });
        return presentUser(user, totals);
      },
    ),
  );

  /**
   * @openapi
   * /api/v2/users/{userId}:
   *   put:
   *     tags: [Users]
   *     summary: Change a payer of the own project
   *     description: What is left out stays, null clears.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { phone: null }
   */
  router.put(
    '/api/v2/users/:userId',
    endpoint(
      { auth: { scope: 'user:write' }, params: ByUserId, body: UserChange, returns: User },
      async ({ params, body, caller: { project } }) =>
        presentUser(await users.update(undefined, { project, ...params }, body)),
    ),
  );
  return router;
}
