import type { Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { Tx } from '../db/store.ts';
import { invalid } from './refusals.ts';

export type {
  CoinAccountRow,
  CoinEntryRow,
  CoinRow,
  PayerRow,
  ProductRow,
  ProjectRow,
} from '../db/entities/catalog.ts';
export type { UserTotal } from '../db/queries/catalog-lists.ts';

/** A change that an administrator made, for the audit log; call it last in a transaction. */
export function note(audit: Audit) {
  return (tx: Tx, actor: Actor, action: string, target: string, before: object | null, after: object | null) => {
    const { kind: actorKind, name, ip, requestId } = actor;
    return audit(tx, { actorKind, actor: name, ip, requestId, action, target, before, after });
  };
}

/** The members of a patch that were sent; `null` stays, it clears. */
export function given<T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as never;
}

/** Throws a 400 unless the project exists; it cannot go away before the transaction ends. */
export async function requireProject(tx: Tx, project: string): Promise<void> {
  if (await tx.projects.lock({ code: project })) return;
  throw invalid('/project', 'project_unknown', 'does not exist');
}
