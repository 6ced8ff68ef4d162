import { hasLiveMoney } from '../db/queries/credentials.ts';
import type { Store } from '../db/store.ts';
import { Conflict, LocalError } from '../errors.ts';
import type { Mode } from '../payments/channel.ts';

export interface Purpose {
  debug: boolean;
  environment: 'development' | 'staging' | 'production';
}

/**
 * The service was started with the setting Debug or in staging, but the database has a live configuration or live
 * orders (409).
 */
export class BesideLive extends LocalError {
  constructor({ debug }: Purpose) {
    const what = 'but this database has a live channel configuration or live orders.';
    if (debug)
      super('debug_beside_live', 409, `Debug is on, ${what}`, {
        hint: 'Set Debug = false, or use another database.',
      });
    else
      super('staging_beside_live', 409, `Server.Environment is staging, ${what}`, {
        hint: 'Use a separate database for staging. To check a copy of the production database, run payctl server restore-check.',
      });
  }
}

/**
 * Throws BesideLive if the database has live configurations or live orders, and the service runs with the setting Debug
 * or in staging. Debug would add applications with publicly known secrets. A staging service would process the orders
 * of production. Call this function before the first write.
 */
export async function refuseBesideLive(store: Store, purpose: Purpose): Promise<void> {
  if (!purpose.debug && purpose.environment !== 'staging') return;
  if (await store.read(hasLiveMoney)) throw new BesideLive(purpose);
}

/** Throws a 409 for `live` with the setting Debug or in staging, and for `simulator` in production. */
export function refuseMode({ debug, environment }: Purpose, mode: Mode): void {
  if (debug && mode === 'live')
    throw new Conflict('debug_refuses_live', 'A live configuration cannot be written while Debug is on.', {
      hint: 'Set Debug = false. While Debug is on, test applications with publicly known secrets are active.',
    });
  if (environment === 'staging' && mode === 'live')
    throw new Conflict('staging_refuses_live', 'A live configuration cannot be written in staging.', {
      hint: 'Use the sandbox of the channel or the simulator; live configurations belong to production.',
    });
  if (environment === 'production' && mode === 'simulator')
    throw new Conflict('production_refuses_simulator', 'A simulator configuration cannot be written in production.', {
      hint: 'Use the live account or the sandbox of the channel, or run a staging service.',
    });
}
