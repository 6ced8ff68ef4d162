import type { ClosePayment, QueryPayment, Seen } from '../payments/orders/order.ts';
import type { ProductRow } from '../db/entities/catalog.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { ProductKey } from '../db/queries/catalog.ts';
import type { Tx } from '../db/store.ts';
import type { SendOutgoing } from '../outgoing/sender.ts';
import type { Outcome, PayWay } from '../payments/channel.ts';
import type { Raised } from '../payments/core/transitions.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { PlacePayment } from '../payments/orders/place.ts';
import type { Requester, Channels, Ports } from '../payments/ports.ts';
import type { RefundIntent } from '../payments/core/open-refund.ts';
import type { PaymentScheme, SkillPair } from './schemes/scheme.ts';
import type { SignedTerms } from './schemes/x402.ts';
import type { PaymentCodes } from './schemes/code.ts';

export type { SkillCaller, SkillPair } from './schemes/scheme.ts';

export interface SkillPayments {
  /** Marks an order as paid by a payment that the channel has just confirmed. */
  settleProven: (order: OrderRow, outcome: Extract<Outcome, { kind: 'paid' }>) => Promise<OrderRow>;
  close: ClosePayment;
  place: PlacePayment;
  /** Queries the channel if the order is open and the channel's last response is too old. */
  query: QueryPayment;
  /** Queries the channel about an order in any state, and stores the result. */
  refresh: (order: OrderRow, via: { cause: string; actor: string }) => Promise<Seen>;
  /** Captures a payment that the payer has approved (PayPal). */
  capture: (order: OrderRow, cause: string) => Promise<unknown>;
  refund: PaymentOperations['refund'];
  /** Creates the refund in the caller's transaction. The caller must have locked the order. */
  openRefund: (tx: Tx, order: OrderRow, intent: RefundIntent) => Promise<unknown>;
  /** Runs the next step of a refund. The caller must have reserved the refund for this process. */
  checkRefund: (refundNo: string) => Promise<void>;
  raise: (tx: Tx, order: OrderRow, raised: Raised) => Promise<void>;
}

interface CoinCharge {
  project: string;
  coin: string;
  userId: string;
  amount: bigint;
  orderNo: string;
  clientId: string;
  memo: string;
}

/** Debits and refunds coins in the caller's transaction. */
interface CoinCharges {
  /** Debits the coins. Returns false and writes nothing if the balance is too low or the coin is disabled. */
  take: (tx: Tx, charge: CoinCharge) => Promise<boolean>;
  giveBack: (tx: Tx, charge: CoinCharge) => Promise<void>;
}

export interface SkillPorts extends Pick<
  Ports,
  'store' | 'reports' | 'now' | 'recordEvent' | 'publicUrl' | 'patience' | 'checkpoint' | 'log'
> {
  /** Reads an offer or a product from `store`, in one statement with those that other requests read. */
  readOffer: (orderNo: string) => Promise<SkillPair | undefined>;
  readProduct: (key: ProductKey) => Promise<ProductRow | undefined>;
  payments: SkillPayments;
  channels: Pick<Channels, 'forNew' | 'forNewAmong' | 'forOrder'>;
  /** Job: confirms to Alipay that the payer's agent has received the content. */
  confirmDelivery: (orderNo: string) => Promise<void>;
  codes: PaymentCodes;
  terms: SignedTerms;
  charges: CoinCharges;
  /** Sends an HTTP request to the address of a handler, which an administrator configured. */
  send: SendOutgoing;
  schemes: readonly PaymentScheme[];
  /** Seconds for which an offer can be paid. A product may set another time. */
  offerTtlSeconds: number;
  unpaidOffersPerApp: number;
  /** If true, a call that names no resource calls the skill `demo`. */
  debug: boolean;
  /** Only with DevMode: makes the simulator pay an order. undefined = DevMode is off. */
  paySimulated: ((orderNo: string) => Promise<void>) | undefined;
  /** Whether the simulator is enabled. If it is disabled, the content of simulator orders cannot be fetched. */
  simulated: boolean;
}

export interface SkillRequest {
  resource?: string | undefined;
  input?: unknown;
  payWay?: PayWay | undefined;
  /** The user whose coins are used if the resource has a coin price. */
  userId?: string | undefined;
}

/** Returns the requester for an application. It may act only on its own orders. */
export function requesterOf({ clientId }: { clientId: string }): Requester {
  return { owner: { clientId }, actor: `app:${clientId}` };
}
