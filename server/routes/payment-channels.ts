import type { PublicChannel } from '../credentials/status.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { presentPublicChannel, PublicChannelEntry } from './wire/credentials.ts';
import { z } from 'zod';

/** Which channels there are, for everybody. */
export function paymentChannelRoutes({ publicChannels }: { publicChannels(): Promise<PublicChannel[]> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/payment/channels:
   *   get:
   *     tags: [Service]
   *     operationId: listChannels
   *     summary: List available channels
   *     description: The channels of the project `default`; always three entries, without account ids or error details.
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
