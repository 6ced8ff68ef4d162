import { z } from 'zod';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { AdminSessions, Sessions } from '../identity/sessions.ts';
import { noCookies, sessionCookies } from './login.ts';
import { CHANGE_PASSWORD_ERRORS, CONFIRM_ERRORS } from './schemas/errors.ts';
import { Timestamp, UuidPaging, page } from './schemas/fields.ts';
import {
  BySessionId,
  CodeText,
  FactorState,
  OnlyProjects,
  PasswordText,
  Role,
  SessionEntry,
  actorOf,
  placeOfSession,
  presentSession,
} from './schemas/identity.ts';

const Me = z
  .object({ id: z.uuid(), username: z.string(), role: Role, projects: OnlyProjects, secondFactor: FactorState })
  .meta({ id: 'AdminMe' });

const code = CodeText.optional().describe('Required if the account has a second factor.');

const PasswordChange = z
  .object({ currentPassword: PasswordText, code, newPassword: PasswordText })
  .meta({ id: 'PasswordChange' });

const PasswordConfirmation = z.object({ password: PasswordText, code }).meta({ id: 'PasswordConfirmation' });

const Confirmed = z
  .object({
    confirmedUntil: Timestamp,
    token: z
      .string()
      .describe('Token of the new session. Use it instead of the token of the request, whose session ends.'),
    tokenType: z.literal('Bearer'),
    /** Seconds until the token expires. */
    expiresIn: z.int(),
  })
  .meta({ id: 'PasswordConfirmed' });

const Changed = z.object({ sessionsEnded: z.literal(true) }).meta({ id: 'PasswordChanged' });

interface MeOperations {
  sessions: Sessions;
  adminSessions: AdminSessions;
}

/** Routes with which administrators manage their own account: password, confirmation and sessions. */
export function meRoutes({ sessions, adminSessions }: MeOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/me:
   *   get:
   *     tags: [Session]
   *     operationId: getMe
   *     summary: Get your own account
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 { id: 5f0c8f4e-6f0f-4d7c-9d8e-2b1f0c6a7e11, username: alice, role: admin, projects: null, secondFactor: used }
   */
  router.get(
    '/api/v1/me',
    endpoint({ auth: { admin: 'viewer', projectScope: 'own', enrolling: true }, returns: Me }, ({ caller }) => ({
      ...caller,
      projects: caller.projects && [...caller.projects],
    })),
  );

  /**
   * @openapi
   * /api/v1/me/password:
   *   post:
   *     tags: [Session]
   *     operationId: changePassword
   *     summary: Change your own password
   *     description: >-
   *       Ends all sessions of the account, including this one. The new password must have at least 12 characters and must not be a
   *       common password, a sequence or a repetition.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { currentPassword: correct-battery-7-staple, newPassword: seven-more-quiet-otters }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { sessionsEnded: true } }
   */
  router.post(
    '/api/v1/me/password',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'own' },
        body: PasswordChange,
        returns: Changed,
        errors: CHANGE_PASSWORD_ERRORS,
      },
      async ({ body, caller, request }) => {
        const change = { password: body.currentPassword, code: body.code, next: body.newPassword };
        await sessions.changePassword(caller, actorOf(caller, request), change);
        return new Reply({ cookies: noCookies, data: { sessionsEnded: true } });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/me/confirm:
   *   post:
   *     tags: [Session]
   *     operationId: confirmPassword
   *     summary: Confirm your own password and second factor
   *     description: >-
   *       Some operations require that the password (and a code, if the account has a second factor) was entered in this session within
   *       the last five minutes, at login or with this operation. Otherwise they return 403 `password_confirmation_required`. These
   *       operations are all changes of administrators and of second factors. Unless Debug is on, they are also: changes of channel
   *       configurations, certificates and trusted applications; credentials of applications that are issued or extended; coins above
   *       `Approval.CoinsAbove`; approvals; and refunds and accepted amounts above `Approval.RefundAbove`. A confirmation starts a new
   *       session with a new token and new cookies, and ends the session of the request. Safe methods work with the old token for 30
   *       more seconds. Wrong passwords and codes count as failed logins.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { password: correct-battery-7-staple }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data: { confirmedUntil: '2026-01-31T12:05:00.000Z', token: eyJhbGciOi…, tokenType: Bearer, expiresIn: 86400 }
   */
  router.post(
    '/api/v1/me/confirm',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'own', enrolling: true },
        body: PasswordConfirmation,
        returns: Confirmed,
        errors: CONFIRM_ERRORS,
      },
      async ({ body, caller, request }) => {
        const userAgent = request.headers['user-agent']?.toString();
        const session = await sessions.confirm(caller, actorOf(caller, request), body, userAgent);
        const { token, expiresIn } = session;
        const confirmedUntil = session.confirmedUntil.toISOString();
        return new Reply({
          cookies: sessionCookies(session),
          data: { confirmedUntil, token, tokenType: 'Bearer', expiresIn },
        });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/me/sessions:
   *   get:
   *     tags: [Session]
   *     operationId: listSessions
   *     summary: List your own sessions
   */
  router.get(
    '/api/v1/me/sessions',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'own' },
        query: z.object(UuidPaging),
        returns: SessionEntry,
        list: true,
      },
      async ({ query, caller }) =>
        page(await adminSessions.list(caller.id, query), query.limit, placeOfSession, (row) =>
          presentSession(row, caller.jti),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/me/sessions/{id}:
   *   delete:
   *     tags: [Session]
   *     operationId: endSession
   *     summary: End one of your own sessions
   *     description: Every replica rejects the token of the session as soon as the response is sent. The current session may end itself.
   */
  router.delete(
    '/api/v1/me/sessions/:id',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'own' }, params: BySessionId, status: 204 },
      ({ params, caller, request }) => adminSessions.end(actorOf(caller, request), caller.id, params.id),
    ),
  );
  return router;
}

const AppMe = z
  .object({
    client_id: z.string(),
    name: z.string(),
    project: z.string(),
    scopes: z.array(z.string()),
    mode: z.enum(['live', 'test']),
  })
  .meta({ id: 'AppMe' });

/** Route for applications: returns the application to which the access token of the request belongs. */
export function appMeRoutes(): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/me:
   *   get:
   *     tags: [Application]
   *     operationId: getOwnApp
   *     summary: Get the application of the token
   *     description: >-
   *       Allowed for any token. `mode` is `test` if Debug is on or the environment is staging; then no order moves real money.
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
