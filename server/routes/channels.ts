import { z } from 'zod';
import type { Credentials } from '../credentials/credentials.ts';
import type { PublicChannel } from '../credentials/status.ts';
import { requireScope } from '../http/authenticate.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { CONFIRMED_WHERE_LIVE, actingIn, forAdministrators, forApplications, projectOf } from './schemas/audience.ts';
import {
  ByPayWay,
  ChannelConfig,
  ConfigBody,
  ConfigSchema,
  DownloadAnswer,
  OwnConfigBody,
  ProbeAnswer,
  PublicChannelEntry,
  TestBody,
  Verdict,
  presentConfig,
  presentDownload,
  presentProbe,
  presentPublicChannel,
  presentSchema,
  presentVerdict,
  wholePage,
} from './schemas/credentials.ts';
import {
  REGISTER_NOTIFICATIONS_ERRORS,
  TEST_CONFIG_ERRORS,
  TOGGLE_CONFIG_ERRORS,
  WRITE_CONFIG_ERRORS,
} from './schemas/errors.ts';
import { Toggle } from './schemas/identity.ts';
import { languageHeaders, pageLanguage } from './schemas/language.ts';

interface ConfigPorts {
  configs: Credentials['configs'];
  now: () => Date;
}

const anyProject = {
  ...forAdministrators('/api/v1/payment/config'),
  probe: { admin: 'admin', projectScope: 'query' } as const,
  write: CONFIRMED_WHERE_LIVE,
  change: ConfigBody,
};
const ownProject = {
  ...forApplications('/api/v2/payment/config', 'config:read', 'config:write'),
  probe: { scope: 'config:write' } as const,
  change: OwnConfigBody,
};

/** Routes for administrators: manage the channel configurations of every project. */
export function channelConfigRoutes(ports: ConfigPorts): RouteGroup {
  return buildRoutes(ports, anyProject);
}

/** Routes for applications: manage the channel configurations of the project to which the access token belongs. */
export function ownChannelConfigRoutes(ports: ConfigPorts): RouteGroup {
  return buildRoutes(ports, ownProject);
}

function buildRoutes({ configs, now }: ConfigPorts, audience: typeof anyProject | typeof ownProject): RouteGroup {
  const { prefix, read, probe, write, query, change } = audience;
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v1/payment/config/list:
   *   get:
   *     tags: [Channel configuration]
   *     operationId: listChannelConfigsOfProject
   *     summary: List channel configurations
   *     description: One entry per channel, even if it is not configured. Secrets are shown as `***` with a fingerprint.
   * /api/v2/payment/config/list:
   *   get:
   *     tags: [Own channel configuration]
   *     operationId: listChannelConfigs
   *     summary: List channel configurations
   *     description: >-
   *       One entry per channel, even if it is not configured. Secrets are shown as `***` with a fingerprint. Applies to the project of
   *       the token.
   */
  router.get(
    '/list',
    endpoint({ auth: read, query, returns: ChannelConfig, list: true }, async (input) => {
      const views = await configs.list(projectOf(input));
      const language = pageLanguage(undefined, input.request);
      const data = wholePage(views.map((view) => presentConfig(view, now(), input.caller, language)));
      return new Reply({ data, headers: languageHeaders(language) });
    }),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}:
   *   get:
   *     tags: [Channel configuration]
   *     operationId: getChannelConfigOfProject
   *     summary: Get a channel configuration
   *     description: >-
   *       Secrets are shown as `***` with a fingerprint. `missing` lists the required fields and certificates that are not set yet.
   * /api/v2/payment/config/{payWay}:
   *   get:
   *     tags: [Own channel configuration]
   *     operationId: getChannelConfig
   *     summary: Get a channel configuration
   *     description: >-
   *       Secrets are shown as `***` with a fingerprint. `missing` lists the required fields and certificates that are not set yet.
   *       Applies to the project of the token.
   */
  router.get(
    '/:payWay',
    endpoint({ auth: read, params: ByPayWay, query, returns: ChannelConfig }, async (input) => {
      const language = pageLanguage(undefined, input.request);
      const view = await configs.read(projectOf(input), input.params.payWay);
      return new Reply({
        data: presentConfig(view, now(), input.caller, language),
        headers: languageHeaders(language),
      });
    }),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/schema:
   *   get:
   *     tags: [Channel configuration]
   *     operationId: getChannelSchemaOfProject
   *     summary: Get the configuration schema of a channel
   *     description: The fields and certificate kinds of the channel, and those that each mode requires.
   * /api/v2/payment/config/{payWay}/schema:
   *   get:
   *     tags: [Own channel configuration]
   *     operationId: getChannelSchema
   *     summary: Get the configuration schema of a channel
   *     description: The fields and certificate kinds of the channel, and those that each mode requires.
   */
  router.get(
    '/:payWay/schema',
    endpoint({ auth: read, params: ByPayWay, query, returns: ConfigSchema }, ({ params }) =>
      presentSchema(configs.schema(params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}:
   *   post:
   *     tags: [Channel configuration]
   *     operationId: writeChannelConfigOfProject
   *     summary: Write a channel configuration
   *     description: >-
   *       Creates a new version, which takes effect immediately on every instance. A field that is omitted or `***` keeps its value,
   *       null clears it. A PEM text under the name of a certificate kind becomes the default certificate of that kind.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { mode: sandbox, appId: '9021000000000000', sellerId: '2088000000000001' }
   * /api/v2/payment/config/{payWay}:
   *   post:
   *     tags: [Own channel configuration]
   *     operationId: writeChannelConfig
   *     summary: Write a channel configuration
   *     description: >-
   *       Creates a new version, which takes effect immediately on every instance. A field that is omitted or `***` keeps its value,
   *       null clears it. A PEM text under the name of a certificate kind becomes the default certificate of that kind. Applies to the
   *       project of the token. PEM texts, and null for them, also require the scope `cert:manage`. A certificate or key that verifies
   *       messages is not used, and does not replace the default, until an administrator trusts it.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { mode: sandbox, appId: '9021000000000000', sellerId: '2088000000000001' }
   */
  router.post(
    '/:payWay',
    endpoint(
      { auth: write, params: ByPayWay, query, body: change, returns: ChannelConfig, errors: WRITE_CONFIG_ERRORS },
      async (input) => {
        const { caller, params, body } = input;
        if (caller.kind === 'app' && configs.bringsCerts(params.payWay, body)) requireScope(caller, 'cert:manage');
        return presentConfig(await configs.write(actingIn(input), params.payWay, body), now(), input.caller);
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/test:
   *   post:
   *     tags: [Channel configuration]
   *     operationId: testChannelOfProject
   *     summary: Test a channel configuration
   *     description: >-
   *       Sends the channel signed requests that move no money, and lists the result for each credential and webhook that they test;
   *       `field` names the first faulty one. With `products` the test creates orders of a small amount and closes them immediately.
   *       These orders cannot be paid, because no payer receives their payment data. Orders of PayPal cannot be closed; they expire on
   *       their own.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { products: all }
   * /api/v2/payment/config/{payWay}/test:
   *   post:
   *     tags: [Own channel configuration]
   *     operationId: testChannel
   *     summary: Test a channel configuration
   *     description: >-
   *       Sends the channel signed requests that move no money, and lists the result for each credential and webhook that they test;
   *       `field` names the first faulty one. With `products` the test creates orders of a small amount and closes them immediately.
   *       These orders cannot be paid, because no payer receives their payment data. Orders of PayPal cannot be closed; they expire on
   *       their own. Applies to the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { products: all }
   */
  router.post(
    '/:payWay/test',
    endpoint(
      { auth: probe, params: ByPayWay, query, body: TestBody, returns: ProbeAnswer, errors: TEST_CONFIG_ERRORS },
      async (input) => {
        const [project, { payWay }] = [projectOf(input), input.params];
        const result = await configs.probe(project, payWay, input.body?.products);
        return presentProbe(result, await configs.read(project, payWay));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/notices:
   *   post:
   *     tags: [Channel configuration]
   *     operationId: registerChannelNoticesOfProject
   *     summary: Register for the notifications of a channel
   *     description: >-
   *       PayPal: finds or creates the webhook of the REST app for the notification URL of this project and the events that the service
   *       needs, and stores its ID as `webhookId`. WeChat Pay: registers the URL for complaints, unless the URL of another system is
   *       registered. Alipay: rejected with 400, because each order contains the URL. Calling the operation again changes nothing.
   * /api/v2/payment/config/{payWay}/notices:
   *   post:
   *     tags: [Own channel configuration]
   *     operationId: registerChannelNotices
   *     summary: Register for the notifications of a channel
   *     description: >-
   *       PayPal: finds or creates the webhook of the REST app for the notification URL of this project and the events that the service
   *       needs, and stores its ID as `webhookId`. WeChat Pay: registers the URL for complaints. Calling the operation again changes
   *       nothing. Applies to the project of the token.
   */
  router.post(
    '/:payWay/notices',
    endpoint(
      { auth: write, params: ByPayWay, query, returns: Verdict, errors: REGISTER_NOTIFICATIONS_ERRORS },
      async (input) => presentVerdict(await configs.registerNotifications(actingIn(input), input.params.payWay)),
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/certificates:
   *   post:
   *     tags: [Channel configuration]
   *     operationId: fetchChannelCertificatesOfProject
   *     summary: Download the certificates of a channel
   *     description: >-
   *       WeChat Pay: downloads the platform certificates, verified with the APIv3 key and their own signature. Alipay in certificate
   *       mode: downloads the public certificate that follows a trusted one, by its serial number. PayPal: rejected with 400. New
   *       certificates are trusted immediately, as with an upload by an administrator; existing certificates stay unchanged.
   * /api/v2/payment/config/{payWay}/certificates:
   *   post:
   *     tags: [Own channel configuration]
   *     operationId: fetchChannelCertificates
   *     summary: Download the certificates of a channel
   *     description: >-
   *       WeChat Pay: downloads the platform certificates, verified with the APIv3 key and their own signature. Alipay in certificate
   *       mode: downloads the public certificate that follows a trusted one, by its serial number. PayPal: rejected with 400. New
   *       certificates are not used until an administrator trusts them. The operation also requires the scope `cert:manage`.
   */
  router.post(
    '/:payWay/certificates',
    endpoint(
      { auth: write, params: ByPayWay, query, returns: DownloadAnswer, errors: REGISTER_NOTIFICATIONS_ERRORS },
      async (input) => {
        if (input.caller.kind === 'app') requireScope(input.caller, 'cert:manage');
        return presentDownload(await configs.downloadCerts(actingIn(input), input.params.payWay), now());
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/payment/config/{payWay}/toggle:
   *   put:
   *     tags: [Channel configuration]
   *     operationId: toggleChannelOfProject
   *     summary: Enable or disable a channel
   *     description: >-
   *       A disabled channel only refuses new orders; queries, closes, refunds and notifications continue. Without `enabled`, the
   *       current state is inverted.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   * /api/v2/payment/config/{payWay}/toggle:
   *   put:
   *     tags: [Own channel configuration]
   *     operationId: toggleChannel
   *     summary: Enable or disable a channel
   *     description: >-
   *       A disabled channel only refuses new orders; queries, closes, refunds and notifications continue. Without `enabled`, the
   *       current state is inverted. Applies to the project of the token.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { enabled: false }
   */
  router.put(
    '/:payWay/toggle',
    endpoint(
      { auth: write, params: ByPayWay, query, body: Toggle, returns: ChannelConfig, errors: TOGGLE_CONFIG_ERRORS },
      async (input) =>
        presentConfig(
          await configs.toggle(actingIn(input), input.params.payWay, input.body?.enabled),
          now(),
          input.caller,
        ),
    ),
  );
  return router;
}

/** Route that lists the available channels. Callers need no authentication. */
export function paymentChannelRoutes({ publicChannels }: { publicChannels(): Promise<PublicChannel[]> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/payment/channels:
   *   get:
   *     tags: [Service]
   *     operationId: listChannels
   *     summary: List available channels
   *     description: The channels of the project `default`. The list always has three entries, without account IDs and error details.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 - { payWay: alipay, name: Alipay, enabled: true, configured: true, mode: sandbox, status: up, lastSuccessAt: '2030-01-31T08:00:00.000Z' }
   */
  router.get(
    '/api/v1/payment/channels',
    endpoint({ auth: 'none', returns: z.array(PublicChannelEntry) }, async () =>
      (await publicChannels()).map(presentPublicChannel),
    ),
  );
  return router;
}
