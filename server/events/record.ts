import { randomBytes } from 'node:crypto';
import { appendEvent } from '../db/queries/events.ts';
import type { Tx } from '../db/store.ts';
import type { NewEvent } from '../payments/ports.ts';
import { traceParent } from '../tracing.ts';

/**
 * Appends to the durable event log in the transaction of the move, with the delivery that tells about it; the same
 * (object, type, dedupe) happens once. Nothing is sent before the transaction commits: the row
 * that says so commits with it.
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
    if (deliveryId) await tx.wake('deliver-event', { deliveryId });
  };
}
