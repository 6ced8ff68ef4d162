import type { Config } from '../../config/config.ts';
import type { Store } from '../db/store.ts';
import { by, type Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';

/** Re-wraps every sealed record with the newest master key, then writes the audit row. */
export async function rotateSeals(
  store: Store,
  config: Config,
  audit: Audit,
  actor: Actor,
): Promise<{ keyId: string; rewrapped: number }> {
  const { rotateMasterKey } = await import('../credentials/rotate.ts');
  const result = await rotateMasterKey(store, config.security.masterKeys);
  await store.transaction((tx) =>
    audit(tx, { ...by(actor), action: 'keys.rotate', target: result.keyId, after: { rewrapped: result.rewrapped } }),
  );
  return result;
}
