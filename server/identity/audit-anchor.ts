import type { Store } from '../db/store.ts';
import { type Audit, by, SERVICE } from './audit.ts';
import type { AuditKeys } from './audit-keys.ts';
import type { KnownTip } from './audit-tip.ts';

/**
 * Has a line of the newest key stand behind those that replicas with the former key still wrote: from then on a change of
 * them is found; and behind a loss of lines that this process knows of. Resolves with the tip.
 */
export async function anchorAudit({
  store,
  audit,
  auditKeys,
  known,
}: {
  store: Store;
  audit: Audit;
  auditKeys: AuditKeys;
  known: KnownTip;
}): Promise<string | undefined> {
  return store.transaction(async (tx) => {
    const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    const isLost = (await known.lost(tx, last)) !== undefined;
    if (!isLost && (!last || last.keyId === auditKeys.newest.id)) return last?.hash;
    await audit(tx, { ...by(SERVICE), action: 'audit.anchor', target: String(last?.id ?? 0) });
    const [anchor] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    return anchor?.hash;
  });
}
