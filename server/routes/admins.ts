import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { AdminSessions } from '../identity/sessions.ts';
import type { Admins } from '../identity/admins.ts';
import type { SecondFactors } from '../identity/second-factors.ts';
import { CONFIRMED } from './schemas/audience.ts';
import {
  CHANGE_ADMIN_ERRORS,
  CREATE_ADMIN_ERRORS,
  END_ADMIN_ERRORS,
  RESET_SECOND_FACTOR_ERRORS,
} from './schemas/errors.ts';
import { Paging, UuidPaging, page } from './schemas/fields.ts';
import {
  Admin,
  OnlyProjects,
  PasswordText,
  Role,
  SessionEntry,
  Toggle,
  Username,
  actorOf,
  placeOfSession,
  presentAdmin,
  presentSession,
} from './schemas/identity.ts';

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

interface AdminOperations {
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
        auth: { admin: 'viewer', projectScope: 'service' },
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
    endpoint({ auth: { admin: 'viewer', projectScope: 'service' }, params: ById, returns: Admin }, async ({ params }) =>
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
   *       A new password, a change of the projects, or disabling the account ends all of its sessions. The last enabled administrator of
   *       all projects cannot be demoted, limited to projects or disabled.
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
   *     description: Without a body, the current state is inverted. Disabling ends all sessions of the account.
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
   *     description: For an administrator who lost the authenticator and the recovery codes. All sessions of that account end.
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

const OfAdmin = z.object({ id: z.uuid() });
const OneOfAdmin = OfAdmin.extend({ sessionId: z.uuid() });

/** Routes for administrators: list and end the sessions of other administrators. */
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
        auth: { admin: 'admin', projectScope: 'service' },
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
   *     description: Every replica rejects the tokens of these sessions as soon as the response is sent.
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
   *     description: Every replica rejects the token of the session as soon as the response is sent.
   */
  router.delete(
    '/api/v1/admins/:id/sessions/:sessionId',
    endpoint({ auth: CONFIRMED, params: OneOfAdmin, status: 204 }, ({ params, caller, request }) =>
      adminSessions.end(actorOf(caller, request), params.id, params.sessionId),
    ),
  );
  return router;
}
