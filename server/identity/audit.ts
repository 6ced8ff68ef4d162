import type { AuditRow } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { chainHash, firstHash } from './audit-chain.ts';
import type { AuditKey } from './audit-keys.ts';
import { type AuditTip, createKnownTip, type KnownTip } from './audit-tip.ts';
import { mask } from './mask.ts';
import type { Actor } from './ports.ts';

/** One thing that somebody did; secrets in `before` and `after` are masked when it is written. */
export interface AuditEntry {
  readonly actorKind: Actor['kind'];
  readonly actor: string;
  /** What was done, `noun.verb`, such as `app.rotate-secret`. */
  readonly action: string;
  /** To what, such as a client id. */
  readonly target: string;
  readonly before?: object | null;
  readonly after?: object | null;
  readonly ip?: string | null;
  readonly requestId?: string | null;
}

/**
 * Appends a line to the audit log in the transaction of the action itself: both commit or neither does.
 * Call it last in a transaction: it holds the log's lock until the commit.
 */
export type Audit = (tx: Tx, entry: AuditEntry) => Promise<void>;

/** What hears of a new tip of the audit log, after its commit (`Wake`). */
export const NEW_TIP = 'audit-tip';
/** What `NEW_TIP` tells. */
export type NewTip = AuditTip & Pick<AuditEntry, 'action'>;

/** The action of the line that every log has where there is an administrator. */
export const FIRST_ADMIN = 'bootstrap.admin';
/** The action of a line by which a writer says that a line which it saw committed is not in the log any more. */
export const LINES_LOST = 'audit.lines-lost';
/** The actor of a line that the service writes by itself. */
export const SERVICE: Actor = { kind: 'system', name: 'service' };

/** Makes the writer of the audit log. A loss that it finds becomes a line before its own: what is written on does not hide it. */
export function createAudit({
  now,
  key,
  known = createKnownTip(),
}: {
  now: () => Date;
  key: AuditKey;
  known?: KnownTip;
}): Audit {
  return async (tx, entry) => {
    await tx.advisoryLock('audit');
    const last = await lastLine(tx);
    const lost = await known.lost(tx, last);
    if (!lost) return append(tx, last, entry);
    const { after, hash: tip } = lost;
    await append(tx, last, { ...by(SERVICE), action: LINES_LOST, target: `behind ${after}`, before: { tip } });
    await append(tx, await lastLine(tx), entry);
  };

  async function append(tx: Tx, last: AuditRow | undefined, entry: AuditEntry): Promise<void> {
    const line = { at: now(), ...toLine(entry), previousHash: last?.hash ?? firstHash, keyId: key.id };
    const hash = chainHash(line, key);
    await tx.audit.insert({ ...line, hash });
    const tip: NewTip = { after: String(last?.id ?? 0), hash, action: line.action };
    await tx.wake(NEW_TIP, tip);
  }
}

async function lastLine(tx: Tx): Promise<AuditRow | undefined> {
  return (await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 }))[0];
}

/** The part of an audit entry that names the actor: spread it, `audit(tx, { ...by(actor), action, target })`. */
export function by({ kind, name, ip, requestId }: Actor): Pick<AuditEntry, 'actorKind' | 'actor' | 'ip' | 'requestId'> {
  return { actorKind: kind, actor: name, ip, requestId };
}

function toLine(entry: AuditEntry): Omit<AuditRow, 'id' | 'at' | 'previousHash' | 'hash' | 'keyId'> {
  return {
    actorKind: entry.actorKind,
    actor: entry.actor.slice(0, 128),
    action: entry.action.slice(0, 64),
    target: entry.target.slice(0, 256),
    before: mask(entry.before),
    after: mask(entry.after),
    ip: entry.ip?.slice(0, 64) ?? null,
    requestId: entry.requestId?.slice(0, 64) ?? null,
  } as Omit<AuditRow, 'id' | 'at' | 'previousHash' | 'hash' | 'keyId'>;
}
