import type { Config } from '../../config/config.ts';
import type { Store } from '../db/store.ts';
import { by, keepFormerAuditKeys } from '../identity/audit.ts';
import type { OfflinePorts } from '../identity/offline.ts';
import type { Actor } from '../identity/ports.ts';

/** Keeps the audit log's keys of older master keys, re-wraps every sealed record with the newest one, then writes the audit row. */
export async function rotateSeals(
  store: Store,
  config: Config,
  { audit, now }: Pick<OfflinePorts, 'audit' | 'now'>,
  actor: Actor,
): Promise<{ keyId: string; rewrapped: number }> {
  const { rotateMasterKey } = await import('../credentials/rotate.ts');
  const { createSealing } = await import('../credentials/sealing.ts');
  const { masterKeys } = config.security;
  await store.transaction((tx) => keepFormerAuditKeys(tx, masterKeys, createSealing(masterKeys), now()));
  const result = await rotateMasterKey(store, masterKeys);
  await store.transaction((tx) =>
    audit(tx, { ...by(actor), action: 'keys.rotate', target: result.keyId, after: { rewrapped: result.rewrapped } }),
  );
  return result;
}
