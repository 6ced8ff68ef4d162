import type { WebhookRow } from '../db/entities/events.ts';
import type { Tx } from '../db/store.ts';
import type { EventPorts, SecretSealing } from './ports.ts';
import { newWebhookSecret } from './sign.ts';

const place = (clientId: string) => ({ table: 'webhooks', id: clientId, column: 'secret', version: 1 });

/** Seals a secret for the row of an app; a secret that moves to the column of the previous one need not be sealed again. */
export function sealSecret(sealing: SecretSealing, clientId: string, secret: string): string {
  return sealing.seal(place(clientId), secret);
}

/** A secret of the row of an app; throws SealBroken. */
export function openSecret(sealing: SecretSealing, clientId: string, sealed: string): string {
  return sealing.open(place(clientId), sealed);
}

/** The secrets that sign now, the newest first: two while the previous one is in its grace; throws SealBroken. */
export function signingSecrets(sealing: SecretSealing, row: WebhookRow, now: Date): string[] {
  const sealed = [row.sealedSecret];
  if (row.previousSealedSecret !== null && row.previousExpiresAt !== null && row.previousExpiresAt > now)
    sealed.push(row.previousSealedSecret);
  return sealed.map((one) => openSecret(sealing, row.clientId, one));
}

/** A webhook row that has nothing but a secret. */
export function bareWebhook(sealing: SecretSealing, clientId: string, secret: string, at: Date): WebhookRow {
  return {
    clientId,
    url: null,
    types: [],
    enabled: false,
    sealedSecret: sealSecret(sealing, clientId, secret),
    previousSealedSecret: null,
    previousExpiresAt: null,
    disabledReason: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** The app's row; one with a fresh secret is made when there is none, so that an order's own notifyUrl is signed too. */
export async function webhookOf(tx: Tx, { sealing, now }: Pick<EventPorts, 'sealing' | 'now'>, clientId: string) {
  const found = await tx.webhooks.find({ clientId });
  if (found) return found;
  const made = bareWebhook(sealing, clientId, newWebhookSecret(), now());
  if (await tx.webhooks.insertIfNew(made)) return made;
  return (await tx.webhooks.find({ clientId })) ?? made;
}
