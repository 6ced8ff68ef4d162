import { z } from 'zod';
import type { NoticesRegistered, ProbeCheck } from '../../payments/channel.ts';
import { notReached, passed, wanting } from '../checks.ts';
import type { Reply } from './answers.ts';
import type { Call } from './call.ts';
import * as requests from './requests.ts';
import type { PaypalSettings } from './settings.ts';

/** Events without which something is learned late or never. (developer.paypal.com, "Webhook event names": payments v2 and orders.) */
export const NEEDED_EVENTS = [
  'CHECKOUT.ORDER.APPROVED',
  'CHECKOUT.PAYMENT-APPROVAL.REVERSED',
  'PAYMENT.CAPTURE.COMPLETED',
  'PAYMENT.CAPTURE.DECLINED',
  'PAYMENT.CAPTURE.DENIED',
  'PAYMENT.CAPTURE.PENDING',
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
] as const;

/** Events that are subscribed to where PayPal lists them. */
export const WELCOME_EVENTS = [
  'PAYMENT.REFUND.PENDING',
  'PAYMENT.REFUND.FAILED',
  'CUSTOMER.DISPUTE.CREATED',
  'CUSTOMER.DISPUTE.UPDATED',
  'CUSTOMER.DISPUTE.RESOLVED',
] as const;

const EventTypes = z.array(z.object({ name: z.string() }));
const Webhook = z.object({
  id: z.string().regex(/^[A-Za-z0-9-]{8,64}$/),
  url: z.string().optional(),
  event_types: EventTypes.default([]),
});
const Webhooks = z.object({ webhooks: z.array(Webhook) });
const EventList = z.object({ event_types: EventTypes });

type Webhook = z.infer<typeof Webhook>;
type Failed = Extract<NoticesRegistered, { ok: false }>;

/** Finds the webhook for the notify URL or makes it, with every event that is needed; what else it is subscribed to stays. */
export async function findOrMakeWebhook(
  call: Call,
  settings: PaypalSettings,
  notifyUrl: string | undefined,
): Promise<NoticesRegistered> {
  if (notifyUrl === undefined) return failed('no_notify_url', 'The service does not know its own public URL.');
  if (settings.mode !== 'simulator' && !notifyUrl.startsWith('https://'))
    return failed('not_https', `PayPal calls https addresses only; the notify URL is ${notifyUrl}.`);
  const listed = read(await call(requests.listWebhooksRequest(settings)), Webhooks);
  if ('ok' in listed) return listed;
  const known = read(await call(requests.listEventTypesRequest(settings)), EventList);
  if ('ok' in known) return known;
  const names = new Set(known.event_types.map(({ name }) => name));
  const wanted = [...NEEDED_EVENTS, ...WELCOME_EVENTS.filter((name) => names.has(name))];
  const found = listed.webhooks.find(({ url }) => url === notifyUrl);
  const made = found
    ? await completed(call, settings, found, wanted)
    : read(await call(requests.createWebhookRequest(settings, notifyUrl, wanted)), Webhook);
  return 'ok' in made ? made : { ok: true, fields: { webhookId: made.id } };
}

async function completed(
  call: Call,
  settings: PaypalSettings,
  webhook: Webhook,
  wanted: readonly string[],
): Promise<Webhook | Failed> {
  if (missingIn(webhook, wanted).length === 0) return webhook;
  const events = new Set([...webhook.event_types.map(({ name }) => name), ...wanted]);
  return read(await call(requests.changeWebhookRequest(settings, webhook.id, [...events])), Webhook);
}

/** What of a webhook can be wrong. */
export const WEBHOOK_SUBJECTS = ['Webhook ID', 'Webhook address', 'Webhook events'] as const;

/** How it stands with the configured webhook: it exists, leads here and brings every event that is needed. */
export function webhookChecks(
  body: unknown,
  { mode }: PaypalSettings,
  notifyUrl: string | undefined,
): readonly ProbeCheck[] {
  const [id, address, events] = WEBHOOK_SUBJECTS;
  const webhook = Webhook.safeParse(body).data;
  if (!webhook) {
    const fault = failed('unparsable', 'PayPal did not describe the webhook.');
    return [
      wanting('notifications', id, 'failed', fault),
      ...[address, events].map((name) => notReached('notifications', name)),
    ];
  }
  // The simulator is told the address with each order.
  const leadsNowhere = mode === 'simulator' && webhook.url === undefined;
  const leadsHere = notifyUrl === undefined || leadsNowhere || webhook.url === notifyUrl;
  const elsewhere = `The webhook leads to ${webhook.url ?? 'no address'} instead of ${notifyUrl}.`;
  const missing = missingIn(webhook, NEEDED_EVENTS);
  const few = `The webhook is not subscribed to ${missing.join(', ')}.`;
  return [
    passed('notifications', id),
    leadsHere
      ? passed('notifications', address)
      : wanting('notifications', address, 'failed', failed('webhook_url', elsewhere)),
    missing.length === 0
      ? passed('notifications', events)
      : wanting('notifications', events, 'failed', failed('webhook_events', few)),
  ];
}

function missingIn({ event_types }: Webhook, wanted: readonly string[]): string[] {
  const names = new Set(event_types.map(({ name }) => name));
  return names.has('*') ? [] : wanted.filter((name) => !names.has(name));
}

function read<T extends object>(reply: Reply, schema: z.ZodType<T>): T | Failed {
  if (reply.kind === 'unknown') return { ok: false, field: null, code: reply.cause, message: reply.detail };
  if (reply.kind === 'refused') return failed(reply.code, `PayPal refused: ${reply.reason}`);
  return schema.safeParse(reply.body).data ?? failed('unparsable', 'PayPal did not describe its webhooks.');
}

function failed(code: string, message: string): Failed {
  return { ok: false, field: 'webhookId', code, message };
}
