import type Router from '@koa/router';
import type { Account } from '../accounts.ts';
import type { Core } from '../half.ts';
import { readVerifyRequest, readWebhookPatch, readWebhookRequest } from './order-request.ts';
import { notFound, refuse } from './refusals.ts';
import { json, type AddRoute } from './route.ts';
import { apiUrlOf } from './scenery.ts';
import { certificateId, certificatesOf, newPaypalId, setWebhooks, webhooksOf, type Webhook } from './secrets.ts';
import { fits } from './webhook-signature.ts';

/** Adds the webhook calls and the public certificates. */
export function addNotifications(router: Router, add: AddRoute, core: Core): void {
  router.get('/paypal/v1/notifications/certs/:id', async (ctx) => {
    const pem = findCertificate(core.accounts.of('paypal'), ctx.params['id'] ?? '');
    const answer =
      pem === undefined
        ? { status: 404, body: '' }
        : { status: 200, body: pem, headers: { 'Content-Type': 'application/x-x509-ca-cert' } };
    await core.answer(ctx, {
      payWay: 'paypal',
      account: '',
      call: 'certificate',
      act: () => answer,
      seal: (made) => made,
    });
  });
  addWebhooks(add, core);
  add('post', '/v1/notifications/verify-webhook-signature', {
    call: 'verify-webhook',
    act({ account, body }) {
      const {
        transmission_id: id,
        transmission_time: time,
        webhook_id: webhookId,
        cert_url: certUrl,
        ...rest
      } = readVerifyRequest(body);
      const pem = certUrl.startsWith(apiUrlOf(core))
        ? findCertificate([account], certUrl.split('/').at(-1) ?? '')
        : undefined;
      // PayPal re-writes the event as JSON, so only what was sent compactly verifies here.
      const event = Buffer.from(JSON.stringify(rest.webhook_event));
      const known =
        webhooksOf(account).some((webhook) => webhook.id === webhookId) && rest.auth_algo === 'SHA256withRSA';
      const good =
        known && pem !== undefined && fits(event, { id, time, webhookId, certUrl }, rest.transmission_sig, pem);
      return json(200, { verification_status: good ? 'SUCCESS' : 'FAILURE' });
    },
  });
}

function addWebhooks(add: AddRoute, core: Core): void {
  const path = '/v1/notifications/webhooks';
  add('get', path, {
    call: 'webhooks',
    act: ({ account }) => json(200, { webhooks: webhooksOf(account).map((one) => present(core, one)) }),
  });
  add('get', `${path}/:id`, {
    call: 'webhooks',
    act: ({ account, params }) => json(200, present(core, findWebhook(account, params['id']))),
  });
  add('get', `${path}/:id/event-types`, {
    call: 'webhooks',
    act: ({ account, params }) => json(200, { event_types: enabled(findWebhook(account, params['id']).eventTypes) }),
  });
  add('post', path, {
    call: 'webhooks',
    act({ account, body }) {
      const { url, event_types } = readWebhookRequest(body);
      const eventTypes = knownEvents(event_types);
      const all = webhooksOf(account);
      if (all.some((webhook) => webhook.url === url))
        throw refuse(400, 'WEBHOOK_URL_ALREADY_EXISTS', 'Webhook URL already exists.');
      if (all.length >= 10) throw refuse(400, 'WEBHOOK_NUMBER_LIMIT_EXCEEDED', 'Number of webhooks is over the limit.');
      const webhook = { id: newPaypalId(), url, eventTypes };
      setWebhooks(account, [...all, webhook]);
      core.accounts.save();
      return json(201, present(core, webhook));
    },
  });
  add('get', '/v1/notifications/webhooks-event-types', {
    call: 'webhooks',
    act: () => json(200, { event_types: enabled(EVENT_TYPES) }),
  });
  add('patch', `${path}/:id`, {
    call: 'webhooks',
    act({ account, params, body }) {
      const all = webhooksOf(account);
      const webhook = all.find(({ id }) => id === findWebhook(account, params['id']).id)!;
      for (const change of readWebhookPatch(body)) {
        if (change.path === '/url') webhook.url = change.value;
        else webhook.eventTypes = knownEvents(change.value);
      }
      setWebhooks(account, all);
      core.accounts.save();
      return json(200, present(core, webhook));
    },
  });
  add('delete', `${path}/:id`, {
    call: 'webhooks',
    act({ account, params }) {
      const gone = findWebhook(account, params['id']);
      setWebhooks(
        account,
        webhooksOf(account).filter(({ id }) => id !== gone.id),
      );
      core.accounts.save();
      return { status: 204, body: '' };
    },
  });
}

/** Some of the events that PayPal lists (developer.paypal.com, "Webhook event names"). */
const EVENT_TYPES = [
  'CHECKOUT.ORDER.APPROVED',
  'CHECKOUT.ORDER.COMPLETED',
  'CHECKOUT.PAYMENT-APPROVAL.REVERSED',
  'CUSTOMER.DISPUTE.CREATED',
  'CUSTOMER.DISPUTE.RESOLVED',
  'CUSTOMER.DISPUTE.UPDATED',
  'PAYMENT.AUTHORIZATION.CREATED',
  'PAYMENT.AUTHORIZATION.VOIDED',
  'PAYMENT.CAPTURE.COMPLETED',
  'PAYMENT.CAPTURE.DECLINED',
  'PAYMENT.CAPTURE.DENIED',
  'PAYMENT.CAPTURE.PENDING',
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.FAILED',
  'PAYMENT.REFUND.PENDING',
] as const;

function knownEvents(asked: readonly { name: string }[]): string[] {
  const names = asked.map(({ name }) => name);
  const stranger = names.find((name) => name !== '*' && !EVENT_TYPES.some((known) => known === name));
  if (stranger !== undefined)
    throw refuse(400, 'VALIDATION_ERROR', `${stranger} is not a valid event name.`, '/event_types');
  return names;
}

function enabled(names: readonly string[]): { name: string; status: string }[] {
  return names.map((name) => ({ name, status: 'ENABLED' }));
}

function findWebhook(account: Account, id: string | undefined): Webhook {
  const found = webhooksOf(account).find((webhook) => webhook.id === id);
  if (!found) throw notFound();
  return found;
}

function findCertificate(accounts: readonly Account[], id: string): string | undefined {
  return accounts.flatMap(certificatesOf).find((pem) => certificateId(pem) === id);
}

function present(core: Core, { id, url, eventTypes }: Webhook): Record<string, unknown> {
  return {
    id,
    ...(url === null ? {} : { url }),
    event_types: eventTypes.map((name) => ({ name })),
    links: [{ href: `${apiUrlOf(core)}/v1/notifications/webhooks/${id}`, rel: 'self', method: 'GET' }],
  };
}
