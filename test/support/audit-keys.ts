import { createEncryption, type MasterKey } from '../../server/db/encryption.ts';
import type { Store } from '../../server/db/store.ts';
import { type AuditKeys, createAuditKeys, deriveAuditKey } from '../../server/identity/audit.ts';

/** The master key of tests that only need it for the audit log. */
export const auditMaster: MasterKey = { id: '00000000', key: Buffer.alloc(32, 9) };
/** The key of the audit log under that master key. */
export const auditKey = deriveAuditKey(auditMaster);

/** Encrypts under the master key of these tests. */
export const testSealing = createEncryption([auditMaster]);

/** The keys of the audit log under these master keys. */
export function auditKeysOf(store: Store, masterKeys: readonly MasterKey[] = [auditMaster]): AuditKeys {
  return createAuditKeys({ store, masterKeys, encryption: createEncryption(masterKeys) });
}
