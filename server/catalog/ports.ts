import type { OrderRow } from '../db/entities/orders.ts';
import type { ApiAppRow } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import type { Audit } from '../identity/audit.ts';
import type { Raised } from '../payments/core/change.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { Channels, Ports } from '../payments/ports.ts';

/** Opens an exception of an order once per (kind, dedupe). */
export type RaiseException = (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;

/** What the effects of moving orders and refunds need. */
export interface EffectPorts extends Pick<Ports, 'now' | 'recordEvent'> {
  raise: RaiseException;
}

/** What the operations of the console and of merchants need. */
export interface CatalogPorts extends Pick<Ports, 'store' | 'reports' | 'now' | 'recordEvent' | 'log'> {
  audit: Audit;
  /** The row of a project's console application (identity/api-app-row.ts). */
  consoleApp: (project: string, at: Date) => ApiAppRow;
  /** What the channels take. */
  kindOf: Channels['kindOf'];
  /** An adjustment that adds more coins than this has to be confirmed. */
  coinsAbove: number;
  /** Why the handler of a skill could never be called. */
  urlFault: UrlRule;
}
