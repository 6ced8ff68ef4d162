import { auditHashAfter } from '../db/queries/audit.ts';
import type { ReadTx } from '../db/store.ts';

/** A line of the audit log: its hash, and the id behind which it is the first one. */
export interface AuditTip {
  readonly after: string;
  readonly hash: string;
}

/** The newest line of the audit log that this process saw committed; what writes to the database cannot change it. */
export interface KnownTip {
  /** Takes a line that was committed. */
  note(tip: AuditTip): void;
  /** Takes the last line of the log while nothing is known yet. */
  learn(tx: ReadTx): Promise<void>;
  /** The known line, when the log does not have it any more. `last` is the log's last line, if somebody read it anyway. */
  lost(tx: ReadTx, last?: { hash: string }): Promise<AuditTip | undefined>;
}

/** Knows nothing until a line is noted or learned. */
export function createKnownTip(): KnownTip {
  let known: AuditTip | undefined;
  return {
    note: ({ after, hash }) => void (known = { after, hash }),
    async learn(tx) {
      const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
      if (last) known ??= { after: String(BigInt(last.id) - 1n), hash: last.hash };
    },
    async lost(tx, last) {
      const tip = known;
      if (!tip || last?.hash === tip.hash) return undefined;
      return (await auditHashAfter(tx, tip.after)) === tip.hash ? undefined : tip;
    },
  };
}
