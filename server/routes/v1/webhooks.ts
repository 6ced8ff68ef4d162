import { z } from 'zod';
import type { WebhookOperations } from '../../events/webhooks.ts';
import { requireConfirmed } from '../../http/admin-auth.ts';
import { endpoint, Reply } from '../../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { ROTATE_WEBHOOK_ERRORS, SEND_EVENT_ERRORS, SET_WEBHOOK_ERRORS } from '../wire/errors.ts';
import { Delivery, Webhook, WebhookInput } from '../wire/events.ts';
import { Id, Paging } from '../wire/fields.ts';
import { actorOf, PreparedSecret } from '../wire/identity.ts';
import { pageOf } from '../wire/order-page.ts';

const ByClientId = z.object({ client_id: Id });
const Rotation = z
  .object({ graceSeconds: z.int().min(0).max(604_800).default(0), ...PreparedSecret })
  .optional()
  .meta({ id: 'WebhookSecretRotation' });
const DeliveriesQuery = z.object({
  ...Paging,
  state: z.enum(['pending', 'delivered', 'failed', 'cancelled']).optional(),
  eventId: Id.optional(),
});

/** Where an application is told what happened. */
export function webhookRoutes(webhooks: WebhookOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook:
   *   get:
   *     tags: [Webhooks]
   *     operationId: getWebhook
   *     summary: Get the webhook of an application
   */
  router.get(
    '/api/v1/api-apps/:client_id/webhook',
    endpoint({ auth: { admin: 'viewer', reach: 'app' }, params: ByClientId, returns: Webhook }, ({ params }) =>
      webhooks.get(params.client_id),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook:
   *   put:
   *     tags: [Webhooks]
   *     operationId: setWebhook
   *     summary: Set the webhook of an application
   *     description: >
   *       Omitted fields keep their values; without `types`, all types are sent. The response that creates it (201) contains the `whsec_` secret, shown only once.
   *       Messages are signed according to Standard Webhooks and retried for 72 hours; a receiver that returns 410 is disabled.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { url: 'https://shop.example/hooks', types: [order.paid, refund.succeeded], enabled: true }
   */
  router.put(
    '/api/v1/api-apps/:client_id/webhook',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'app' },
        params: ByClientId,
        body: WebhookInput,
        returns: Webhook,
        answers: { 201: { 'application/json': z.object({ data: Webhook }) } },
        errors: SET_WEBHOOK_ERRORS,
      },
      async ({ params, body, caller, request }) => {
        const mayRedirect = () => requireConfirmed(caller, 'where-live');
        const actor = actorOf(caller, request);
        const { created, webhook } = await webhooks.put(actor, params.client_id, body, mayRedirect);
        return new Reply({ status: created ? 201 : 200, data: webhook });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/rotate-secret:
   *   post:
   *     tags: [Webhooks]
   *     operationId: rotateWebhookSecret
   *     summary: Rotate the signing secret
   *     description: >-
   *       The response contains the new secret, shown only once. During the grace period every message is signed with both secrets.
   *       With `prepare` nothing ends yet: for 15 minutes messages are signed with both (and no more with one from an earlier
   *       rotation), and the new secret takes effect when the same request comes with it as `secret`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { graceSeconds: 86400 }
   */
  router.post(
    '/api/v1/api-apps/:client_id/webhook/rotate-secret',
    endpoint(
      {
        auth: { admin: 'admin', reach: 'app', confirmed: 'where-live' },
        params: ByClientId,
        body: Rotation,
        returns: Webhook,
        errors: ROTATE_WEBHOOK_ERRORS,
      },
      ({ params, body, caller, request }) => {
        return webhooks.rotateSecret(actorOf(caller, request), params.client_id, body ?? { graceSeconds: 0 });
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/test:
   *   post:
   *     tags: [Webhooks]
   *     operationId: testWebhook
   *     summary: Send a test message
   *     description: Sends one signed `webhook.test` without retries; the response has the result.
   */
  router.post(
    '/api/v1/api-apps/:client_id/webhook/test',
    endpoint(
      { auth: { admin: 'operator', reach: 'app' }, params: ByClientId, returns: Delivery, errors: SEND_EVENT_ERRORS },
      ({ params, caller, request }) => webhooks.test(actorOf(caller, request), params.client_id),
    ),
  );

  /**
   * @openapi
   * /api/v1/api-apps/{client_id}/webhook/deliveries:
   *   get:
   *     tags: [Webhooks]
   *     operationId: listDeliveries
   *     summary: List webhook deliveries
   *     description: Newest first, with all attempts.
   */
  router.get(
    '/api/v1/api-apps/:client_id/webhook/deliveries',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'app' },
        params: ByClientId,
        query: DeliveriesQuery,
        returns: Delivery,
        list: true,
      },
      async ({ params, query: { cursor, limit, ...filter } }) =>
        pageOf(await webhooks.deliveries({ clientId: params.client_id, ...filter }, cursor, limit)),
    ),
  );
  return router;
}
