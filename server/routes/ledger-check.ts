import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { BookPage, LedgerCheckPorts } from '../payments/ledger-check.ts';
import { Timestamp } from './schemas/fields.ts';

const BooksReport = z
  .object({
    ok: z.boolean().describe('Whether every check of this page passed.'),
    checkedAt: Timestamp,
    nextCursor: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
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
        read: z.int().describe('Days of accounts of the last five weeks of which a bill was read.'),
        unread: z.int().describe('Days of accounts of which a bill should have come by now, and none was read.'),
        quiet: z
          .array(z.string())
          .describe('Accounts with quiet bills (`quietAccount`): there an order that was lost is not missed.'),
      })
      .nullable()
      .describe(
        'The bills that the check compared, and those that are missing, as far as this page goes; null on a page without bills.',
      ),
    auditLog: z
      .object({
        lines: z.int(),
        tip: z
          .string()
          .describe('Hash of the last line. Keep it outside: `tip` proves later that nothing up to it is gone.'),
      })
      .nullable()
      .describe('The audit log from its beginning to the end of this page; null before its first page.'),
  })
  .meta({ id: 'BooksReport' });

const Query = z.object({
  cursor: z.string().max(4096).optional().describe('Opaque: `nextCursor` of the previous page.'),
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
    .describe('Checks the audit log alone. Send it with the first page; a `cursor` goes on where its page ended.'),
  tip: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional()
    .describe('An earlier tip of the audit log, which must still be in it. Send it with every page.'),
  acceptUntil: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the id of a line')
    .transform(BigInt)
    .optional()
    .describe(
      'Up to this line, lines with a former key are accepted at any time, and losses of lines that the service noted. Send it with every page.',
    ),
});

/** Ledger consistency checks, for `payctl audit`. */
export function bookRoutes({ prove }: { prove: (page: BookPage) => Promise<LedgerCheckPorts> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/books:
   *   get:
   *     tags: [Audit]
   *     operationId: verifyBooks
   *     summary: Verify ledger consistency
   *     description: >
   *       Checks orders against refunds, histories against states, events against state changes, coin balances against ledger entries, the
   *       last weeks against the bills of the channels, and the chain of the audit log, which is authenticated with a key, a page at a
   *       time: every order, coin account, ledger entry, bill and audit line is on exactly one page. The ledger is consistent if every page
   *       up to the one without a `nextCursor` is `ok`. All pages together read the whole database, so run the check rarely.
   */
  router.get(
    '/api/v1/books',
    endpoint({ auth: { admin: 'viewer', projectScope: 'service' }, query: Query, returns: BooksReport }, ({ query }) =>
      prove(query),
    ),
  );
  return router;
}
