import type { OrderRow } from '../db/entities/orders.ts';
import type { SkillOrderRow } from '../db/entities/skillpay.ts';
import type { Store } from '../db/store.ts';
import type { Tx } from '../db/tx.ts';
import type { Mode, PayWay } from '../payments/channel.ts';
import type { ExceptionKind } from '../payments/exception-kinds.ts';
import type { KeyClaim } from '../payments/idempotency.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { PlacePayment } from '../payments/place.ts';
import type { Asker, Channels, NewEvent } from '../payments/ports.ts';
import type { QueryPayment, Seen } from '../payments/query.ts';
import type { RefundIntent } from '../payments/refund-intent.ts';
import type { RefundView } from '../payments/view.ts';
import type { OrderStatus } from '../payments/order.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { PaymentCodes } from './payment-code.ts';

/** What pay-per-call needs of payments: its orders are ordinary orders. */
export interface SkillPayments {
  place: PlacePayment;
  /** Asks the channel while the order is open and the last answer is not fresh. */
  query: QueryPayment;
  /** Asks the channel in any state, and settles what it says. */
  refresh: (order: OrderRow, via: { cause: string; actor: string }) => Promise<Seen>;
  /** Takes money that a payer approved (PayPal). */
  capture: (orderNo: string, cause: string) => Promise<unknown>;
  refund: PaymentOperations['refund'];
  /** R1 in the caller's transaction, under the order's lock. */
  openRefund: (tx: Tx, order: OrderRow, intent: RefundIntent) => Promise<unknown>;
  /** Does what is due for a refund; the caller has claimed it. */
  checkRefund: (refundNo: string) => Promise<void>;
  raise: (
    tx: Tx,
    order: OrderRow,
    kind: ExceptionKind,
    also: { dedupe: string; refundNo?: string; detail?: object },
  ) => Promise<unknown>;
  statusOf: (order: OrderRow) => OrderStatus;
  viewRefund: (refund: RefundRow, payWay: PayWay) => RefundView;
  /** SHA-256 (hex) of a value's RFC 8785 form. */
  digest: (value: unknown) => string;
}

/** Sends a POST to an address that an operator gave; throws with a stable word in `why` (outgoing/sender.ts). */
export type SendUpstream = (request: {
  url: string;
  headers: Record<string, string>;
  body: string;
  timeoutMs?: number | undefined;
}) => Promise<{ status: number; headers: Record<string, string>; body: Buffer }>;

/** Everything the operations of this folder need. */
export interface SkillPorts {
  store: Store;
  now: () => Date;
  payments: SkillPayments;
  channels: Pick<Channels, 'forNew'>;
  recordEvent: (tx: Tx, event: NewEvent) => Promise<void>;
  codes: PaymentCodes;
  send: SendUpstream;
  publicUrl: string;
  /** First part of `<Brand>-Pay-Required`. */
  brand: string;
  /** How long an offer can be paid when its product does not say (seconds). */
  offerTtlSeconds: number;
  unpaidOffersPerApp: number;
  /** With Debug the skill `demo` is called when none is named. */
  debug: boolean;
  /** DevMode: makes the simulator pay an order; undefined = never. */
  paySimulated: ((orderNo: string) => Promise<void>) | undefined;
  checkpoint: (name: string) => void;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
}

/** The application that calls. */
export interface SkillCaller {
  clientId: string;
  project: string;
}

/** What is called, as the body says it. */
export interface SkillRequest {
  resource?: string | undefined;
  input?: unknown;
  payWay?: PayWay | undefined;
}

/** An order and its pay-per-call part. */
export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** The asker of an application. */
export function askerOf({ clientId }: { clientId: string }): Asker {
  return { owner: { clientId }, actor: `app:${clientId}` };
}

/** The instant `seconds` after another. */
export function later(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000);
}

export type { KeyClaim, Mode };
