import { setTimeout as sleep } from 'node:timers/promises';
import { BUSY } from '../../errors.ts';
import type { Store, Tx } from '../store.ts';

/** Who waits for a whole table has everybody else wait behind it, so nobody does for longer than this. */
const WAIT_MS = 150;
const TRIES = 40;
const PAUSE_MS = 250;

/**
 * Runs a transaction that needs a table for itself for a moment. It gives way at once to whoever uses the table, and tries
 * again for some seconds; false when the table was never free.
 */
export async function whenFree(store: Store, work: (tx: Tx) => Promise<void>, tries = TRIES): Promise<boolean> {
  for (let left = tries; left > 0; left -= 1) {
    try {
      await store.transaction(async (tx) => {
        await tx.sql(`set local lock_timeout = ${WAIT_MS}`);
        await work(tx);
      });
      return true;
    } catch (error) {
      if (!BUSY.test(String((error as { code?: unknown }).code))) throw error;
      if (left > 1) await sleep(PAUSE_MS);
    }
  }
  return false;
}
