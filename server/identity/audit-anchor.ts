import type { Store, Tx } from '../db/store.ts';
import { type Audit, by, createAudit } from './audit.ts';
import { KEYED } from './audit-chain.ts';
import type { AuditKey, AuditKeys } from './audit-keys.ts';
import type { Actor } from './ports.ts';

const service: Actor = { kind: 'system', name: 'service' };

/** What the migration to keyed lines does behind itself: a line that vouches for those that stand there, once and never again. */
export function startKeyedAudit({ now, key }: { now: () => Date; key: AuditKey }) {
  return async (tx: Tx, migrations: readonly string[]): Promise<void> => {
    if (migrations.includes('0009-keyed-audit')) await vouch(tx, { now, key });
  };
}

async function vouch(tx: Tx, { now, key }: { now: () => Date; key: AuditKey }): Promise<void> {
  const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
  if (!last) return;
  const audit = createAudit({ now, key });
  await audit(tx, { ...by(service), action: KEYED, target: String(last.id), after: { tip: last.hash } });
}

/**
 * Has a line of the newest key stand behind those that replicas of the release before, or of the key before, still wrote:
 * from then on nobody changes them unseen. Resolves with the tip.
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
