import { identityQueries } from '../../server/db/queries/identity.ts';
import { verifyAuditChain } from '../../server/identity/audit-chain.ts';
import { type BookCheckResult, checkBooks } from '../../server/payments/books.ts';
import type { TestDatabase } from './database.ts';

/** The books of a database. */
export interface Proven {
  ok: boolean;
  pages: number;
  proofs: BookCheckResult[];
}

/** Proves the books page by page, and puts the pages together. */
export async function proveBooks({ store }: Pick<TestDatabase, 'store'>, limit = 2_000): Promise<Proven> {
  const prove = checkBooks({ store, now: () => new Date() }, (part) => verifyAuditChain(store, identityQueries, part));
  let page = await prove({ limit });
  const proofs = page.proofs.map((proof) => ({ ...proof, examples: [...proof.examples] }));
  let pages = 1;
  for (; page.nextCursor !== null; pages += 1) {
    page = await prove({ cursor: page.nextCursor, limit });
    for (const [place, { count, examples }] of page.proofs.entries()) {
      const sum = proofs[place]!;
      sum.count += count;
      sum.ok &&= count === 0;
      sum.examples.push(...examples);
    }
  }
  return { ok: proofs.every(({ ok }) => ok), pages, proofs };
}
