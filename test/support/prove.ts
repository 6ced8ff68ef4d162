import { identityQueries } from '../../server/db/queries/identity.ts';
import { readAuditPlace, verifyAuditChain } from '../../server/identity/audit-proof.ts';
import type { Identity } from '../../server/identity/identity.ts';
import { type LedgerCheckResult, checkLedger } from '../../server/payments/ledger-check.ts';
import { auditKeysOf } from './audit-keys.ts';
import type { TestDatabase } from './database.ts';

/** The ledger check of a database. */
interface Proven {
  ok: boolean;
  pages: number;
  proofs: LedgerCheckResult[];
}

/** Checks the ledgers page by page and joins the pages; the audit log of a service under its own keys. */
export async function proveBooks(
  { store, identity }: Pick<TestDatabase, 'store'> & { identity?: Pick<Identity, 'verifyAudit'> },
  limit = 2_000,
): Promise<Proven> {
  const now = () => new Date();
  const keys = auditKeysOf(store);
  const prove = checkLedger(
    { store, now },
    {
      verify:
        identity?.verifyAudit ??
        ((known, part) => verifyAuditChain({ store, now }, identityQueries, keys, known, part)),
      readPlace: readAuditPlace,
    },
  );
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
