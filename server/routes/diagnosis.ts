import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { PAY_WAYS } from '../payments/channel.ts';

const Diagnosis = z
  .object({
    production: z.boolean().describe('Whether `Server.Environment` is `production` or `staging`.'),
    consoleOpen: z
      .boolean()
      .describe('Whether `Server.AdminNetworks` is empty, so that every IP address can use `/api/v1`.'),
    explorer: z.boolean().describe('Whether the API explorer is served in production.'),
    listensElsewhere: z
      .string()
      .nullable()
      .describe(
        'Host and port on which the service listens, if `Server.PublicUrl` names another port of the same machine, so that links do not work; null = no such conflict.',
      ),
    secondFactors: z
      .object({
        required: z.boolean().describe('Whether `Admin.RequireSecondFactor` is set.'),
        administrators: z.int().describe('Number of enabled administrator accounts.'),
        without: z.int().describe('Number of enabled administrator accounts without a second factor.'),
      })
      .describe('Whether administrators must have a second factor, and how many have none.'),
    clockAheadSeconds: z
      .number()
      .describe('Seconds by which the clock of this replica is ahead of the database clock.'),
    due: z
      .array(
        z.object({
          kind: z.string().describe('Kind of work, such as `order` or `delivery`.'),
          rows: z.int().describe('Number of due rows of this kind.'),
          lagSeconds: z.number().describe('Seconds since the oldest of these rows became due.'),
        }),
      )
      .describe('Due work that no worker has started, by kind.'),
    failingWebhooks: z
      .array(
        z.object({
          clientId: z.string(),
          retrying: z.int().describe('Number of deliveries that failed and will be tried again.'),
          givenUp: z
            .int()
            .describe(
              'Number of deliveries that were given up within the last day, among the 10,000 deliveries that ended last.',
            ),
          lastError: z.string().nullable(),
        }),
      )
      .describe('Applications whose webhook deliveries fail.'),
    approvers: z
      .int()
      .nullable()
      .describe(
        'Number of accounts that may currently approve a request of at least one other account; null if `Approval.RefundAbove` is 0.',
      ),
    silentNotices: z
      .array(z.object({ project: z.string(), payWay: z.enum(PAY_WAYS), payments: z.int() }))
      .describe('Channels whose newest payments were found only by queries, because no notification arrived.'),
  })
  .meta({ id: 'Diagnosis' });

/** Route for `payctl doctor`: returns the checks that only the running service can make. */
export function diagnosisRoutes({ diagnose }: { diagnose: () => Promise<z.input<typeof Diagnosis>> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/diagnosis:
   *   get:
   *     operationId: diagnoseService
   *     tags: [Service]
   *     summary: Diagnose the service
   *     description: >-
   *       For administrators. Data for `payctl doctor` that no other operation returns. It is determined anew for each request.
   */
  router.get(
    '/api/v1/diagnosis',
    endpoint({ auth: { admin: 'viewer', projectScope: 'service' }, returns: Diagnosis }, () => diagnose()),
  );
  return router;
}
