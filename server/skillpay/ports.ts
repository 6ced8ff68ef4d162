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

/** What pay-per-call needs of payments: its orders are ordinary orders. */
export interface SkillPayments {
  /** Settles a payment that the channel has just confirmed. */
  settleProven: (order: OrderRow, outcome: Extract<Outcome, { kind: 'paid' }>) => Promise<OrderRow>;
  close: ClosePayment;
  place: PlacePayment;
  /** Asks the channel while the order is open and the last answer is not fresh. */
  query: QueryPayment;
  /** Asks the channel in any state, and settles what it says. */
  refresh: (order: OrderRow, via: { cause: string; actor: string }) => Promise<Seen>;
  /** Takes money that a payer approved (PayPal). */
  capture: (order: OrderRow, cause: string) => Promise<unknown>;
  refund: PaymentOperations['refund'];
  /** Creates the refund in the caller's transaction, under the order's lock. */
  openRefund: (tx: Tx, order: OrderRow, intent: RefundIntent) => Promise<unknown>;
  /** Does what is due for a refund; the caller has claimed it. */
  checkRefund: (refundNo: string) => Promise<void>;
  raise: (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;
}

/** Whose coins pay which call. */
interface CoinCharge {
  project: string;
  coin: string;
  userId: string;
  amount: bigint;
  orderNo: string;
  clientId: string;
  memo: string;
}

/** Moves coins in the caller's transaction. */
interface CoinCharges {
  /** False, and nothing is written, when the coins are not there. */
  take: (tx: Tx, charge: CoinCharge) => Promise<boolean>;
  giveBack: (tx: Tx, charge: CoinCharge) => Promise<void>;
}

/** Everything the operations of this folder need. */
export interface SkillPorts extends Pick<
  Ports,
  'store' | 'reports' | 'now' | 'recordEvent' | 'publicUrl' | 'patience' | 'checkpoint' | 'log'
> {
  payments: SkillPayments;
  channels: Pick<Channels, 'forNew' | 'forNewAmong' | 'forOrder'>;
  /** For the job: tells the channel that the payer has what an agent paid for. */
  confirmDelivery: (orderNo: string) => Promise<void>;
  codes: PaymentCodes;
  terms: SignedTerms;
  charges: CoinCharges;
  /** Calls an address that an operator gave. */
  send: SendOutgoing;
  /** The ways to ask for a payment, all of them in each 402. */
  schemes: readonly PaymentScheme[];
  /** How long an offer can be paid when its product does not say (seconds). */
  offerTtlSeconds: number;
  unpaidOffersPerApp: number;
  /** With Debug the skill `demo` is called when none is named. */
  debug: boolean;
  /** DevMode: makes the simulator pay an order; undefined = never. */
  paySimulated: ((orderNo: string) => Promise<void>) | undefined;
  /** Whether the simulator is in use; its orders buy nothing elsewhere. */
  simulated: boolean;
}

/** What is called, as the body says it. */
export interface SkillRequest {
  resource?: string | undefined;
  input?: unknown;
  payWay?: PayWay | undefined;
  /** Whose coins may pay. */
  userId?: string | undefined;
}

/** The asker of an application. */
export function requesterOf({ clientId }: { clientId: string }): Requester {
  return { owner: { clientId }, actor: `app:${clientId}` };
}
