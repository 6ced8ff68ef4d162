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

/**
 * Opens an exception (a case for an operator), unless the order already has one with the same kind and `dedupe` value.
 */
export type RaiseException = (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;

export interface EffectPorts extends Pick<Ports, 'now' | 'recordEvent'> {
  raise: RaiseException;
}

export interface CatalogPorts extends Pick<Ports, 'store' | 'reports' | 'now' | 'recordEvent' | 'log'> {
  audit: Audit;
  /** The console application of a project owns the orders that administrators create (identity/api-app-rows.ts). */
  consoleApp: (project: string, at: Date) => ApiAppRow;
  kindOf: Channels['kindOf'];
  /** Adjustments that add more coins than this number require a confirmation of password and second factor. */
  coinsAbove: number;
  /**
   * Returns why the service would refuse to send requests to the handler URL of a product (the merchant's URL that
   * handles paid pay-per-call requests). Returns undefined if the URL is allowed.
   */
  urlFault: UrlRule;
}

/**
 * Returns a function that writes an administrator's change to the audit log. Call that function last in a transaction,
 * because it locks the audit log until the commit.
 */
export function note(audit: Audit) {
  return (tx: Tx, actor: Actor, action: string, target: string, before: object | null, after: object | null) => {
    const { kind: actorKind, name, ip, requestId } = actor;
    return audit(tx, { actorKind, actor: name, ip, requestId, action, target, before, after });
  };
}

/**
 * Removes the fields that the caller did not send (undefined). Fields with `null` are kept, because `null` clears the
 * stored value.
 */
export function given<T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as never;
}

/** Throws a 400 if the project does not exist. Otherwise locks it, so that it is not deleted before the commit. */
export async function requireProject(tx: Tx, project: string): Promise<void> {
  if (await tx.projects.lock({ code: project })) return;
  throw invalid('/project', 'project_unknown', 'does not exist');
}
