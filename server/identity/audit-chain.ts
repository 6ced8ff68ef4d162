import { createHash } from 'node:crypto';
import type { AuditRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import type { IdentityQueries } from './ports.ts';

/** What the first line of the log follows. */
export const firstHash = '0'.repeat(64);

type Line = Omit<AuditRow, 'id' | 'hash'>;

/** The hash of a line: SHA-256 over the hash before it and every column, keys in alphabetical order. */
export function chainHash(line: Line): string {
  const { previousHash, at, actorKind, actor, action, target, before, after, ip, requestId } = line;
  const facts = [previousHash, at.toISOString(), actorKind, actor, action, target, before, after, ip, requestId];
  return createHash('sha256')
    .update(JSON.stringify(facts.map((fact) => ordered(fact ?? null))))
    .digest('hex');
}

/** What a proof of the audit log found. */
export interface AuditProof {
  readonly lines: number;
  /** The hash of the last line; keep it elsewhere to see later whether lines were cut off the end. */
  readonly tip: string;
  /** The number of the last line that was read. */
  readonly last: bigint;
  /** The first line that was changed, or whose neighbour is missing. */
  readonly broken?: { readonly id: string; readonly reason: 'line_changed' | 'line_missing' };
}

const pageSize = 1000;

/** Which lines are read: those after one, so many at most. */
export interface AuditPart {
  readonly after: bigint;
  readonly lines: number;
}

/** Reads the log in order, all of it or a part, and proves that no line was changed, removed from the middle, or put in. */
export async function verifyAuditChain(
  store: Store,
  { auditAfter }: Pick<IdentityQueries, 'auditAfter'>,
  part: AuditPart = { after: 0n, lines: Number.POSITIVE_INFINITY },
): Promise<AuditProof> {
  let tip = await tipAt(store, auditAfter, part.after);
  let lines = 0;
  for (let last = part.after; ;) {
    const from = last;
    const most = Math.min(pageSize, part.lines - lines);
    const page = most > 0 ? await store.read((tx) => auditAfter(tx, from, most)) : [];
    for (const line of page) {
      const id = String(line.id);
      if (line.previousHash !== tip) return { lines, tip, last, broken: { id, reason: 'line_missing' } };
      if (chainHash(line) !== line.hash) return { lines, tip, last, broken: { id, reason: 'line_changed' } };
      tip = line.hash;
      lines += 1;
      last = BigInt(line.id);
    }
    if (page.length < pageSize) return { lines, tip, last };
  }
}

/** What the line after another one must follow; nothing, when that one has gone meanwhile. */
async function tipAt(store: Store, auditAfter: IdentityQueries['auditAfter'], id: bigint): Promise<string> {
  if (id === 0n) return firstHash;
  const [line] = await store.read((tx) => auditAfter(tx, id - 1n, 1));
  return line && BigInt(line.id) === id ? line.hash : '';
}

/** The database keeps JSON members in an order of its own. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, ordered(member)]),
  );
}
