import type { AuditFilter } from '../../identity/ports.ts';
import type { AuditRow } from '../entities/identity.ts';
import type { ReadTx } from '../store.ts';
import { inOrder } from './identity-lists.ts';

/** Lines of the audit log, newest first, one more than `limit`. Their ids are in the order of their commits. */
export async function auditLines(tx: ReadTx, filter: AuditFilter): Promise<AuditRow[]> {
  const { actor = null, action = null, target = null, from = null, to = null, cursor } = filter;
  const before = cursor && /^\d{1,18}$/.test(cursor.id) ? cursor.id : null;
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from audit_log
      where (?::text is null or actor = ?) and (?::text is null or action = ?) and (?::text is null or target = ?)
        and (?::timestamptz is null or at >= ?) and (?::timestamptz is null or at < ?)
        and (?::bigint is null or id < ?::bigint)
      order by audit_log.id desc limit ?`,
    [actor, actor, action, action, target, target, from, from, to, to, before, before, filter.limit + 1],
  );
  return read(tx, ids);
}

/** Lines of the audit log in their own order, behind `after`. */
export async function auditAfter(tx: ReadTx, after: bigint, limit: number): Promise<AuditRow[]> {
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from audit_log where id > ?::bigint order by audit_log.id limit ?`,
    [String(after), limit],
  );
  return read(tx, ids);
}

/** The hash of the first line behind `after`, if there is one. */
export async function auditHashAfter(tx: ReadTx, after: string): Promise<string | undefined> {
  const text = `select hash from audit_log where id > ?::bigint order by audit_log.id limit 1`;
  return (await tx.prepared<{ hash: string }>(text, [after]))[0]?.hash;
}

async function read(tx: ReadTx, ids: readonly { id: string }[]): Promise<AuditRow[]> {
  const rows = await tx.audit.list({ id: ids.map(({ id }) => BigInt(id)) });
  return inOrder(ids, rows, ({ id }) => String(id));
}
