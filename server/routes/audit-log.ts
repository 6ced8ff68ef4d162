import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { AUDIT_FORMATS, type ExportAudit } from '../identity/audit.ts';
import type { AuditFilter, AuditRow } from '../identity/ports.ts';
import { Bom, Paging, SafeText, TimeRange, exportReply, page } from './schemas/fields.ts';
import { AuditLine, actorOf, presentAuditLine } from './schemas/identity.ts';

const Filters = {
  ...TimeRange,
  actor: SafeText(1, 128).optional(),
  action: SafeText(1, 64).optional(),
  target: SafeText(1, 256).optional(),
};
const ListQuery = z.object({ ...Paging, ...Filters });
const ExportQuery = z.object({ ...Filters, format: z.enum(AUDIT_FORMATS).default('csv'), bom: Bom });

interface AuditLogPorts {
  auditLines(filter: AuditFilter): Promise<AuditRow[]>;
  exportAudit: ExportAudit;
}

/** Routes that list and export the audit log, newest entry first. */
export function auditLogRoutes({ auditLines, exportAudit }: AuditLogPorts): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/audit-log:
   *   get:
   *     tags: [Audit log]
   *     operationId: listAuditLog
   *     summary: List audit log entries
   *     description: >-
   *       Secrets are masked. The `hash` of an entry is computed with a key of the service over the entry and the hash of the previous
   *       entry.
   */
  router.get(
    '/api/v1/audit-log',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'service' }, query: ListQuery, returns: AuditLine, list: true },
      async ({ query: { createdFrom, createdTo, ...filter } }) =>
        page(
          await auditLines({ ...filter, from: createdFrom, to: createdTo }),
          filter.limit,
          ({ at, id }) => ({ createdAt: at, id: String(id) }),
          presentAuditLine,
        ),
    ),
  );

  /**
   * @openapi
   * /api/v1/audit-log/export:
   *   get:
   *     tags: [Audit log]
   *     operationId: exportAuditLog
   *     summary: Export audit log entries as CSV or NDJSON
   *     description: >-
   *       Accepts the same filters as the list. Newest first. The response is streamed and may be large. The export itself is recorded
   *       as an entry. In CSV, text that a spreadsheet would interpret as a formula is prefixed with an apostrophe. If the connection
   *       breaks, the file is incomplete.
   */
  router.get(
    '/api/v1/audit-log/export',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'service' },
        query: ExportQuery,
        raw: 'stream',
        answers: { 200: { 'text/csv': 'text', 'application/x-ndjson': 'text' } },
      },
      async ({ query: { format, bom, createdFrom, createdTo, ...filter }, caller, request }) => {
        const lines = { ...filter, from: createdFrom, to: createdTo, show: presentAuditLine };
        return exportReply('audit-log', { format, bom }, await exportAudit(actorOf(caller, request), lines, format));
      },
    ),
  );
  return router;
}
