import type { ChannelConfigs } from '../../credentials/configs.ts';
import { endpoint } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import {
  ByPayWay,
  ChannelConfig,
  ConfigBody,
  ConfigSchema,
  InProject,
  presentConfig,
  presentProbe,
  presentSchema,
  ProbeAnswer,
  wholePage,
} from '../wire/credentials.ts';
import { actorOf, Toggle } from '../wire/identity.ts';

/** Channel configurations of every project. */
export function channelConfigRoutes({ configs, now }: { configs: ChannelConfigs; now: () => Date }): RouteGroup {
  const router = routeGroup('/api/v1/payment/config');

  /**
   * @openapi
   * /api/v1/payment/config/list:
   *   get:
   *     tags: [Channel configuration]
   *     summary: List channel configurations
   *     description: One entry for each channel, configured or not; secrets are `***` with a fingerprint.
   */
  router.get(
    '/list',
    endpoint({ auth: { admin: 'viewer' }, query: InProject, returns: ChannelConfig, list: true }, async ({ query }) => {
      const views = await configs.list(query.project);
      return wholePage(views.map((view) => presentConfig(view, now())));
    }),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}:
   *   get:
   *     tags: [Channel configuration]
   *     summary: Read a channel configuration
   *     description: Secrets are `***` with a fingerprint; `missing` names what a usable configuration still lacks.
   */
  router.get(
    '/:payWay',
    endpoint(
      { auth: { admin: 'viewer' }, params: ByPayWay, query: InProject, returns: ChannelConfig },
      async ({ params, query }) => presentConfig(await configs.read(query.project, params.payWay), now()),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/schema:
   *   get:
   *     tags: [Channel configuration]
   *     summary: What a channel wants to know
   *     description: Its fields and certificate kinds, and which of them each mode needs.
   */
  router.get(
    '/:payWay/schema',
    endpoint({ auth: { admin: 'viewer' }, params: ByPayWay, query: InProject, returns: ConfigSchema }, ({ params }) =>
      presentSchema(configs.schema(params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}:
   *   post:
   *     tags: [Channel configuration]
   *     summary: Write a channel configuration
   *     description: >
   *       Makes a new version, at once on every instance. A member that is left out or `***` keeps its value, null clears it; a PEM
   *       under the name of a certificate kind becomes the default certificate of that kind.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { mode: sandbox, clientId: AeA1QIZXiflr1_-r0U2UbWTziOWX1GRQer5jkUq4, clientSecret: '***', webhookId: 8PT597110X687430L }
   */
  router.post(
    '/:payWay',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByPayWay,
        query: InProject,
        body: ConfigBody,
        returns: ChannelConfig,
        errors: ['debug_refuses_live', 'configuration_broken'],
      },
      async ({ params, query, body, caller, request }) =>
        presentConfig(
          await configs.write({ actor: actorOf(caller, request), project: query.project }, params.payWay, body),
          now(),
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/test:
   *   post:
   *     tags: [Channel configuration]
   *     summary: Test a channel configuration
   *     description: One harmless signed call to the channel; `field` says which credential is wrong.
   */
  router.post(
    '/:payWay/test',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByPayWay,
        query: InProject,
        returns: ProbeAnswer,
        errors: ['channel_not_configured', 'configuration_broken'],
      },
      async ({ params, query }) => presentProbe(await configs.probe(query.project, params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/toggle:
   *   put:
   *     tags: [Channel configuration]
   *     summary: Enable or disable a channel
   *     description: Disabled, it refuses new orders only; query, close, refund and notices go on. Without `enabled` it flips.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/:payWay/toggle',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: ByPayWay,
        query: InProject,
        body: Toggle,
        returns: ChannelConfig,
        errors: ['channel_not_configured'],
      },
      async ({ params, query, body, caller, request }) =>
        presentConfig(
          await configs.toggle(
            { actor: actorOf(caller, request), project: query.project },
            params.payWay,
            body?.enabled,
          ),
          now(),
        ),
    ),
  );
  return router;
}
