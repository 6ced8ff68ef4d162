import type { Store } from '../db/store.ts';
import { type Audit, by } from './audit.ts';
import type { AuditKeys } from './audit-keys.ts';
import type { Actor } from './ports.ts';

const service: Actor = { kind: 'system', name: 'service' };

/**
 * Has a line of the newest key stand behind those that replicas with the former key still wrote: from then on a change of
 * them is found. Resolves with the tip.
 */
export async function anchorAudit({
  store,
  audit,
  auditKeys,
}: {
  store: Store;
  audit: Audit;
  auditKeys: AuditKeys;
}): Promise<string | undefined> {
  return store.transaction(async (tx) => {
    const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    if (!last || last.keyId === auditKeys.newest.id) return last?.hash;
    await audit(tx, { ...by(service), action: 'audit.anchor', target: String(last.id) });
    const [anchor] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    return anchor?.hash;
  });
}
