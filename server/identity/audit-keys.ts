import { hash, hkdfSync } from 'node:crypto';
import type { MasterKey, Place, Sealing } from '../credentials/sealing.ts';
import type { Store, Tx } from '../db/store.ts';

/** What lines of the audit log are authenticated with; the id stands in each line and says nothing about the key. */
export interface AuditKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** The keys of the audit log: one writes, all of them verify. */
export interface AuditKeys {
  readonly newest: AuditKey;
  /** Those of the configured master keys, and those of master keys that were rotated away. */
  all(): Promise<{ configured: readonly AuditKey[]; former: readonly AuditKey[] }>;
}

/** The audit log's key of a master key (HKDF-SHA-256): who reads the database cannot make it. */
export function deriveAuditKey({ key: master }: Pick<MasterKey, 'key'>): AuditKey {
  const key = new Uint8Array(hkdfSync('sha256', master, 'unified-payment-service', 'audit-log', 32));
  return { id: hash('sha256', key).slice(0, 16), key };
}

/** What the keys are made of. */
export interface AuditKeyParts {
  store: Store;
  masterKeys: readonly MasterKey[];
  sealing: Pick<Sealing, 'open'>;
}

/** The keys of the audit log of this configuration. */
export function createAuditKeys({ store, masterKeys, sealing }: AuditKeyParts): AuditKeys {
  const configured = masterKeys.map(deriveAuditKey);
  const [newest] = configured;
  if (!newest) throw new TypeError('There is no master key.');
  return {
    newest,
    async all() {
      const rows = await store.read((tx) => tx.auditKeys.list({}));
      const former = rows.filter(({ keyId }) => keyId !== newest.id);
      return {
        configured,
        former: former.map(({ keyId, sealed }) => ({
          id: keyId,
          key: Buffer.from(sealing.open(placeOf(keyId), sealed), 'base64'),
        })),
      };
    },
  };
}

/** Keeps the keys of master keys that will be dropped: lines written under them must verify for ever. */
export async function keepFormerAuditKeys(
  tx: Tx,
  [, ...older]: readonly MasterKey[],
  { seal }: Pick<Sealing, 'seal'>,
  createdAt: Date,
): Promise<void> {
  for (const { id, key } of older.map(deriveAuditKey)) {
    if (await tx.auditKeys.find({ keyId: id })) continue;
    const sealed = seal(placeOf(id), Buffer.from(key).toString('base64'));
    await tx.auditKeys.insert({ keyId: id, sealed, createdAt });
  }
}

function placeOf(id: string): Place {
  return { table: 'audit_keys', id, column: 'sealed', version: 1 };
}
