/** Webhooks: sends and signs events, registers webhooks and verifies signatures. */
import type Router from '@koa/router';
import { createPrivateKey, type KeyObject, randomUUID, sign, verify, X509Certificate } from 'node:crypto';
import { webhookText } from '../../channels/paypal/signature.ts';
import type { Account } from '../accounts.ts';
import { duplicateFirstKey, type FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import type { NotificationRecord, SignedNotification } from '../notification.ts';
import { SimulatorRefusal } from '../requests.ts';
import type { Trade } from '../trade.ts';
import { type Webhook, certificateId, certificatesOf, newPaypalId, setWebhooks, webhooksOf } from './account.ts';
import { apiUrlOf, notFound, refuse } from './answers.ts';
import { type AddRoute, json, readVerifyRequest, readWebhookPatch, readWebhookRequest } from './requests.ts';

type Json = Record<string, unknown>;

/** The content is fixed when the event happens, so that every delivery has the same bytes. */
interface EventFacts extends Json {
  webhookId: string;
  event: Json;
}

const RESOURCE_TYPES: Readonly<Record<string, string>> = {
  'CHECKOUT.ORDER': 'checkout-order',
  'PAYMENT.CAPTURE': 'capture',
  'PAYMENT.REFUND': 'refund',
  'CUSTOMER.DISPUTE': 'dispute',
};

/**
 * The webhook id that PayPal's dashboard uses in the signed text of test events (developer.paypal.com, "Webhooks
 * simulator").
 */
const TRY_OUT = 'WEBHOOK_ID';

/**
 * Sends an event to every webhook of the account that is subscribed to this event type. The webhook of the channel
 * configuration gets the event at the notify URL of the order, if the order has one.
 */
export function sendEvent(
  core: Core,
  trade: Trade,
  eventType: string,
  summary: string,
  resource: Json,
  isTest = false,
): void {
  const account = core.accounts.get('paypal', trade.account);
  if (!account) return;
  const event = { ...describe(core, eventType, summary), resource };
  for (const { id: webhookId, url, eventTypes } of webhooksOf(account)) {
    const address = webhookId === account.secrets['webhookId'] ? (trade.notifyUrl ?? url) : url;
    if (address === null || !(eventTypes.includes('*') || eventTypes.includes(eventType))) continue;
    const facts: EventFacts = { webhookId: isTest ? TRY_OUT : webhookId, event };
    core.notifications.send(
      trade,
      { id: randomUUID(), event: eventType, url: address, facts },
      core.notificationDelay(trade),
    );
  }
}

function describe(core: Core, eventType: string, summary: string): Json {
  const family = eventType.split('.').slice(0, 2).join('.');
  return {
    id: `WH-${newPaypalId()}-${newPaypalId()}`,
    event_version: '1.0',
    create_time: new Date(core.clock.now()).toISOString(),
    resource_type: eventType === 'PAYMENT.CAPTURE.REFUNDED' ? 'refund' : (RESOURCE_TYPES[family] ?? 'unknown'),
    resource_version: '2.0',
    event_type: eventType,
    summary,
  };
}

/**
 * The values that the signature of a delivery covers besides the body, and the URL of the certificate that verifies
 * it.
 */
interface Transmission {
  id: string;
  /** The time at which the notification was created (RFC 3339); the same for every delivery. */
  time: string;
  webhookId: string;
  certUrl: string;
}

/** Builds the headers of a delivery. The RSA-SHA256 signature covers id, time, webhook id and the CRC32 of the body. */
export function signedHeaders(
  body: Buffer,
  { id, time, webhookId, certUrl }: Transmission,
  key: KeyObject | string,
): Record<string, string> {
  const signature = sign('RSA-SHA256', Buffer.from(webhookText(id, time, webhookId, body)), key);
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'PayPal/AUHR-1.0 (simulator)',
    'PAYPAL-AUTH-ALGO': 'SHA256withRSA',
    'PAYPAL-AUTH-VERSION': 'v2',
    'PAYPAL-CERT-URL': certUrl,
    'PAYPAL-TRANSMISSION-ID': id,
    'PAYPAL-TRANSMISSION-SIG': signature.toString('base64'),
    'PAYPAL-TRANSMISSION-TIME': time,
  };
}

/** Whether the signature of a webhook delivery is correct for its body. */
function fits(body: Buffer, { id, time, webhookId }: Transmission, signature: string, certificate: string): boolean {
  const text = Buffer.from(webhookText(id, time, webhookId, body));
  return verify('RSA-SHA256', text, new X509Certificate(certificate).publicKey, Buffer.from(signature, 'base64'));
}

/** Adds the webhook calls and the public download of certificates. */
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
      sign: (made) => made,
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
      // PayPal writes the event as JSON again before it verifies the signature, so only compact JSON passes.
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

/** The list is only a part of PayPal's event types (developer.paypal.com, "Webhook event names"). */
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

function knownEvents(events: readonly { name: string }[]): string[] {
  const names = events.map(({ name }) => name);
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

/** Builds the bytes and headers of one delivery, signed for its webhook. Applies `fault`, such as `wrong-key`. */
export function signNotification(
  core: Core,
  notification: NotificationRecord,
  fault: FaultName | undefined,
): SignedNotification {
  const account = core.accounts.get('paypal', notification.account);
  if (!account)
    throw new SimulatorRefusal(404, 'no_such_account', `The account ${notification.account} does not exist.`);
  const body = bodyOf(notification, fault);
  const known = certificateId(certificatesOf(account)[0] ?? '');
  const name = fault === 'unknown-serial' ? `${known}0` : known;
  const certUrl = `${apiUrlOf(core)}/v1/notifications/certs/${name}`;
  const skew = fault === 'clock-skew' ? 600_000 : 0;
  const time = new Date(notification.createdAt - skew).toISOString();
  const { webhookId } = notification.facts as EventFacts;
  const key = fault === 'wrong-key' ? core.strangerKey : createPrivateKey(account.secrets['privateKey'] ?? '');
  const { 'PAYPAL-TRANSMISSION-SIG': signature = '', ...headers } = signedHeaders(
    body,
    { id: notification.id, time, webhookId, certUrl },
    key,
  );
  if (fault === 'no-signature') return { headers, body };
  const sent = fault === 'signtest' ? Buffer.from('SIGNTEST').toString('base64') : signature;
  return { headers: { ...headers, 'PAYPAL-TRANSMISSION-SIG': sent }, body };
}

function bodyOf({ facts }: NotificationRecord, fault: FaultName | undefined): Buffer {
  const text = JSON.stringify((facts as EventFacts).event);
  if (fault === 'duplicate-key') return Buffer.from(duplicateFirstKey(text));
  if (fault === 'wrong-amount') return Buffer.from(text.replaceAll(/"value":"(\d)/g, '"value":"9$1'));
  return Buffer.from(text);
}
