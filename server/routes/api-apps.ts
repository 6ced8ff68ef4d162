import { z } from 'zod';
import { requireConfirmed } from '../http/authenticate.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { WithSecret } from '../identity/api-app-rows.ts';
import type { ApiApps } from '../identity/api-apps.ts';
import type { LimitView } from '../payments/limits.ts';
import { DELETE_APP_ERRORS, ROTATE_APP_ERRORS, WRITE_APP_ERRORS } from './schemas/errors.ts';
import { Code, Flag, Id, Paging, SafeText, Timestamp, page } from './schemas/fields.ts';
import {
  ApiApp,
  ApiAppWithSecret,
  AppSettingsInput,
  PreparedSecret,
  Toggle,
  actorOf,
  presentApp,
} from './schemas/identity.ts';

const ByClientId = z.object({ client_id: Id });
const NewApp = AppSettingsInput.extend({
  project: Code.optional().describe('Code of the project; by default `default`.'),
}).meta({ id: 'NewApiApp' });
const AppChange = AppSettingsInput.partial().meta({ id: 'ApiAppChange' });

const Rotation = z
  .object({
    graceSeconds: z.int().min(0).max(604_800).default(0),
    revokeTokens: z.boolean().optional(),
    ...PreparedSecret,
  })
  .optional()
  .meta({ id: 'SecretRotation' });

const AppFilter = z.object({
  ...Paging,
  project: Code.optional(),
  enabled: Flag.optional(),
  name: SafeText(1, 128).optional(),
});

/**
 * Manages API applications. Only administrators may use these routes, because the first application must be created
 * before any other exists.
 */
export function apiAppRoutes({ apiApps }: { apiApps: ApiApps }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/api-apps:
   *   get:
   *     tags: [API applications]
   *     operationId: listApps
   *     summary: List applications
   */
  router.get(
    '/api/v1/api-apps',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: AppFilter, returns: ApiApp, list: true },
      async ({ query }) =>
        page(
          await apiApps.list(query),
          query.limit,
          ({ createdAt, clientId }) => ({ createdAt, id: clientId }),
          presentApp,
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps:
   *   post:
   *     tags: [API applications]
   *     operationId: createApp
   *     summary: Create an application
   *     description: >-
   *       The response contains `client_secret`, which is returned only once. The scopes `admin`, `config:*` and `cert:manage` require
   *       `trusted`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { name: shop, scopes: ['payment:write', 'payment:read'], allowedIps: [192.0.2.0/24] }
   */
  router.post(
    '/api/v1/api-apps',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'body', confirmed: 'where-live' },
        body: NewApp,
        returns: ApiAppWithSecret,
        status: 201,
        errors: WRITE_APP_ERRORS,
      },
      async ({ body, caller, request }) => {
        const { project = 'default', trusted = false, allowedIps = [] } = body;
        const { rateLimit = null, latePayment = null, remark = null } = body;
        const settings = { ...body, project, trusted, allowedIps, rateLimit, latePayment, remark };
        return presentOnce(await apiApps.create(actorOf(caller, request), settings));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}:
   *   get:
   *     tags: [API applications]
   *     operationId: getApp
   *     summary: Show an application
   */
  router.get(
    '/api/v1/api-apps/:client_id',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'app' }, params: ByClientId, returns: ApiApp },
      async ({ params }) => presentApp(await apiApps.get(params.client_id)),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}:
   *   put:
   *     tags: [API applications]
   *     operationId: updateApp
   *     summary: Update an application
   *     description: >-
   *       Omitted fields keep their values, null clears them; this also applies within `limits`. Removed scopes and addresses take
   *       effect for issued tokens, too. Unless Debug is on, a change that grants the application more requires that the password was
   *       confirmed within the last five minutes: more scopes or addresses, no address list, higher limits, trust, and every change of a
   *       trusted application.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { scopes: ['payment:read'], rateLimit: null, limits: { CNY: { perDay: 1000, ordersPerHour: null } } }
   */
  router.put(
    '/api/v1/api-apps/:client_id',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'app' },
        params: ByClientId,
        body: AppChange,
        returns: ApiApp,
        errors: WRITE_APP_ERRORS,
      },
      async ({ params, body, caller, request }) => {
        const mayWiden = () => requireConfirmed(caller, 'where-live');
        return presentApp(await apiApps.update(actorOf(caller, request), params.client_id, body, mayWiden));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/toggle:
   *   put:
   *     tags: [API applications]
   *     operationId: toggleApp
   *     summary: Enable or disable an application
   *     description: Without a body, the current state is inverted. Disabling revokes all tokens of the application.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/api/v1/api-apps/:client_id/toggle',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'app' },
        params: ByClientId,
        body: Toggle,
        returns: ApiApp,
        errors: WRITE_APP_ERRORS,
      },
      async ({ params, body, caller, request }) => {
        const mayEnable = () => requireConfirmed(caller, 'where-live');
        return presentApp(await apiApps.toggle(actorOf(caller, request), params.client_id, body?.enabled, mayEnable));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/rotate-secret:
   *   post:
   *     tags: [API applications]
   *     operationId: rotateAppSecret
   *     summary: Rotate the client secret
   *     description: >-
   *       The response contains the new secret, which is returned only once. Without a grace period, the old secret and all tokens are
   *       revoked immediately. With a grace period, the old secret stays valid until `previousSecretExpiresAt`. With `prepare`, the old
   *       secret does not expire yet: for 15 minutes the new secret works in addition to it (but no longer a secret from an earlier
   *       rotation). The new secret replaces the old one when a second request to this operation sends it as `secret`. So the old secret
   *       stays valid until you have stored the new one.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { graceSeconds: 3600 }
   */
  router.post(
    '/api/v1/api-apps/:client_id/rotate-secret',
    endpoint(
      {
        auth: { admin: 'admin', projectScope: 'app', confirmed: 'where-live' },
        params: ByClientId,
        body: Rotation,
        returns: ApiAppWithSecret,
        errors: ROTATE_APP_ERRORS,
      },
      async ({ params, body, caller, request }) => {
        const rotation = body ?? { graceSeconds: 0 };
        return presentOnce(await apiApps.rotateSecret(actorOf(caller, request), params.client_id, rotation));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/revoke-tokens:
   *   post:
   *     tags: [API applications]
   *     operationId: revokeAppTokens
   *     summary: Revoke all tokens of an application
   */
  router.post(
    '/api/v1/api-apps/:client_id/revoke-tokens',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'app' }, params: ByClientId, returns: ApiApp },
      async ({ params, caller, request }) =>
        presentApp(await apiApps.revokeTokens(actorOf(caller, request), params.client_id)),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}:
   *   delete:
   *     tags: [API applications]
   *     operationId: deleteApp
   *     summary: Delete an application
   *     description: Revokes all tokens of the application. An application with orders cannot be deleted; disable it instead.
   */
  router.delete(
    '/api/v1/api-apps/:client_id',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'app' }, params: ByClientId, status: 204, errors: DELETE_APP_ERRORS },
      ({ params, caller, request }) => apiApps.remove(actorOf(caller, request), params.client_id),
    ),
  );
  return router;
}

function presentOnce({ app, secret }: WithSecret) {
  return { ...presentApp(app), client_secret: secret };
}

const Limit = z
  .object({
    currency: z.string(),
    limit: z.enum(['perOrder', 'perDay', 'perMonth', 'refundPerDay', 'ordersPerHour']),
    allowed: z.number().describe('The limit in major units; for `ordersPerHour`, a number of orders.'),
    used: z
      .number()
      .nullable()
      .describe('Used part of the limit in the period that ends at `resetsAt`; null for `perOrder`.'),
    left: z.number(),
    resetsAt: Timestamp.nullable(),
  })
  .meta({ id: 'Limit' });

/** The payment limits of an application with their remaining amounts, for the application and administrators. */
export function limitRoutes({ limitsOf }: { limitsOf: (clientId: string) => Promise<LimitView[]> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v2/limits:
   *   get:
   *     tags: [Application]
   *     operationId: listLimits
   *     summary: List the payment limits of the application of the token
   *     description: >-
   *       Allowed for any token. Only administrators can change the limits. If the application has no limits, the list is empty;
   *       otherwise it may use only the listed currencies. Days and months are those of Asia/Shanghai; hours begin at the full hour. The
   *       amount of an order that ends unpaid is subtracted from the used amount again.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 - { currency: CNY, limit: perDay, allowed: 1000, used: 120, left: 880, resetsAt: '2030-01-31T16:00:00.000Z' }
   */
  router.get(
    '/api/v2/limits',
    endpoint({ auth: 'any-token', returns: z.array(Limit) }, ({ caller }) => limitsOf(caller.clientId)),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/limits:
   *   get:
   *     tags: [API applications]
   *     operationId: listLimitsOfApp
   *     summary: List the limits of an application and the remaining amounts
   */
  router.get(
    '/api/v1/api-apps/:client_id/limits',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'app' }, params: z.object({ client_id: Id }), returns: z.array(Limit) },
      ({ params }) => limitsOf(params.client_id),
    ),
  );
  return router;
}
