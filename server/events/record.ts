import { randomBytes } from 'node:crypto';
import type { Tx } from '../db/tx.ts';
import type { NewEvent } from '../payments/ports.ts';

/** Appends to the durable event log in the transaction of the move; the same (object, type, dedupe) happens once. */
export function recordEvents(now: () => Date) {
  return async (tx: Tx, event: NewEvent): Promise<void> => {
    await tx.events.insertIfNew({
      id: `evt_${randomBytes(12).toString('hex')}`,
      type: event.type,
      clientId: event.clientId,
      project: event.project,
      objectNo: event.objectNo,
      dedupe: event.dedupe,
      payload: event.object,
      createdAt: now(),
    });
  };
}
