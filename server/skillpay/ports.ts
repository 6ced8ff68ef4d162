import type { ClosePayment, QueryPayment, Seen } from '../payments/orders/order.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { Outcome, PayWay } from '../payments/channel.ts';
import type { Raised } from '../payments/core/transitions.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { PlacePayment } from '../payments/orders/place.ts';
import type { Requester, Channels, Ports } from '../payments/ports.ts';
import type { RefundIntent } from '../payments/core/open-refund.ts';
import type { PaymentScheme } from './schemes/scheme.ts';
import type { SignedTerms } from './schemes/x402.ts';
import type { PaymentCodes } from './schemes/code.ts';

export type { SkillCaller, SkillPair } from './schemes/scheme.ts';

/** The payment operations that pay-per-call uses; its orders are ordinary orders. */
export interface SkillPayments {
  /** Marks an order as paid by a payment that the channel has just confirmed. */
  settleProven: (order: OrderRow, outcome: Extract<Outcome, { kind: 'paid' }>) => Promise<OrderRow>;
  close: ClosePayment;
  place: PlacePayment;
  /** Queries the channel if the order is open and its last response is not fresh. */
  query: QueryPayment;
  /** Queries the channel in any state of the order and stores the result. */
  refresh: (order: OrderRow, via: { cause: string; actor: string }) => Promise<Seen>;
  /** Captures a payment that the payer approved (PayPal). */
  capture: (order: OrderRow, cause: string) => Promise<unknown>;
  refund: PaymentOperations['refund'];
  /** Creates the refund in the caller's transaction, under the order's lock. */
  openRefund: (tx: Tx, order: OrderRow, intent: RefundIntent) => Promise<unknown>;
  /** Runs the next step of a refund that the caller has leased. */
  checkRefund: (refundNo: string) => Promise<void>;
  raise: (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;
}

/** A debit of a user's coins for one call. */
interface CoinCharge {
  project: string;
  coin: string;
  userId: string;
  amount: bigint;
  orderNo: string;
  clientId: string;
  memo: string;
}

/** Debits and credits coins in the caller's transaction. */
interface CoinCharges {
  /** Returns false and writes nothing when the balance is too low. */
  take: (tx: Tx, charge: CoinCharge) => Promise<boolean>;
  giveBack: (tx: Tx, charge: CoinCharge) => Promise<void>;
}

/** What the operations of this folder need from other folders. */
export interface SkillPorts extends Pick<
  Ports,
  'store' | 'reports' | 'now' | 'recordEvent' | 'publicUrl' | 'patience' | 'checkpoint' | 'log'
> {
  payments: SkillPayments;
  channels: Pick<Channels, 'forNew' | 'forNewAmong' | 'forOrder'>;
  /** Job: confirms to the channel that the agent's payer has received the content. */
  confirmDelivery: (orderNo: string) => Promise<void>;
  codes: PaymentCodes;
  terms: SignedTerms;
  charges: CoinCharges;
  /** Sends a request to an address that an operator configured. */
  send: SendOutgoing;
  /** The payment schemes; each 402 contains all of them. */
  schemes: readonly PaymentScheme[];
  /** Seconds in which an offer can be paid, unless its product sets another time. */
  offerTtlSeconds: number;
  unpaidOffersPerApp: number;
  /** With Debug, a call without a resource name calls the skill `demo`. */
  debug: boolean;
  /** DevMode: makes the simulator pay an order; undefined = DevMode is off. */
  paySimulated: ((orderNo: string) => Promise<void>) | undefined;
  /** Whether the simulator is enabled. If not, content for orders of the simulator cannot be fetched. */
  simulated: boolean;
}

/** The body of a call. */
export interface SkillRequest {
  resource?: string | undefined;
  input?: unknown;
  payWay?: PayWay | undefined;
  /** The user whose coins may pay. */
  userId?: string | undefined;
}

/** Returns the requester for an application: it may act on its own orders. */
export function requesterOf({ clientId }: { clientId: string }): Requester {
  return { owner: { clientId }, actor: `app:${clientId}` };
}
