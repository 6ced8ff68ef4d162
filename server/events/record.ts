import { randomBytes, randomUUID } from 'node:crypto';
import type { ApiAppRow } from '../db/entities/identity.ts';
import { appendEvent } from '../db/queries/events.ts';
import type { Tx } from '../db/store.ts';
import type { NewEvent } from '../payments/ports.ts';
import { traceParent } from '../work.ts';
import type { EmitCredentialChange } from '../identity/ports.ts';

/**
 * The types of events. Merchants can receive all types except `app.credentials_changed`, which only administrators see.
 */
export const EVENT_TYPES = [
  'order.paid',
  'order.paid_late',
  'order.closed',
  'order.failed',
  'order.payer_action_required',
  'order.exception',
  'refund.approval_requested',
  'refund.succeeded',
  'refund.failed',
  'refund.abnormal',
  'dispute.opened',
  'dispute.updated',
  'dispute.closed',
  'skillpay.offered',
  'skillpay.fulfilled',
  'coin.credited',
  'coin.debited',
  'app.credentials_changed',
] as const;

/** The type of the events that only administrators see. */
const ADMIN_EVENT = 'app.credentials_changed';

/** Returns whether merchants can receive events of this type. */
export function isMerchantEvent(type: string): boolean {
  return type !== ADMIN_EVENT;
}

/** The types of events that are sent to webhooks. */
export const MERCHANT_EVENT_TYPES = EVENT_TYPES.filter((type) => type !== ADMIN_EVENT);

/** Records `app.credentials_changed` for the project's console application, so that no merchant receives it. */
export function emitCredentialChange(
  now: () => Date,
  consoleApp: (project: string, at: Date) => Pick<ApiAppRow, 'clientId'>,
): EmitCredentialChange {
  const record = recordEvents(now);
  return async (tx, { clientId, project, change, by }) => {
    const at = now();
    await record(tx, {
      type: ADMIN_EVENT,
      clientId: consoleApp(project, at).clientId,
      project,
      objectNo: clientId,
      dedupe: randomUUID(),
      since: at,
      object: { clientId, change, by },
    });
  };
}

/**
 * Creates the function that appends an event and its delivery in the transaction of the change, so that nothing is sent
 * before the commit. An event with the same object, type and dedupe value is recorded only once.
 */
export function recordEvents(now: () => Date) {
  return async (tx: Tx, event: NewEvent): Promise<void> => {
    const { deliveryId } =
      (await appendEvent(tx, {
        id: `evt_${randomBytes(12).toString('hex')}`,
        type: event.type,
        clientId: event.clientId,
        project: event.project,
        objectNo: event.objectNo,
        dedupe: event.dedupe,
        payload: event.object,
        notifyUrl: event.notifyUrl ?? null,
        traceParent: traceParent(),
        createdAt: now(),
        since: event.since,
      })) ?? {};
    if (deliveryId) await tx.afterCommit('deliver-event', { deliveryId });
  };
}
