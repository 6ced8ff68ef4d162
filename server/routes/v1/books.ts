import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { Books } from '../../payments/books.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { Timestamp } from '../wire/fields.ts';

const BooksReport = z
  .object({
    ok: z.boolean(),
    checkedAt: Timestamp,
    proofs: z.array(
      z.object({
        check: z.string(),
        promise: z.string(),
        ok: z.boolean(),
        count: z.int().describe('Number of violations.'),
        examples: z.array(z.object({ id: z.string(), detail: z.string() })),
      }),
    ),
  })
  .meta({ id: 'BooksReport' });

/** Ledger consistency checks, for `payctl audit`. */
export function bookRoutes({ prove }: { prove: () => Promise<Books> }): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/books:
   *   get:
   *     tags: [Audit]
   *     summary: Verify ledger consistency
   *     description: >
   *       Checks orders against refunds, histories against states, events against state changes, coin balances against ledger entries, and the hash chain of
   *       the audit log. Reads the whole database, so call it rarely.
   */
  router.get(
    '/api/v1/books',
    endpoint({ auth: { admin: 'viewer' }, returns: BooksReport }, () => prove()),
  );
  return router;
}
