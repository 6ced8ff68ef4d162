import { z } from 'zod';
import type { Users } from '../catalog/users.ts';
import type { Caller } from '../http/callers.ts';
import type { RequestFacts } from '../http/contract.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { forAdministrators, forApplications, projectOf } from './wire/audience.ts';
import { actorOf } from './wire/identity.ts';
import { page } from './wire/page.ts';
import { InProject, placeOf } from './wire/projects.ts';
import { ByUserId, presentUser, User, UserChange, UserInput, UsersQuery } from './wire/users.ts';

const anyProject = { ...forAdministrators('/api/v1/users'), filter: UsersQuery.extend(InProject.shape) };
const ownProject = { ...forApplications('/api/v2/users', 'user:read', 'user:write'), filter: UsersQuery };

const existing = { 200: { 'application/json': z.object({ data: User }) } };

/** Payers of every project. */
export function userRoutes(ports: { users: Users }): RouteGroup {
  return buildRoutes(ports, anyProject);
}

/** Payers of the calling application's project. */
export function ownUserRoutes(ports: { users: Users }): RouteGroup {
  return buildRoutes(ports, ownProject);
}

function buildRoutes({ users }: { users: Users }, audience: typeof anyProject | typeof ownProject): RouteGroup {
  const { prefix, read, write, query, filter } = audience;
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v1/users:
   *   get:
   *     tags: [Users]
   *     operationId: listUsersOfProject
   *     summary: List users
   * /api/v2/users:
   *   get:
   *     tags: [Payers]
   *     operationId: listUsers
   *     summary: List users of the own project
   */
  router.get(
    '/',
    endpoint({ auth: read, query: filter, returns: User, list: true }, async (input) => {
      const rows = await users.list({ ...input.query, project: projectOf(input) });
      return page(rows, input.query.limit, placeOf, (row) => presentUser(row));
    }),
  );

  /**
   * @openapi
   * /api/v1/users:
   *   post:
   *     tags: [Users]
   *     operationId: putUserOfProject
   *     summary: Create or update a user
   *     description: 201 if it was created, 200 if it existed.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover }
   * /api/v2/users:
   *   post:
   *     tags: [Payers]
   *     operationId: putUser
   *     summary: Create or update a user of the own project
   *     description: 201 if it was created, 200 if it existed. A payment creates its user, too.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { userId: user-1001, nickname: Tea lover, metadata: { level: gold } }
   */
  router.post(
    '/',
    endpoint({ auth: write, query, body: UserInput, returns: User, status: 201, answers: existing }, async (input) => {
      const { userId, ...patch } = input.body;
      const { user, isNew } = await users.upsert(auditedActor(input), { project: projectOf(input), userId }, patch);
      return new Reply({ status: isNew ? 201 : 200, data: presentUser(user) });
    }),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   get:
   *     tags: [Users]
   *     operationId: getUserOfProject
   *     summary: Get a user
   *     description: With the totals paid and refunded.
   * /api/v2/users/{userId}:
   *   get:
   *     tags: [Payers]
   *     operationId: getUser
   *     summary: Get a user of the own project
   */
  router.get(
    '/:userId',
    endpoint({ auth: read, params: ByUserId, query, returns: User }, async (input) => {
      const { user, totals } = await users.withTotals({ project: projectOf(input), ...input.params });
      return presentUser(user, totals);
    }),
  );

  /**
   * @openapi
   * /api/v1/users/{userId}:
   *   put:
   *     tags: [Users]
   *     operationId: updateUserOfProject
   *     summary: Update a user
   *     description: Omitted fields keep their values, null clears them.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { nickname: null }
   * /api/v2/users/{userId}:
   *   put:
   *     tags: [Payers]
   *     operationId: updateUser
   *     summary: Update a user of the own project
   *     description: Omitted fields keep their values, null clears them.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { phone: null }
   */
  router.put(
    '/:userId',
    endpoint({ auth: write, params: ByUserId, query, body: UserChange, returns: User }, async (input) => {
      const key = { project: projectOf(input), ...input.params };
      return presentUser(await users.update(auditedActor(input), key, input.body));
    }),
  );
  return router;
}

/** What a merchant says about its payers is not in the audit log. */
function auditedActor({ caller, request }: { caller: Caller; request: RequestFacts }) {
  return caller.kind === 'admin' ? actorOf(caller, request) : undefined;
}
