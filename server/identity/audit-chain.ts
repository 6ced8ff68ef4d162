import { createHmac } from 'node:crypto';
import type { AuditRow } from '../db/entities/identity.ts';
import type { AuditKey } from './audit-keys.ts';

/** What the first line of the log follows. */
export const firstHash = '0'.repeat(64);

type Line = Omit<AuditRow, 'id' | 'hash'>;

/** The hash of a line, over the hash before it and every column: HMAC-SHA-256 under the key that the line names. */
export function chainHash(line: Line, { id, key }: AuditKey): string {
  const { previousHash, at, actorKind, actor, action, target, before, after, ip, requestId } = line;
  const facts = [id, previousHash, at.toISOString(), actorKind, actor, action, target, before, after, ip, requestId];
  const text = JSON.stringify(facts.map((fact) => ordered(fact ?? null)));
  return createHmac('sha256', key).update(text).digest('hex');
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
