import type { ChannelConfigs } from '../../credentials/configs.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import {
  appActorOf,
  ByPayWay,
  ChannelConfig,
  ConfigSchema,
  OwnConfigBody,
  presentConfig,
  presentProbe,
  presentSchema,
  ProbeAnswer,
  wholePage,
} from '../wire/credentials.ts';
import { Toggle } from '../wire/identity.ts';

/** Channel configurations of the token's own project. */
export function ownChannelConfigRoutes({ configs, now }: { configs: ChannelConfigs; now: () => Date }): RouteGroup {
  const router = routeGroup('/api/v2/payment/config');

  /**
   * @openapi
   * /api/v2/payment/config/list:
   *   get:
   *     tags: [Channel configuration]
   *     summary: List channel configurations
   *     description: One entry for each channel, configured or not; secrets are `***` with a fingerprint. Always of the project of the token.
   */
  router.get(
    '/list',
    endpoint({ auth: { scope: 'config:read' }, returns: ChannelConfig, list: true }, async ({ caller }) => {
      const views = await configs.list(caller.project);
      return wholePage(views.map((view) => presentConfig(view, now())));
    }),
  );

  /**
   * @openapi
   * /api/v2/payment/config/{payWay}:
   *   get:
   *     tags: [Channel configuration]
   *     summary: Read a channel configuration
   *     description: Secrets are `***` with a fingerprint; `missing` names what a usable configuration still lacks. Always of the project of the token.
   */
  router.get(
    '/:payWay',
    endpoint({ auth: { scope: 'config:read' }, params: ByPayWay, returns: ChannelConfig }, async ({ params, caller }) =>
      presentConfig(await configs.read(caller.project, params.payWay), now()),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/config/{payWay}/schema:
   *   get:
   *     tags: [Channel configuration]
   *     summary: What a channel wants to know
   *     description: Its fields and certificate kinds, and which of them each mode needs.
   */
  router.get(
    '/:payWay/schema',
    endpoint({ auth: { scope: 'config:read' }, params: ByPayWay, returns: ConfigSchema }, ({ params }) =>
      presentSchema(configs.schema(params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/config/{payWay}:
   *   post:
   *     tags: [Channel configuration]
   *     summary: Write a channel configuration
   *     description: >
   *       Makes a new version, at once on every instance. A member that is left out or `***` keeps its value, null clears it; a PEM
   *       under the name of a certificate kind becomes the default certificate of that kind. Always of the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { mode: sandbox, clientId: AeA1QIZXiflr1_-r0U2UbWTziOWX1GRQer5jkUq4, clientSecret: '***', webhookId: 8PT597110X687430L }
   */
  router.post(
    '/:payWay',
    endpoint(
      {
        auth: { scope: 'config:write' },
        params: ByPayWay,

        body: OwnConfigBody,
        returns: ChannelConfig,
        errors: ['debug_refuses_live', 'configuration_broken'],
      },
      async ({ params, body, caller, request }) =>
        presentConfig(
          await configs.write({ actor: appActorOf(caller, request), project: caller.project }, params.payWay, body),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/config/{payWay}/test:
   *   post:
   *     tags: [Channel configuration]
   *     summary: Test a channel configuration
   *     description: One harmless signed call to the channel; `field` says which credential is wrong. Always of the project of the token.
   */
  router.post(
    '/:payWay/test',
    endpoint(
      {
        auth: { scope: 'config:write' },
        params: ByPayWay,

        returns: ProbeAnswer,
        errors: ['channel_not_configured', 'configuration_broken'],
      },
      async ({ params, caller }) => presentProbe(await configs.probe(caller.project, params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/config/{payWay}/toggle:
   *   put:
   *     tags: [Channel configuration]
   *     summary: Enable or disable a channel
   *     description: Disabled, it refuses new orders only; query, close, refund and notices go on. Without `enabled` it flips. Always of the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/:payWay/toggle',
    endpoint(
      {
        auth: { scope: 'config:write' },
        params: ByPayWay,

        body: Toggle,
        returns: ChannelConfig,
        errors: ['channel_not_configured'],
      },
      async ({ params, body, caller, request }) =>
        presentConfig(
          await configs.toggle(
            { actor: appActorOf(caller, request), project: caller.project },
            params.payWay,
            body?.enabled,
          ),
          now(),
        ),
    ),
  );
  return router;
}
