import { hasLiveMoney } from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import { LocalError } from '../errors.ts';

/** Debug would put applications with published secrets beside real money. */
export class DebugBesideLive extends LocalError {
  constructor() {
    super('debug_beside_live', 409, 'Debug is on, but this database has a live channel configuration or live orders.', {
      hint: 'Set Debug = false, or use another database.',
    });
  }
}

/** Throws DebugBesideLive when there is a live configuration or a live order; call it before Debug creates anything. */
export async function refuseDebugBesideLive(store: Store): Promise<void> {
  if (await store.read(hasLiveMoney)) throw new DebugBesideLive();
}
