import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { AuditFilter, AuditRow } from '../../identity/ports.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { Paging, SafeText, TimeRange } from '../wire/fields.ts';
import { AuditLine, presentAuditLine } from '../wire/identity.ts';
import { page } from '../wire/page.ts';

const Filter = z.object({
  ...Paging,
  ...TimeRange,
  actor: SafeText(1, 128).optional(),
  action: SafeText(1, 64).optional(),
  target: SafeText(1, 256).optional(),
});

/** Who did what, newest first. */
export function auditLogRoutes({ auditLines }: { auditLines(filter: AuditFilter): Promise<AuditRow[]> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/audit-log:
   *   get:
   *     tags: [Audit log]
   *     summary: List audit log entries
   *     description: Secrets are masked. The `hash` of an entry authenticates the entry and the hash of the previous one with a key of the service.
   */
  router.get(
    '/api/v1/audit-log',
    endpoint(
      { auth: { admin: 'viewer', reach: 'service' }, query: Filter, returns: AuditLine, list: true },
      async ({ query: { createdFrom, createdTo, ...filter } }) =>
        page(
          await auditLines({ ...filter, from: createdFrom, to: createdTo }),
          filter.limit,
          ({ at, id }) => ({ createdAt: at, id: String(id) }),
          presentAuditLine,
        ),
    ),
  );
  return router;
}
