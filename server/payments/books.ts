import { BOOK_CHECKS, liesOf, type Lie } from '../db/queries/books.ts';
import type { Ports } from './ports.ts';

/** The result of one proof. */
export interface Proof {
  check: string;
  promise: string;
  ok: boolean;
  count: number;
  examples: Lie[];
}

/** All proofs together. */
export interface Books {
  ok: boolean;
  checkedAt: string;
  proofs: Proof[];
}

/** Says where the chain of the audit log breaks, if it does. */
export type ProveChain = () => Promise<{ lines: number; broken?: { id: string; reason: string } | undefined }>;

/** Proves the books: sums, histories, events, coins, what is due, and the audit log. Reads only. */
export function proveBooks({ store, now }: Pick<Ports, 'store' | 'now'>, proveChain: ProveChain) {
  return async (): Promise<Books> => {
    const proofs: Proof[] = [];
    for (const check of BOOK_CHECKS) {
      const { count, examples } = await store.read((tx) => liesOf(tx, check));
      proofs.push({ check: check.check, promise: check.promise, ok: count === 0, count, examples });
    }
    const { broken } = await proveChain();
    proofs.push({
      check: 'audit-log',
      promise: 'every line of the audit log follows from the one before',
      ok: broken === undefined,
      count: broken ? 1 : 0,
      examples: broken ? [{ id: broken.id, detail: broken.reason }] : [],
    });
    return { ok: proofs.every(({ ok }) => ok), checkedAt: now().toISOString(), proofs };
  };
}
