import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { WebhookRow } from '../db/entities/events.ts';
import { cancelDeliveries, type DeliveryFilter, listDeliveries, withTries } from '../db/queries/events.ts';
import type { Position } from '../db/queries/lists.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { Conflict, InvalidRequest, NotFound } from '../errors.ts';
import type { Actor, ApiAppRow } from '../identity/ports.ts';
import {
  type Message,
  attempt,
  bareWebhook,
  isSuccess,
  newWebhookSecret,
  openSecret,
  encryptSecret,
  signingSecrets,
} from './deliver.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { EventPorts } from './ports.ts';
import { viewDelivery, viewWebhook } from './view.ts';

/** A change of a webhook. Absent fields are not changed. */
interface WebhookChange {
  url?: string | undefined;
  types?: string[] | undefined;
  enabled?: boolean | undefined;
}

/** For `graceSeconds`, messages are also signed with the old secret. */
interface SecretRotation {
  graceSeconds: number;
  /** The new secret is only prepared: the old one stays current until the caller sends the new one as `secret`. */
  prepare?: boolean | undefined;
  secret?: string | undefined;
}

/** Time in which the caller must confirm a prepared secret (ms). */
const PREPARED_MS = 15 * 60_000;

/** The event cannot be sent, because there is no enabled webhook and no notifyUrl (409). */
class WebhookNotConfigured extends Conflict {
  constructor() {
    super('webhook_not_configured', 'No webhook is enabled, and the order has no notifyUrl.');
  }
}

/** Creates the operations on webhooks: settings, secrets, test event, deliveries, and sending an event again. */
export function webhookOperations(ports: EventPorts) {
  const { store, now, encryption, emitCredentialChange: emitChange } = ports;
  return {
    get: (clientId: string) => store.read(async (tx) => viewWebhook(await existing(tx, clientId), now())),

    /**
     * Only the response to the creation contains the secret. `mayRedirect` is called before a new URL is stored; it
     * throws if the caller may not change where events are sent.
     */
    put: (actor: Actor, clientId: string, change: WebhookChange, mayRedirect?: () => void) =>
      store.transaction(async (tx) => {
        requireUrl(change.url, ports.urlFault);
        const { project } = await requireApp(tx, clientId);
        const before = await tx.webhooks.lock({ clientId });
        const redirects = !before || (change.url !== undefined && change.url !== before.url);
        if (redirects) mayRedirect?.();
        const secret = before ? undefined : newWebhookSecret();
        const row = merged(before ?? bareWebhook(encryption, clientId, secret ?? '', now()), change, before, now());
        if (before) await tx.webhooks.update({ clientId }, row);
        else if (!(await tx.webhooks.insertIfNew(row)))
          throw new Conflict('changed_meanwhile', 'Another request has just created the webhook. Repeat the request.');
        if (redirects) await emitChange(tx, { clientId, project, change: 'webhook', by: actor.name });
        await audit(tx, actor, 'webhook.update', before, row);
        return { created: !before, webhook: { ...viewWebhook(row, now()), ...(secret ? { secret } : {}) } };
      }),

    /**
     * Removes the URL and cancels the deliveries that wait for it. The signing secret stays, because it also signs the
     * messages to the notifyUrl of orders.
     */
    remove: (actor: Actor, clientId: string) =>
      store.transaction(async (tx) => {
        await requireApp(tx, clientId);
        const before = await tx.webhooks.lock({ clientId });
        if (!before || before.url === null) throw new NotFound('webhook');
        const at = now();
        const row: WebhookRow = {
          ...before,
          url: null,
          types: [],
          enabled: false,
          disabledReason: null,
          updatedAt: at,
        };
        await tx.webhooks.update({ clientId }, row);
        // All of them: those that are left would be sent to the next URL.
        while ((await cancelDeliveries(tx, clientId, at)) > 0);
        await audit(tx, actor, 'webhook.delete', before, row);
      }),

    /**
     * Creates a new signing secret and returns it once. If `prepare` is true, the old secret stays the current one
     * until a second call sends the new secret as `secret`; until then, messages are signed with both.
     */
    rotateSecret: (actor: Actor, clientId: string, { graceSeconds, prepare, secret: given }: SecretRotation) =>
      store.transaction(async (tx) => {
        const { project } = await requireApp(tx, clientId);
        const secret = given ?? newWebhookSecret();
        const at = now();
        const before = await tx.webhooks.lock({ clientId });
        if (given !== undefined && before && isSecret(before, 'encryptedSecret', given))
          return { ...viewWebhook(before, at), secret };
        if (given !== undefined) requirePrepared(before, given, at);
        const encrypted = encryptSecret(encryption, clientId, secret);
        const rotated: WebhookRow = before
          ? {
              ...before,
              encryptedSecret: encrypted,
              previousEncryptedSecret: graceSeconds > 0 ? before.encryptedSecret : null,
              previousExpiresAt: graceSeconds > 0 ? new Date(at.getTime() + graceSeconds * 1000) : null,
              updatedAt: at,
            }
          : bareWebhook(encryption, clientId, secret, at);
        const waiting = { previousEncryptedSecret: encrypted, previousExpiresAt: new Date(at.getTime() + PREPARED_MS) };
        const stored: WebhookRow = before && prepare ? { ...before, ...waiting, updatedAt: at } : rotated;
        if (before) await tx.webhooks.update({ clientId }, stored);
        else await tx.webhooks.insert(stored);
        await emitChange(tx, { clientId, project, change: 'webhook_secret', by: actor.name });
        await audit(tx, actor, prepare ? 'webhook.prepare-secret' : 'webhook.rotate-secret', before, stored);
        return { ...viewWebhook(rotated, at), secret };
      }),

    /** Sends a test event once, even if the webhook is disabled. The result is returned, and stored as a delivery. */
    async test(actor: Actor, clientId: string) {
      const event = testEvent(clientId, now());
      const { url, row } = await store.transaction(async (tx) => {
        const found = await existing(tx, clientId);
        if (found.url === null) throw new WebhookNotConfigured();
        await ports.audit(tx, { ...by(actor), action: 'webhook.test', target: clientId, after: { url: found.url } });
        return { url: found.url, row: found };
      });
      const tried = await attempt(ports, url, event, signingSecrets(encryption, row, now()));
      const delivery = {
        id: randomUUID(),
        eventId: event.id,
        clientId,
        target: 'test' as const,
        url,
        state: isSuccess(tried.status) ? ('delivered' as const) : ('failed' as const),
        attempts: 1,
        nextAttemptAt: null,
        leasedUntil: null,
        lastAt: tried.at,
        lastMs: tried.durationMs,
        lastStatus: tried.status,
        lastError: tried.error,
        createdAt: tried.at,
        finishedAt: now(),
      };
      await store.transaction((tx) => tx.deliveries.insert(delivery));
      return viewDelivery({ delivery, type: event.type, tries: [tried] });
    },

    deliveries: (filter: DeliveryFilter, after: Position | undefined, limit: number) =>
      store.read(async (tx) => {
        await requireApp(tx, filter.clientId);
        const rows = await listDeliveries(tx, filter, after, limit);
        const last = rows.length > limit ? rows[limit - 1]?.delivery : undefined;
        return {
          items: rows.slice(0, limit).map(viewDelivery),
          next: last ? { createdAt: last.createdAt, id: last.id } : null,
        };
      }),

    /**
     * Sends an event again with the same event id. A pending delivery of the event is sent now. With `owner`, an event
     * of another application is not found.
     */
    resend: (actor: Actor, eventId: string, owner?: string) =>
      store.transaction(async (tx) => {
        const event = await tx.events.find({ id: eventId });
        if (!event || (owner !== undefined && event.clientId !== owner)) throw new NotFound('event');
        const webhook = await tx.webhooks.find({ clientId: event.clientId });
        const url = event.notifyUrl ?? (webhook?.enabled ? webhook.url : null);
        if (url === null) throw new WebhookNotConfigured();
        const at = now();
        const [waiting] = await tx.deliveries.list({ eventId, state: 'pending' }, { limit: 1 });
        const delivery = {
          id: waiting?.id ?? randomUUID(),
          eventId,
          clientId: event.clientId,
          target: event.notifyUrl === null ? ('webhook' as const) : ('order' as const),
          url,
          state: 'pending' as const,
          attempts: waiting?.attempts ?? 0,
          nextAttemptAt: at,
          leasedUntil: waiting?.leasedUntil ?? null,
          lastAt: waiting?.lastAt ?? null,
          lastMs: waiting?.lastMs ?? null,
          lastStatus: waiting?.lastStatus ?? null,
          lastError: waiting?.lastError ?? null,
          createdAt: waiting?.createdAt ?? at,
          finishedAt: null,
        };
        if (waiting) await tx.deliveries.update({ id: delivery.id, state: 'pending' }, { nextAttemptAt: at });
        else await tx.deliveries.insert(delivery);
        await tx.afterCommit('deliver-event', { deliveryId: delivery.id });
        await ports.audit(tx, { ...by(actor), action: 'event.resend', target: eventId });
        const [story] = await withTries(tx, [delivery]);
        return viewDelivery(story ?? { delivery, type: event.type, tries: [] });
      }),
  };

  function isSecret(row: WebhookRow, column: 'encryptedSecret' | 'previousEncryptedSecret', secret: string): boolean {
    const encrypted = row[column];
    return (
      encrypted !== null && hash('sha256', openSecret(encryption, row.clientId, encrypted)) === hash('sha256', secret)
    );
  }

  function requirePrepared(row: WebhookRow | undefined, secret: string, at: Date): void {
    const waits = row?.previousExpiresAt !== null && row?.previousExpiresAt !== undefined && row.previousExpiresAt > at;
    if (waits && isSecret(row, 'previousEncryptedSecret', secret)) return;
    throw new Conflict(
      'changed_meanwhile',
      'The prepared signing secret has expired or was replaced. Prepare a new secret.',
    );
  }

  function audit(tx: Tx, actor: Actor, action: string, before: WebhookRow | undefined, after: WebhookRow) {
    const shown = (row: WebhookRow) => ({ url: row.url, types: row.types, enabled: row.enabled });
    const change = { before: before ? shown(before) : null, after: shown(after) };
    return ports.audit(tx, { ...by(actor), action, target: after.clientId, ...change });
  }
}

function by({ kind, name, ip, requestId }: Actor) {
  return { actorKind: kind, actor: name, ip: ip ?? null, requestId: requestId ?? null };
}

export type WebhookOperations = ReturnType<typeof webhookOperations>;

async function requireApp(tx: ReadTx, clientId: string): Promise<ApiAppRow> {
  const app = await tx.apps.find({ clientId });
  if (!app) throw new NotFound('application');
  return app;
}

async function existing(tx: ReadTx, clientId: string): Promise<WebhookRow> {
  await requireApp(tx, clientId);
  const row = await tx.webhooks.find({ clientId });
  if (!row)
    throw new NotFound('webhook', {
      hint: `Set a webhook first: payctl app webhook set ${clientId} --url https://shop.example/hooks`,
    });
  return row;
}

function merged(row: WebhookRow, change: WebhookChange, before: WebhookRow | undefined, at: Date): WebhookRow {
  const url = change.url ?? row.url;
  if (url === null)
    throw new InvalidRequest('A webhook requires a url.', [
      { pointer: '/url', code: 'required', detail: 'is missing' },
    ]);
  const enabled = change.enabled ?? (before?.url ? before.enabled : true);
  const disabledReason = enabled ? null : row.disabledReason;
  return { ...row, url, types: change.types ?? row.types, enabled, disabledReason, updatedAt: at };
}

function requireUrl(url: string | undefined, urlFault: UrlRule): void {
  const fault = url === undefined ? undefined : urlFault(url);
  if (fault) throw new InvalidRequest(`The webhook url ${fault.detail}.`, [{ pointer: '/url', ...fault }]);
}

function testEvent(clientId: string, at: Date): Message {
  return {
    id: `evt_test_${randomBytes(12).toString('hex')}`,
    sequence: 0n,
    type: 'webhook.test',
    clientId,
    project: '',
    objectNo: clientId,
    payload: { clientId },
    traceParent: null,
    createdAt: at,
  };
}
