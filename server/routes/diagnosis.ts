import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { PAY_WAYS } from '../payments/channel.ts';

/** The response of `GET /api/v1/diagnosis`. */
const Diagnosis = z
  .object({
    production: z.boolean().describe('`Server.Environment` is production or staging.'),
    consoleOpen: z.boolean().describe('`Server.AdminNetworks` is empty: `/api/v1` answers every address.'),
    explorer: z.boolean().describe('The API explorer is served.'),
    listensElsewhere: z
      .string()
      .nullable()
      .describe(
        'Host and port where the service listens, when `Server.PublicUrl` names another port of its own machine, so that links lead nowhere; null = they may lead here.',
      ),
    secondFactors: z
      .object({
        required: z.boolean().describe('`Admin.RequireSecondFactor` is set.'),
        administrators: z.int().describe('How many enabled accounts of administrators there are.'),
        without: z.int().describe('How many of them have no second factor.'),
      })
      .describe('Whether administrators must have a second factor, and how many have none.'),
    clockAheadSeconds: z.number().describe('By how much the clock of the replica is ahead of that of the database.'),
    due: z
      .array(
        z.object({
          kind: z.string().describe('Kind of work, such as `order` or `delivery`.'),
          rows: z.int().describe('How many rows of the kind wait.'),
          lagSeconds: z.number().describe('For how many seconds the oldest has been waiting.'),
        }),
      )
      .describe('Due work that no worker has started, by kind, and how long the oldest has been waiting.'),
    failingWebhooks: z
      .array(
        z.object({
          clientId: z.string(),
          retrying: z.int().describe('Deliveries that failed and are tried again.'),
          givenUp: z.int().describe('Deliveries that were given up within a day.'),
          lastError: z.string().nullable(),
        }),
      )
      .describe('Applications that webhooks do not reach; `givenUp` counts those of the last day.'),
    approvers: z
      .int()
      .nullable()
      .describe(
        'Number of accounts that may now approve a request of another account; null if `Approval.RefundAbove` is 0 and no request waits.',
      ),
    silentNotices: z
      .array(z.object({ project: z.string(), payWay: z.enum(PAY_WAYS), payments: z.int() }))
      .describe('Channels whose newest payments were found by queries, because no notification arrived.'),
  })
  .meta({ id: 'Diagnosis' });

/** The checks that only the running service can make, for `payctl doctor`. */
export function diagnosisRoutes({ diagnose }: { diagnose: () => Promise<z.input<typeof Diagnosis>> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/diagnosis:
   *   get:
   *     operationId: diagnoseService
   *     tags: [Service]
   *     summary: Diagnose the service
   *     description: For administrators. Facts for `payctl doctor` that no other operation returns; read anew each time.
   */
  router.get(
    '/api/v1/diagnosis',
    endpoint({ auth: { admin: 'viewer', projectScope: 'service' }, returns: Diagnosis }, () => diagnose()),
  );
  return router;
}
