import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { LedgerCheckPage, LedgerCheckResults } from '../payments/ledger-check.ts';
import { Timestamp } from './schemas/fields.ts';

const BooksReport = z
  .object({
    ok: z.boolean().describe('Whether every check of this page passed.'),
    checkedAt: Timestamp,
    nextCursor: z.string().nullable().describe('`cursor` of the next page; null on the last page.'),
    proofs: z.array(
      z.object({
        check: z.string(),
        promise: z.string(),
        ok: z.boolean(),
        count: z.int().describe('Number of violations on this page.'),
        examples: z.array(z.object({ id: z.string(), detail: z.string() })),
      }),
    ),
    bills: z
      .object({
        read: z.int().describe('Number of bills of the last five weeks (one per account and day) that were read.'),
        unread: z.int().describe('Number of bills (one per account and day) that are overdue: none was read.'),
        quiet: z
          .array(z.string())
          .describe(
            'Accounts for which `quietAccount` was called. For these accounts the check cannot detect lost orders.',
          ),
      })
      .nullable()
      .describe('Bills on this page that the check compared, and missing bills; null on a page without bills.'),
    auditLog: z
      .object({
        lines: z.int(),
        tip: z
          .string()
          .describe(
            'Hash of the last line. Store it outside this service, and send it later as `tip`: then the check detects whether lines up to it were removed.',
          ),
      })
      .nullable()
      .describe(
        'The audit log from its first line to the end of this page; null on pages before the audit log begins.',
      ),
  })
  .meta({ id: 'BooksReport' });

const Query = z.object({
  cursor: z.string().max(4096).optional().describe('Opaque cursor: `nextCursor` of the previous page.'),
  limit: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a number from 1 to 10000')
    .transform(Number)
    .pipe(z.int().min(1).max(10_000))
    .default(2000)
    .describe('Orders, coin accounts, ledger entries, bills and audit lines per page, 1 to 10000.'),
  only: z
    .enum(['audit-log'])
    .optional()
    .describe(
      '`audit-log` = checks only the audit log. Send it with the first page; a `cursor` continues where the previous page ended.',
    ),
  tip: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional()
    .describe(
      'An earlier `tip` of the audit log. The check fails if the log no longer contains it. Send it with every page.',
    ),
  acceptUntil: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the id of a line')
    .transform(BigInt)
    .optional()
    .describe(
      'ID of an audit log line. Up to this line the check accepts lines with a former key at any time, and lost lines whose loss the service recorded. Send it with every page.',
    ),
});

/** Route for `payctl audit`: checks the consistency of the ledger. */
export function ledgerCheckRoutes({
  prove,
}: {
  prove: (page: LedgerCheckPage) => Promise<LedgerCheckResults>;
}): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/books:
   *   get:
   *     tags: [Audit]
   *     operationId: verifyBooks
   *     summary: Verify ledger consistency
   *     description: >-
   *       Checks orders against refunds, histories against states, events against state changes, coin balances against ledger entries,
   *       and the last weeks against the bills of the channels. It also checks the chain of the audit log, which is authenticated with a
   *       key. The check runs page by page: every order, coin account, ledger entry, bill and audit line is on exactly one page. The
   *       ledger is consistent if all pages are `ok`, up to the page without a `nextCursor`. All pages together read the whole database,
   *       so run the check rarely.
   */
  router.get(
    '/api/v1/books',
    endpoint({ auth: { admin: 'viewer', projectScope: 'service' }, query: Query, returns: BooksReport }, ({ query }) =>
      prove(query),
    ),
  );
  return router;
}
