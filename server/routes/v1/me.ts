import { z } from 'zod';
import { endpoint, Reply } from '../../http/endpoint.ts';
import type { Sessions } from '../../identity/sessions.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { noCookies } from '../login.ts';
import { CHANGE_PASSWORD_ERRORS, CONFIRM_ERRORS } from '../wire/errors.ts';
import { Timestamp } from '../wire/fields.ts';
import { actorOf, PasswordText, Role } from '../wire/identity.ts';

const Me = z.object({ id: z.uuid(), username: z.string(), role: Role }).meta({ id: 'AdminMe' });

const PasswordChange = z
  .object({ currentPassword: PasswordText, newPassword: PasswordText })
  .meta({ id: 'PasswordChange' });

const PasswordConfirmation = z.object({ password: PasswordText }).meta({ id: 'PasswordConfirmation' });

const Confirmed = z.object({ confirmedUntil: Timestamp }).meta({ id: 'PasswordConfirmed' });

const Changed = z.object({ sessionsEnded: z.literal(true) }).meta({ id: 'PasswordChanged' });

/** The administrator's own account. */
export function meRoutes({ sessions }: { sessions: Sessions }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/me:
   *   get:
   *     tags: [Session]
   *     summary: Get the own account
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { id: 5f0c8f4e-6f0f-4d7c-9d8e-2b1f0c6a7e11, username: alice, role: admin } }
   */
  router.get(
    '/api/v1/me',
    endpoint({ auth: { admin: 'viewer' }, returns: Me }, ({ caller }) => caller),
  );

  /**
   * @openapi
   * /api/v1/me/password:
   *   post:
   *     tags: [Session]
   *     summary: Change the own password
   *     description: Ends all sessions of the account, including this one. At least 12 characters, and not a common password.
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
        auth: { admin: 'viewer' },
        body: PasswordChange,
        returns: Changed,
        errors: CHANGE_PASSWORD_ERRORS,
      },
      async ({ body, caller, request }) => {
        const change = { current: body.currentPassword, next: body.newPassword };
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
   *     summary: Confirm the own password
   *     description: >-
   *       Changing administrators, and outside Debug channel configurations, certificates and trusted applications, requires a
   *       password that was given in this session within the last five minutes, by login or here; otherwise they return
   *       403 `password_confirmation_required`. Wrong passwords count as failed logins.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { password: correct-battery-7-staple }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { confirmedUntil: '2026-01-31T12:05:00.000Z' } }
   */
  router.post(
    '/api/v1/me/confirm',
    endpoint(
      {
        auth: { admin: 'viewer' },
        body: PasswordConfirmation,
        returns: Confirmed,
        errors: CONFIRM_ERRORS,
      },
      async ({ body, caller, request }) => {
        const until = await sessions.confirm(caller, actorOf(caller, request), body.password);
        return { confirmedUntil: until.toISOString() };
      },
    ),
  );
  return router;
}
