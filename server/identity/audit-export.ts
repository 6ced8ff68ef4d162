import { Readable } from 'node:stream';
import { csvLine } from '../csv.ts';
import type { Store } from '../db/store.ts';
import { type Audit, by } from './audit.ts';
import type { Actor, AuditFilter, AuditRow, IdentityQueries } from './ports.ts';

/** Shapes of the export. */
export const AUDIT_FORMATS = ['csv', 'ndjson'] as const;
/** One of them. */
export type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** A line of the audit log as it leaves. */
export type ShownLine = Record<string, unknown>;

/** What an export of the audit log needs. */
export interface AuditExportPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'auditLines'>;
  audit: Audit;
}

/** Which lines are exported. */
export type ExportedLines = Omit<AuditFilter, 'limit' | 'cursor'>;

const COLUMNS = [
  'id',
  'at',
  'actorKind',
  'actor',
  'action',
  'target',
  'before',
  'after',
  'ip',
  'requestId',
  'previousHash',
  'hash',
] as const;

const BATCH = 500;

/**
 * All lines that match, newest first, as CSV or one JSON document a line, read in batches while the reader takes them. That
 * somebody asked for it is in the log before the first line leaves, and so the first line of an export without a filter.
 */
export function exportAudit({ store, queries, audit }: AuditExportPorts) {
  return async (
    actor: Actor,
    { show, ...filter }: ExportedLines & { show: (row: AuditRow) => ShownLine },
    format: AuditFormat,
  ): Promise<Readable> => {
    const deed = { action: 'audit-log.exported', target: '*', after: { format, filter } };
    await store.transaction((tx) => audit(tx, { ...by(actor), ...deed }));
    const line = format === 'csv' ? toCsv : (shown: ShownLine) => `${JSON.stringify(shown)}\n`;
    return Readable.from(parts(), { objectMode: false, highWaterMark: 64 * 1024 });

    async function* parts(): AsyncGenerator<Buffer> {
      if (format === 'csv') yield Buffer.from(csvLine(COLUMNS));
      let cursor: AuditFilter['cursor'];
      for (;;) {
        const place = cursor && { cursor };
        const rows = await store.read((tx) => queries.auditLines(tx, { ...filter, ...place, limit: BATCH }));
        const batch = rows.slice(0, BATCH);
        if (batch.length > 0) yield Buffer.from(batch.map((row) => line(show(row))).join(''));
        const last = batch.at(-1);
        if (!last || rows.length <= BATCH) return;
        cursor = { createdAt: last.at, id: String(last.id) };
      }
    }
  };
}

/** What routes may call. */
export type ExportAudit = ReturnType<typeof exportAudit>;

function toCsv(shown: ShownLine): string {
  return csvLine(
    COLUMNS.map((name) => {
      const value = shown[name];
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null);
    }),
  );
}
