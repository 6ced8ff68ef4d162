import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { Admins } from '../../identity/admins.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { CONFIRMED } from '../wire/audience.ts';
import { CHANGE_ADMIN_ERRORS, CREATE_ADMIN_ERRORS, END_ADMIN_ERRORS } from '../wire/errors.ts';
import { Paging } from '../wire/fields.ts';
import { actorOf, Admin, PasswordText, presentAdmin, Role, Toggle, Username } from '../wire/identity.ts';
import { page } from '../wire/page.ts';

const ById = z.object({ id: z.uuid() });

const NewAdmin = z.object({ username: Username, password: PasswordText, role: Role }).meta({ id: 'NewAdmin' });

const AdminChange = z
  .object({ role: Role.optional(), password: PasswordText.optional(), enabled: z.boolean().optional() })
  .meta({ id: 'AdminChange' });

/** Console accounts. */
export function adminRoutes({ admins }: { admins: Admins }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/admins:
   *   get:
   *     tags: [Administrators]
   *     summary: List administrators
   */
  router.get(
    '/api/v1/admins',
    endpoint(
      {
        auth: { admin: 'viewer' },
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
   *     summary: Create an administrator
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { username: bob, password: nine-tidy-green-anchors, role: viewer }
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
   *     summary: Show an administrator
   */
  router.get(
    '/api/v1/admins/:id',
    endpoint({ auth: { admin: 'viewer' }, params: ById, returns: Admin }, async ({ params }) =>
      presentAdmin(await admins.get(params.id)),
    ),
  );

  /**
   * @openapi
   * /api/v1/admins/{id}:
   *   put:
   *     tags: [Administrators]
   *     summary: Update an administrator
   *     description: A new password or disabling ends all sessions of the account. The last enabled administrator cannot be demoted or disabled.
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
   * /api/v1/admins/{id}:
   *   delete:
   *     tags: [Administrators]
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
