// Delivers one event to a webhook: signs the event, sends it, and computes the time of the next attempt. Also creates
// and encrypts the signing secrets.

import { createHmac, randomBytes } from 'node:crypto';
import type { DeliveryRow, EventRow, WebhookRow } from '../db/entities/events.ts';
import { type Try, cancelDeliveries, lastTry } from '../db/queries/events.ts';
import type { Tx } from '../db/store.ts';
import { type Work, inSpan, noteWork, traceParent } from '../work.ts';
import type { EventPorts, SecretEncryption } from './ports.ts';
import { viewEvent } from './view.ts';

/** Creates a signing secret: `whsec_` and 32 random bytes in base64 (Standard Webhooks 1.0, "Signature scheme"). */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The headers of a signed message (Standard Webhooks 1.0), with one `v1` signature per secret in their sequence. */
export function signedHeaders(
  secrets: readonly string[],
  { id, at, body }: { id: string; at: Date; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

export type Message = Omit<EventRow, 'notifyUrl' | 'dedupe'>;

/** Sends an event once, signed with every secret. Never throws: an error is returned in the result. */
export async function attempt(
  { send, now }: Pick<EventPorts, 'send' | 'now'>,
  url: string,
  event: Message,
  secrets: readonly string[],
): Promise<Try> {
  const at = now();
  const body = JSON.stringify(viewEvent(event));
  const parent = traceParent();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'unified-payment-service',
    ...(parent !== null && { traceparent: parent }),
    ...signedHeaders(secrets, { id: event.id, at, body }),
  };
  const started = performance.now();
  const result = await send({ url, headers, body, statusOnly: true }).then(
    ({ status }) => ({ status, error: isSuccess(status) ? null : `status ${status}` }),
    (error: unknown) => ({ status: null, error: messageOf(error) }),
  );
  return { at, ...result, durationMs: Math.round(performance.now() - started) };
}

/** Whether the receiver has accepted the event. */
export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const why = 'why' in error && typeof error.why === 'string' ? `${error.why}: ` : '';
  return `${why}${error.message}`.slice(0, 500);
}

const MINUTE = 60;
const HOUR = 3600;

/** Pauses between attempts (seconds), then every 6 hours until 72 hours after the creation of the delivery. */
const PAUSES = [10, 30, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR] as const;
const LAST_PAUSE = 6 * HOUR;
const GIVE_UP_AFTER = 72 * HOUR;

/** When a delivery is retried; null if that would be more than 72 hours after `began`. */
export function nextAttempt(attempts: number, began: Date, now: Date): Date | null {
  const next = now.getTime() + (PAUSES[attempts - 1] ?? LAST_PAUSE) * 1000;
  return next > began.getTime() + GIVE_UP_AFTER * 1000 ? null : new Date(next);
}

const place = (clientId: string) => ({ table: 'webhooks', id: clientId, column: 'secret', version: 1 });

/** Encrypts a signing secret, for the column of the current secret or of the previous one. */
export function encryptSecret(encryption: SecretEncryption, clientId: string, secret: string): string {
  return encryption.encrypt(place(clientId), secret);
}

/** Decrypts a signing secret of an application's webhook. Throws DecryptionFailed. */
export function openSecret(encryption: SecretEncryption, clientId: string, encrypted: string): string {
  return encryption.open(place(clientId), encrypted);
}

/**
 * The secrets with which messages are signed now. There are two in the grace period after a change, or while a prepared
 * secret is not confirmed. Throws DecryptionFailed.
 */
export function signingSecrets(encryption: SecretEncryption, row: WebhookRow, now: Date): string[] {
  const encrypted = [row.encryptedSecret];
  if (row.previousEncryptedSecret !== null && row.previousExpiresAt !== null && row.previousExpiresAt > now)
    encrypted.push(row.previousEncryptedSecret);
  return encrypted.map((one) => openSecret(encryption, row.clientId, one));
}

/** Creates a webhook row that has a secret but no URL. */
export function bareWebhook(encryption: SecretEncryption, clientId: string, secret: string, at: Date): WebhookRow {
  return {
    clientId,
    url: null,
    types: [],
    enabled: false,
    encryptedSecret: encryptSecret(encryption, clientId, secret),
    previousEncryptedSecret: null,
    previousExpiresAt: null,
    disabledReason: null,
    createdAt: at,
    updatedAt: at,
  };
}

/**
 * Returns the application's webhook row. A missing row is created with a new secret, so that deliveries to the
 * notifyUrl of orders are also signed.
 */
async function webhookOf(tx: Tx, { encryption, now }: Pick<EventPorts, 'encryption' | 'now'>, clientId: string) {
  const found = await tx.webhooks.find({ clientId });
  if (found) return found;
  const made = bareWebhook(encryption, clientId, newWebhookSecret(), now());
  if (await tx.webhooks.insertIfNew(made)) return made;
  return (await tx.webhooks.find({ clientId })) ?? made;
}

/** With 410, a receiver rejects all later deliveries (RFC 9110 §15.5.11); Standard Webhooks then requires to stop. */
const GONE = 410;

/** Creates the function that sends one delivery, which the caller must have leased, and stores the result. */
export function deliverEvent(ports: EventPorts) {
  const { store, now, encryption, checkpoint } = ports;
  return async (deliveryId: string): Promise<void> => {
    const due = await store.transaction((tx) => prepare(tx, ports, deliveryId));
    if (!due) return;
    checkpoint('deliver.claimed');
    const { delivery, event, webhook } = due;
    const { clientId } = delivery;
    noteWork({ clientId, ...numbersOf(event) });
    const about = { 'pay.client_id': clientId, 'pay.event': event.type, 'pay.object_no': event.objectNo };
    await inSpan('webhook', { kind: 'client', parent: event.traceParent, attributes: about }, async (span) => {
      const secrets = signingSecrets(encryption, webhook, now());
      const tried = await attempt(ports, delivery.url, event, secrets);
      span?.setAttribute('http.response.status_code', tried.status ?? 0);
      checkpoint('deliver.sent');
      ports.tried(tried.status === null ? 'unanswered' : isSuccess(tried.status) ? 'delivered' : 'refused');
      await store.transaction((tx) => settle(tx, delivery, tried, now()));
    });
  };
}

function numbersOf({ payload }: EventRow): Pick<Work, 'orderNo' | 'refundNo'> {
  const { orderNo, refundNo } = payload;
  return {
    ...(typeof orderNo === 'string' && { orderNo }),
    ...(typeof refundNo === 'string' && { refundNo }),
  };
}

/** Returns undefined if the delivery must not be sent. The delivery of a disabled webhook is cancelled. */
async function prepare(tx: Tx, ports: EventPorts, id: string) {
  const delivery = await tx.deliveries.find({ id, state: 'pending' });
  const event = delivery && (await tx.events.find({ id: delivery.eventId }));
  if (!delivery || !event) return undefined;
  const webhook = await webhookOf(tx, ports, delivery.clientId);
  if (delivery.target === 'order') return { delivery, event, webhook };
  if (webhook.enabled && webhook.url !== null)
    return { delivery: { ...delivery, url: webhook.url }, event, webhook } satisfies {
      delivery: DeliveryRow;
      event: EventRow;
      webhook: typeof webhook;
    };
  const finished = { nextAttemptAt: null, leasedUntil: null, finishedAt: ports.now() };
  await tx.deliveries.update({ id, state: 'pending' }, { state: 'cancelled', ...finished });
  return undefined;
}

async function settle(tx: Tx, delivery: DeliveryRow, tried: Try, now: Date): Promise<void> {
  const { id, url, clientId } = delivery;
  const isGone = tried.status === GONE && delivery.target === 'webhook';
  // The webhook is always locked before the delivery (server/README.md, "Locks"). If two deliveries receive 410 at the
  // same time, one waits here for the other.
  if (isGone) await tx.webhooks.lock({ clientId });
  const current = await tx.deliveries.lock({ id });
  if (!current) return;
  const attempts = current.attempts + 1;
  const last = { lastAt: tried.at, lastMs: tried.durationMs, lastStatus: tried.status, lastError: tried.error };
  const seen = { url, attempts, ...last, leasedUntil: null };
  const earlier = current.state === 'delivered' ? tried : lastTry(current);
  if (earlier) await tx.deliveryAttempts.insert({ deliveryId: id, ...earlier });
  // A lease reserves a delivery for one replica for a limited time. If the lease expired, another replica may have sent
  // the same event successfully. A later failure must not overwrite that success.
  if (current.state === 'delivered') return void (await tx.deliveries.update({ id }, { attempts }));
  const next = tried.status === GONE ? null : nextAttempt(attempts, current.createdAt, now);
  const isDelivered = isSuccess(tried.status);
  const goesOn = !isDelivered && next !== null && current.state === 'pending';
  // A delivery that was cancelled during the attempt stays cancelled, unless the receiver accepted the event.
  const failed = current.state === 'cancelled' ? 'cancelled' : 'failed';
  await tx.deliveries.update(
    { id },
    goesOn
      ? { ...seen, nextAttemptAt: next }
      : { ...seen, nextAttemptAt: null, state: isDelivered ? 'delivered' : failed, finishedAt: now },
  );
  if (isGone) await disable(tx, delivery, now);
}

async function disable(tx: Tx, { clientId, url }: DeliveryRow, now: Date): Promise<void> {
  const patch = { enabled: false, disabledReason: 'The receiver answered 410 Gone.', updatedAt: now };
  if ((await tx.webhooks.update({ clientId, url, enabled: true }, patch)) === 0) return;
  await cancelDeliveries(tx, clientId, now);
}
