import { z } from 'zod';
import { CSRF_COOKIE, sentSessions, SESSION_COOKIE } from '../http/cookies.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import type { NewSession as BegunSession, Sessions } from '../identity/sessions.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { LOGIN_ERRORS } from './schemas/errors.ts';
import { actorOf, CodeText, FactorState, PasswordText, Role } from './schemas/identity.ts';

const Credentials = z
  .object({
    username: z.string().min(1).max(64),
    password: PasswordText,
    code: CodeText.optional().describe('Required if the account has a second factor.'),
  })
  .meta({ id: 'LoginRequest' });

const NewSession = z
  .object({
    token: z.string(),
    tokenType: z.literal('Bearer'),
    /** Seconds until the session ends. */
    expiresIn: z.int(),
    username: z.string(),
    role: Role,
    secondFactor: FactorState,
  })
  .meta({ id: 'AdminSession' });

const LoggedOut = z.object({ loggedOut: z.literal(true) }).meta({ id: 'LoggedOut' });
const LogoutRequest = z.object({ everywhere: z.boolean().default(false) }).optional();

/** Cookies that remove a session from the browser. */
export const noCookies = [
  { name: SESSION_COOKIE, value: null, hostToo: true },
  { name: CSRF_COOKIE, value: null, hostToo: true, httpOnly: false },
];

/** The cookies of a new session. */
export function sessionCookies({
  token,
  csrfToken,
  expiresIn,
}: Pick<BegunSession, 'token' | 'csrfToken' | 'expiresIn'>) {
  return [
    { name: SESSION_COOKIE, value: token, hostToo: true, maxAgeSeconds: expiresIn },
    { name: CSRF_COOKIE, value: csrfToken, hostToo: true, httpOnly: false, maxAgeSeconds: expiresIn },
  ];
}

/** Administrator sessions: login and logout. */
export function loginRoutes({ sessions }: { sessions: Sessions }): RouteGroup {
  const router = routeGroup('/api/v1');

  /**
   * @openapi
   * /api/v1/login:
   *   post:
   *     tags: [Session]
   *     operationId: login
   *     summary: Log in as an administrator
   *     description: >-
   *       Returns a token and sets the cookies `auth_token` (HttpOnly) and `csrf_token`. Over https it also sets `__Host-auth_token`,
   *       which browsers must send, and `__Host-csrf_token`, which takes precedence over `csrf_token`. If the request contains the
   *       cookie of a session, that session ends. An unknown username, a wrong password and a wrong code get the same response. If the
   *       account has a second factor and the password is right, a request without a `code` gets 401 `second_factor_required`: send the
   *       same request again with the code. Each code works only once. Both refusals count as failed logins. Returns 503
   *       `not_bootstrapped` until the first administrator exists.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { username: alice, password: correct-battery-7-staple }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 { token: eyJhbGciOi…, tokenType: Bearer, expiresIn: 86400, username: alice, role: admin, secondFactor: none }
   */
  router.post(
    '/login',
    endpoint(
      {
        auth: 'none',
        sameSite: true,
        body: Credentials,
        returns: NewSession,
        errors: LOGIN_ERRORS,
      },
      async ({ body, request }) => {
        const session = await sessions.login({
          ...body,
          ip: request.ip,
          requestId: request.id,
          userAgent: request.headers['user-agent']?.toString(),
          replaces: sentSessions(request.headers.cookie?.toString()),
        });
        const { token, expiresIn, username, role, secondFactor } = session;
        return new Reply({
          cookies: sessionCookies(session),
          data: { token, tokenType: 'Bearer', expiresIn, username, role, secondFactor },
        });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/logout:
   *   post:
   *     tags: [Session]
   *     operationId: logout
   *     summary: End the session
   *     description: Every replica rejects the token as soon as the response is sent; `everywhere` ends all sessions of the account.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { everywhere: false }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { data: { loggedOut: true } }
   */
  router.post(
    '/logout',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'own', enrolling: true }, body: LogoutRequest, returns: LoggedOut },
      async ({ body, caller, request }) => {
        await sessions.logout(caller, actorOf(caller, request), body?.everywhere ?? false);
        return new Reply({ cookies: noCookies, data: { loggedOut: true } });
      },
    ),
  );
  return router;
}
