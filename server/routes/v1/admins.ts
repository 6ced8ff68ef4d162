import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { Admins } from '../../identity/admins.ts';
import type { SecondFactors } from '../../identity/second-factors.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { CONFIRMED } from '../wire/audience.ts';
import {
  CHANGE_ADMIN_ERRORS,
  CREATE_ADMIN_ERRORS,
  END_ADMIN_ERRORS,
  RESET_SECOND_FACTOR_ERRORS,
} from '../wire/errors.ts';
import { Paging } from '../wire/fields.ts';
import { actorOf, Admin, OnlyProjects, PasswordText, presentAdmin, Role, Toggle, Username } from '../wire/identity.ts';
import { page } from '../wire/page.ts';

const ById = z.object({ id: z.uuid() });

const NewAdmin = z
  .object({ username: Username, password: PasswordText, role: Role, projects: OnlyProjects.optional() })
  .meta({ id: 'NewAdmin' });

const AdminChange = z
  .object({
    role: Role.optional(),
    projects: OnlyProjects.optional(),
    password: PasswordText.optional(),
    enabled: z.boolean().optional(),
  })
  .meta({ id: 'AdminChange' });

/** What the routes of console accounts call. */
export interface AdminOperations {
  admins: Admins;
  secondFactors: Pick<SecondFactors, 'reset'>;
}

/** Console accounts. */
export function adminRoutes({ admins, secondFactors }: AdminOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/admins:
   *   get:
   *     tags: [Administrators]
   *     operationId: listAdmins
   *     summary: List administrators
   */
  router.get(
    '/api/v1/admins',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'service' },
        query: z.object({ ...Paging, username: Username.optional() }),
        returns: Admin,
        list: true,
      },
      async ({ query }) => page(await admins.list(query), query.limit, (row) => row, presentAdmin),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins:
   *   post:
   *     tags: [Administrators]
   *     operationId: createAdmin
   *     summary: Create an administrator
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { username: bob, password: nine-tidy-green-anchors, role: operator, projects: [books] }
   */
  router.post(
    '/api/v1/admins',
    endpoint(
      {
        auth: CONFIRMED,
        body: NewAdmin,
        returns: Admin,
        status: 201,
        errors: CREATE_ADMIN_ERRORS,
      },
      async ({ body, caller, request }) => presentAdmin(await admins.create(actorOf(caller, request), body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}:
   *   get:
   *     tags: [Administrators]
   *     operationId: getAdmin
   *     summary: Show an administrator
   */
  router.get(
    '/api/v1/admins/:id',
    endpoint({ auth: { admin: 'viewer', reach: 'service' }, params: ById, returns: Admin }, async ({ params }) =>
      presentAdmin(await admins.get(params.id)),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}:
   *   put:
   *     tags: [Administrators]
   *     operationId: updateAdmin
   *     summary: Update an administrator
   *     description: >-
   *       A new password, other projects or disabling end all sessions of the account. The last enabled administrator of all projects cannot be
   *       demoted, limited to projects or disabled.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { role: viewer }
   */
  router.put(
    '/api/v1/admins/:id',
    endpoint(
      { auth: CONFIRMED, params: ById, body: AdminChange, returns: Admin, errors: CHANGE_ADMIN_ERRORS },
      async ({ params, body, caller, request }) =>
        presentAdmin(await admins.update(actorOf(caller, request), params.id, body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}/toggle:
   *   put:
   *     tags: [Administrators]
   *     operationId: toggleAdmin
   *     summary: Enable or disable an administrator
   *     description: Without a body the state is toggled. Disabling ends all sessions of the account.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/admins/:id/toggle',
    endpoint(
      { auth: CONFIRMED, params: ById, body: Toggle, returns: Admin, errors: END_ADMIN_ERRORS },
      async ({ params, body, caller, request }) =>
        presentAdmin(await admins.toggle(actorOf(caller, request), params.id, body?.enabled)),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}/reset-second-factor:
   *   post:
   *     tags: [Administrators]
   *     operationId: resetSecondFactorOfAdmin
   *     summary: Remove the second factor of another administrator
   *     description: All sessions of the account end. For whoever lost authenticator and recovery codes.
   */
  router.post(
    '/api/v1/admins/:id/reset-second-factor',
    endpoint(
      { auth: CONFIRMED, params: ById, returns: Admin, errors: RESET_SECOND_FACTOR_ERRORS },
      async ({ params, caller, request }) => {
        await secondFactors.reset(caller, actorOf(caller, request), params.id);
        return presentAdmin(await admins.get(params.id));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}:
   *   delete:
   *     tags: [Administrators]
   *     operationId: deleteAdmin
   *     summary: Delete an administrator
   *     description: All sessions of the account end immediately.
   */
  router.delete(
    '/api/v1/admins/:id',
    endpoint({ auth: CONFIRMED, params: ById, status: 204, errors: END_ADMIN_ERRORS }, ({ params, caller, request }) =>
      admins.remove(actorOf(caller, request), params.id),
    ),
  );
  return router;
}
