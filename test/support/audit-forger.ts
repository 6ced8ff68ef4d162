import type { AuditRow } from '../../server/db/entities/identity.ts';
import type { Store } from '../../server/db/store.ts';
import { type AuditKey, chainHash, firstHash } from '../../server/identity/audit.ts';

/** All lines of the audit log in their order. */
export function auditRows(store: Store): Promise<AuditRow[]> {
  return store.read((tx) => tx.audit.list({}, { orderBy: { id: 'asc' } }));
}

/** Stands for no key at all, as somebody has it who may only write to the database. */
const NONE: AuditKey = { id: '', key: new Uint8Array() };

/** Puts these lines in the place of the whole log, hashed anew with a key or without one. */
export async function rewriteAudit(store: Store, rows: readonly AuditRow[], key = NONE): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.sql`delete from audit_log`;
    let previousHash = firstHash;
    for (const { hash: _, ...row } of rows) {
      const line = { ...row, previousHash, keyId: key.id };
      previousHash = chainHash(line, key);
      await tx.audit.insert({ ...line, hash: previousHash });
    }
  });
}

/** Appends a line with a key or without one. */
export async function appendAudit(store: Store, at: Date, key = NONE): Promise<string> {
  return store.transaction(async (tx) => {
    const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    const line = {
      at,
      actorKind: 'admin',
      actor: 'bob',
      action: 'app.update',
      target: 'app_1',
      before: null,
      after: null,
      ip: null,
      requestId: null,
      previousHash: last?.hash ?? firstHash,
      keyId: key.id,
    };
    await tx.audit.insert({ ...line, hash: chainHash(line, key) });
    const [written] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    return String(written?.id);
  });
}
