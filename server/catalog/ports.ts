import type { OrderRow } from '../db/entities/orders.ts';
import type { ApiAppRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import type { Tx } from '../db/tx.ts';
import type { Audit } from '../identity/audit.ts';
import type { KeyClaim } from '../payments/idempotency.ts';
import type { ExceptionKind } from '../payments/exception-kinds.ts';
import type { Channels, NewEvent } from '../payments/ports.ts';

/** Tells about something in the transaction of the thing itself (events/record.ts). */
export type RecordEvent = (tx: Tx, event: NewEvent) => Promise<void>;

/** Opens an exception of an order once per (kind, dedupe). */
export type RaiseException = (
  tx: Tx,
  order: OrderRow,
  kind: ExceptionKind,
  also: { dedupe: string; refundNo?: string; detail?: object },
) => Promise<unknown>;

/** What the effects of moving orders and refunds need. */
export interface EffectPorts {
  now: () => Date;
  recordEvent: RecordEvent;
  raise: RaiseException;
}

/** What the operations of the console and of merchants need. */
export interface CatalogPorts {
  store: Store;
  now: () => Date;
  audit: Audit;
  recordEvent: RecordEvent;
  /** Claims an Idempotency-Key in the transaction of the intent (payments/idempotency.ts). */
  claimKey: (tx: Tx, claim: KeyClaim | undefined, intentNo: string, now: Date) => Promise<void>;
  /** The row of a project's console application (identity/api-app-row.ts). */
  consoleApp: (project: string, at: Date) => ApiAppRow;
  /** What the channels take. */
  kindOf: Channels['kindOf'];
}
