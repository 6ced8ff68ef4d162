import { BOOK_CHECKS, findViolations, type Violation } from '../db/queries/books.ts';
import type { Ports } from './ports.ts';

/** The result of one check. */
export interface BookCheckResult {
  check: string;
  promise: string;
  ok: boolean;
  count: number;
  examples: Violation[];
}

/** All checks together. */
export interface Books {
  ok: boolean;
  checkedAt: string;
  proofs: BookCheckResult[];
}

/** Says where the chain of the audit log breaks, if it does. */
export type CheckAuditChain = () => Promise<{ lines: number; broken?: { id: string; reason: string } | undefined }>;

/** Verifies ledger consistency: sums, histories, events, coins, what is due, and the audit log. Reads only. */
export function checkBooks({ store, now }: Pick<Ports, 'store' | 'now'>, checkChain: CheckAuditChain) {
  return async (): Promise<Books> => {
    const proofs: BookCheckResult[] = [];
    for (const check of BOOK_CHECKS) {
      const { count, examples } = await store.read((tx) => findViolations(tx, check));
      proofs.push({ check: check.check, promise: check.promise, ok: count === 0, count, examples });
    }
    const { broken } = await checkChain();
    proofs.push({
      check: 'audit-log',
      promise: 'the hash chain of the audit log is intact',
      ok: broken === undefined,
      count: broken ? 1 : 0,
      examples: broken ? [{ id: broken.id, detail: broken.reason }] : [],
    });
    return { ok: proofs.every(({ ok }) => ok), checkedAt: now().toISOString(), proofs };
  };
}
