import { z } from 'zod';
import { NotFound } from '../errors.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { PAY_WAYS } from '../payments/channel.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { Code } from './schemas/fields.ts';

/** Acknowledges a notification: a word for Alipay and PayPal, a JSON object for WeChat Pay. */
const acknowledgement = {
  'text/plain': 'text',
  'application/json': z.object({ code: z.enum(['SUCCESS', 'FAIL']), message: z.string() }).meta({ id: 'WeChatAck' }),
} as const;

/** Receives the channels' notifications; only the channel's signature authenticates them. */
export function notifyRoutes({ receiveNotification }: Pick<PaymentOperations, 'receiveNotification'>): RouteGroup {
  // Also accepts a final slash: the address is typed into the channel's console, and some consoles and proxies add one.
  const router = routeGroup('/notify', { strict: false });

  /**
   * @openapi
   * /notify/{payWay}/{project}:
   *   post:
   *     tags: [Channel notices]
   *     operationId: receiveChannelNotice
   *     summary: Receive a channel notification
   *     description: The response has the format of the channel. `fail` asks the channel to send the notification again.
   *     responses:
   *       200:
   *         description: The notification was processed, now or earlier, or does not concern this service.
   *       400:
   *         description: The notification is not genuine, or its order is unknown. The body has the format of the channel.
   *       503:
   *         description: The channel did not confirm or explain the notification, or the order is so recent that it is not known yet. The channel must send the notification again.
   */
  router.post(
    '/:payWay/:project',
    endpoint(
      {
        auth: 'none',
        params: z.object({ payWay: z.enum(PAY_WAYS), project: Code }),
        accepts: ['raw'],
        raw: 'stream',
        answers: { 200: acknowledgement, 400: acknowledgement, 503: acknowledgement },
      },
      async ({ params, request }) => {
        const headers = singleHeaders(request.headers);
        const { payWay, project } = params;
        const { ack, result } = await receiveNotification(payWay, project, headers, request.rawBody, request.ip);
        if (result === 'not_configured') throw new NotFound('channel');
        return new Reply({ status: ack.status, headers: { 'content-type': ack.contentType }, body: ack.body });
      },
    ),
  );
  return router;
}

/** Removes headers that were sent more than once, because the signature covers only one of the values. */
function singleHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? undefined : value]),
  );
}
