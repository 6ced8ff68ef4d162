import type { ApiAppRow } from '../db/entities/identity.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import type { Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Raised } from '../payments/core/transitions.ts';
import type { Channels, Ports } from '../payments/ports.ts';
import { invalid } from './errors.ts';

export type {
  CoinAccountRow,
  CoinEntryRow,
  CoinRow,
  PayerRow,
  ProductRow,
  ProjectRow,
} from '../db/entities/catalog.ts';
export type { UserTotal } from '../db/queries/catalog.ts';

/** Opens an exception (a case for an operator) for an order, once per (kind, dedupe). */
export type RaiseException = (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;

/** What the effects on orders and refunds need from other folders. */
export interface EffectPorts extends Pick<Ports, 'now' | 'recordEvent'> {
  raise: RaiseException;
}

/** What the operations for administrators and merchants need from other folders. */
export interface CatalogPorts extends Pick<Ports, 'store' | 'reports' | 'now' | 'recordEvent' | 'log'> {
  audit: Audit;
  /** Returns the row of a project's console application, which owns the orders of administrators (identity/api-app-rows.ts). */
  consoleApp: (project: string, at: Date) => ApiAppRow;
  /** Returns the facts about a channel, such as its currencies. */
  kindOf: Channels['kindOf'];
  /** An adjustment that adds more coins than this needs a confirmation of password and second factor. */
  coinsAbove: number;
  /** Returns why the sender would refuse a handler URL; undefined if it would not. */
  urlFault: UrlRule;
}

/** Writes an administrator's change to the audit log; call it last in a transaction. */
export function note(audit: Audit) {
  return (tx: Tx, actor: Actor, action: string, target: string, before: object | null, after: object | null) => {
    const { kind: actorKind, name, ip, requestId } = actor;
    return audit(tx, { actorKind, actor: name, ip, requestId, action, target, before, after });
  };
}

/** Returns the fields of a change that were sent; `null` is kept, because it clears a field. */
export function given<T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as never;
}

/** Throws a 400 unless the project exists; the lock keeps the project until the transaction ends. */
export async function requireProject(tx: Tx, project: string): Promise<void> {
  if (await tx.projects.lock({ code: project })) return;
  throw invalid('/project', 'project_unknown', 'does not exist');
}
