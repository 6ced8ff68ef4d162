/** PayPal's webhooks: verification with downloaded certificates, contents, registration and test. */
import { Buffer } from 'node:buffer';
import { hash, verify } from 'node:crypto';
import { z } from 'zod';
import {
  type FetchBudget,
  type Notification,
  NotificationNotGenuine,
  type NotificationsRegistered,
  type ProbeCheck,
  type Transport,
  TransportFailed,
  type WireAnswer,
} from '../../payments/channel.ts';
import { notReached, passed, wanting } from '../checks.ts';
import { type Call, Links, type Reply, Time, UnreadableJson, captureIdOf, readJson } from './reply.ts';
import * as requests from './requests.ts';
import type { PaypalSettings } from './settings.ts';
import {
  CertificateRefused,
  type JudgedKey,
  type Transmission,
  type Trust,
  isCertificateUrl,
  judgeKey,
  publicRoots,
  webhookText,
} from './signature.ts';

const OurNumber = z
  .string()
  .regex(/^[A-Za-z0-9_]{6,32}$/)
  .optional()
  .catch(undefined);
const TheirId = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,64}$/)
  .optional()
  .catch(undefined);

const Numbers = z.object({ custom_id: OurNumber, invoice_id: OurNumber });
const Related = z.object({ related_ids: z.object({ order_id: TheirId }).optional().catch(undefined) });

const Resource = Numbers.extend({
  id: TheirId,
  dispute_id: TheirId,
  order_id: TheirId,
  purchase_units: z.array(Numbers).optional().catch(undefined),
  supplementary_data: Related.optional().catch(undefined),
  links: Links,
});

const Event = z.object({
  event_type: z.string().regex(/^[A-Z0-9._-]{1,64}$/),
  create_time: Time.optional().catch(undefined),
  resource: Resource,
});
type Resource = z.infer<typeof Resource>;

const REFUND_EVENTS = new Set([
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.PENDING',
  'PAYMENT.REFUND.FAILED',
]);

/** The ids in a webhook. The service queries the objects with these ids at PayPal. */
interface Named extends Pick<
  Notification,
  'event' | 'orderNo' | 'refundNo' | 'channelOrderId' | 'paymentNo' | 'approvedAt' | 'disputeId'
> {
  refundId: string | null;
}

/**
 * Reads the ids in a verified webhook. Amounts and states are not read, because the signature does not protect the body
 * well enough (see verifyWebhook). Throws NotificationNotGenuine if the body is not a PayPal event.
 */
export function readEvent(body: Buffer): Named {
  const parsed = Event.safeParse(parse(body));
  if (!parsed.success) throw new NotificationNotGenuine('malformed', 'The body is not a PayPal event.');
  const { event_type: event, create_time: at, resource } = parsed.data;
  if (event.startsWith('CUSTOMER.DISPUTE.') && resource.dispute_id !== undefined)
    return { event, orderNo: null, refundNo: null, refundId: null, disputeId: resource.dispute_id };
  const channelOrderId = orderId(event, resource);
  if (REFUND_EVENTS.has(event)) {
    const { custom_id, invoice_id, id, links } = resource;
    // In most refund events the capture id is in a link. If there is no link, the resource itself is the capture.
    const paymentNo = captureIdOf(links) ?? id;
    const named = { orderNo: custom_id ?? null, refundNo: invoice_id ?? null, refundId: id ?? paymentNo ?? null };
    return { event, ...named, ...channelOrderId, ...(paymentNo === undefined ? {} : { paymentNo }) };
  }
  const numbers = resource.purchase_units?.[0] ?? resource;
  const orderNo = numbers.custom_id ?? numbers.invoice_id ?? null;
  const approved = event === 'CHECKOUT.ORDER.APPROVED' && at ? { approvedAt: at } : {};
  return { event, orderNo, refundNo: null, refundId: null, ...channelOrderId, ...approved };
}

function orderId(event: string, { id, order_id, supplementary_data }: Resource): { channelOrderId?: string } {
  const own = event.startsWith('CHECKOUT.ORDER.') ? id : undefined;
  const channelOrderId = own ?? order_id ?? supplementary_data?.related_ids?.order_id;
  return channelOrderId === undefined ? {} : { channelOrderId };
}

function parse(body: Buffer): unknown {
  try {
    return readJson(body);
  } catch (error) {
    if (error instanceof UnreadableJson) throw new NotificationNotGenuine('malformed', error.message);
    throw error;
  }
}

/** The length in bytes of a signature by an RSA key of 2048 bits. */
const SHORTEST_SIGNATURE = 256;

/**
 * The text that test events of PayPal's dashboard have in place of the webhook id (developer.paypal.com, "Webhooks
 * simulator"). Any PayPal user can send a test event, so its content is ignored.
 */
const TRY_OUT = 'WEBHOOK_ID';

interface Verifier {
  webhookId: string;
  findKey(certificateUrl: string): Promise<WebhookKey>;
  /** Lets PayPal verify the webhook. Throws NotificationUndecided if PayPal returns no result. */
  verifyAtPaypal(transmission: Transmission, body: Buffer): Promise<boolean>;
}

interface Verified {
  notificationId: string;
  isTest: boolean;
  /** False if the certificate chain was incomplete and PayPal verified the signature instead. */
  isChained: boolean;
}

/**
 * Verifies the signature of a webhook and returns an id for it. Throws NotificationNotGenuine. The signature covers
 * only a CRC32 of the body, so an attacker who has a genuine webhook can forge a body with the same CRC32. Therefore
 * the id includes a hash of the body, so that a forged webhook does not replace the genuine one. For the same reason
 * the content of a webhook is never used as a result.
 */
export async function verifyWebhook(
  headers: Record<string, string | undefined>,
  body: Buffer,
  { webhookId, findKey, verifyAtPaypal }: Verifier,
): Promise<Verified> {
  const sent: Transmission = {
    id: header(headers, 'paypal-transmission-id', /^[\w-]{1,50}$/),
    time: header(headers, 'paypal-transmission-time', /^[\w:.+-]{1,40}$/),
    certUrl: header(headers, 'paypal-cert-url', /^[\x21-\x7e]{1,500}$/),
    signature: header(headers, 'paypal-transmission-sig', /^[A-Za-z0-9+/]{1,1400}={0,2}$/),
    algorithm: header(headers, 'paypal-auth-algo', /^SHA256withRSA$/),
  };
  // The event is checked before the certificate is downloaded, so that a malformed body causes no download.
  readEvent(body);
  const signature = Buffer.from(sent.signature, 'base64');
  if (signature.length < SHORTEST_SIGNATURE)
    throw new NotificationNotGenuine('signature_invalid', 'The signature is shorter than 256 bytes.');
  const { key, isChained } = await findKey(sent.certUrl);
  const signedFor = [webhookId, TRY_OUT].find((name) => {
    const text = Buffer.from(webhookText(sent.id, sent.time, name, body), 'utf8');
    return verify('RSA-SHA256', text, key, signature);
  });
  if (signedFor === undefined)
    throw new NotificationNotGenuine('signature_invalid', 'The signature does not match the body and webhookId.');
  const isTest = signedFor !== webhookId;
  if (!isChained && !isTest && !(await verifyAtPaypal(sent, body)))
    throw new NotificationNotGenuine(
      'chain_incomplete',
      'The certificate chain is incomplete, and PayPal did not confirm the signature.',
    );
  return { notificationId: `${sent.id}.${hash('sha256', body).slice(0, 24)}`, isTest, isChained };
}

function header(headers: Record<string, string | undefined>, name: string, form: RegExp): string {
  const value = headers[name];
  if (!value) throw new NotificationNotGenuine('unsigned', `The header ${name} is missing.`);
  if (!form.test(value)) throw new NotificationNotGenuine('malformed', `The header ${name} is malformed.`);
  return value;
}

type WebhookKey = Pick<JudgedKey, 'key' | 'isChained'>;

/**
 * `budget` limits how many useless downloads one sender can cause. Throws NotificationNotGenuine without a usable key.
 */
type FindWebhookKey = (certificateUrl: string, budget?: FetchBudget) => Promise<WebhookKey>;

interface Kept {
  result: WebhookKey | { refused: string };
  until: number;
}

const LARGEST = 64 * 1024;
const KEEP_MS = 24 * 3600 * 1000;
/** A key with an incomplete chain is cached for a shorter time, because PayPal may add the missing certificate. */
const KEEP_UNCHAINED_MS = 3600 * 1000;
const REFUSE_AGAIN_MS = 60 * 1000;
const MOST_KEPT = 50;
const MOST_AT_ONCE = 4;

/**
 * Creates a cache of webhook certificates. They are downloaded only from PayPal's URLs, with one request per URL at a
 * time. A valid certificate is cached for at most a day, one with an incomplete chain for an hour, and a refused one
 * for a minute.
 */
export function createCertificateCache(settings: PaypalSettings, send: Transport, now: () => Date): FindWebhookKey {
  const kept = new Map<string, Kept>();
  const fetching = new Map<string, Promise<Kept>>();
  const { mode, apiUrl, intermediates, simulatorRoots } = settings;
  const roots = mode === 'simulator' ? () => simulatorRoots : publicRoots;

  return async (url, budget) => {
    if (!isCertificateUrl(url, mode, apiUrl)) {
      throw new NotificationNotGenuine('serial_unknown', 'The certificate URL is no PayPal URL of the channel mode.');
    }
    const found = kept.get(url);
    const { result } = found && now().getTime() < found.until ? found : await fetchOnce(url, budget);
    if ('refused' in result) throw new NotificationNotGenuine('signature_invalid', result.refused);
    return result;
  };

  function fetchOnce(url: string, budget: FetchBudget | undefined): Promise<Kept> {
    const running = fetching.get(url);
    if (running) return running;
    if (fetching.size >= MOST_AT_ONCE || budget?.isLeft() === false)
      throw new NotificationNotGenuine('busy', 'Too many webhook certificates are being downloaded.');
    const started = fetchAndJudge(url).finally(() => fetching.delete(url));
    void started.then(
      ({ result }) => ('refused' in result ? budget?.spend() : undefined),
      () => budget?.spend(),
    );
    fetching.set(url, started);
    return started;
  }

  /** Refused certificates are removed first, because a sender can invent any number of URLs. */
  function entryToEvict(): string {
    const urls = [...kept.keys()];
    return urls.find((url) => 'refused' in (kept.get(url)?.result ?? {})) ?? urls[0] ?? '';
  }

  async function fetchAndJudge(url: string): Promise<Kept> {
    const answer = await fetchCertificate(send, url);
    const at = now();
    const entry = judge(answer, { roots: roots(), intermediates }, at);
    kept.delete(url);
    kept.set(url, entry);
    if (kept.size > MOST_KEPT) kept.delete(entryToEvict());
    return entry;
  }
}

async function fetchCertificate(send: Transport, url: string): Promise<WireAnswer> {
  const about = { call: 'certificate' };
  const answer = await sendOrFail(() => send({ method: 'GET', url, headers: { accept: '*/*' }, about }));
  const { status, body } = answer;
  if (status >= 300 && status < 400)
    throw new NotificationNotGenuine('redirected', 'The certificate URL returned a redirect.');
  if (status !== 200 && status !== 404)
    throw new NotificationNotGenuine('http_status', `The certificate URL returned HTTP ${status}.`);
  if (body.length > LARGEST)
    throw new NotificationNotGenuine('too_large', 'The certificate file is larger than 64 KB.');
  return answer;
}

async function sendOrFail(send: () => Promise<WireAnswer>): Promise<WireAnswer> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof TransportFailed)
      throw new NotificationNotGenuine(error.why, 'The webhook certificate could not be downloaded.');
    throw error;
  }
}

function judge({ status, body }: WireAnswer, trust: Trust, at: Date): Kept {
  const soon = at.getTime() + REFUSE_AGAIN_MS;
  if (status !== 200) return { result: { refused: 'The certificate does not exist.' }, until: soon };
  try {
    const { until, ...result } = judgeKey(body.toString('latin1'), trust, at);
    const keep = result.isChained ? KEEP_MS : KEEP_UNCHAINED_MS;
    return { result, until: Math.min(at.getTime() + keep, until.getTime()) };
  } catch (error) {
    if (!(error instanceof CertificateRefused)) throw error;
    return { result: { refused: error.message }, until: soon };
  }
}

/**
 * The events that the webhook must subscribe to. Without them the service learns of payments and refunds late or never
 * (developer.paypal.com, "Webhook event names": payments v2 and orders).
 */
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

/** Optional events. The webhook subscribes to them if PayPal offers them. */
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
type Failed = Extract<NotificationsRegistered, { ok: false }>;

/**
 * Finds or creates the webhook with the notify URL, and subscribes it to all required and optional events. An existing
 * webhook also keeps its subscriptions to other events.
 */
export async function findOrMakeWebhook(
  call: Call,
  settings: PaypalSettings,
  notifyUrl: string | undefined,
): Promise<NotificationsRegistered> {
  if (notifyUrl === undefined) return failed('no_notify_url', 'The public URL is missing: set Server.PublicUrl.');
  if (settings.mode !== 'simulator' && !notifyUrl.startsWith('https://'))
    return failed('not_https', `PayPal calls only https URLs, but the notify URL is ${notifyUrl}.`);
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

export const WEBHOOK_SUBJECTS = ['Webhook ID', 'Webhook address', 'Webhook events'] as const;

/** Checks that the configured webhook exists, has the notify URL, and is subscribed to all required events. */
export function webhookChecks(
  body: unknown,
  { mode }: PaypalSettings,
  notifyUrl: string | undefined,
): readonly ProbeCheck[] {
  const [id, address, events] = WEBHOOK_SUBJECTS;
  const webhook = Webhook.safeParse(body).data;
  if (!webhook) {
    const fault = failed('unparsable', "PayPal's response does not describe the webhook.");
    return [
      wanting('notifications', id, 'failed', fault),
      ...[address, events].map((name) => notReached('notifications', name)),
    ];
  }
  // The simulator's webhook has no URL, because the simulator gets the URL with each order.
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
  return schema.safeParse(reply.body).data ?? failed('unparsable', "PayPal's response does not describe webhooks.");
}

function failed(code: string, message: string): Failed {
  return { ok: false, field: 'webhookId', code, message };
}
