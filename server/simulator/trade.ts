/**
 * Defines what a channel knows (orders, payments, refunds, holds, dispute actions) and the ledger entries of changes.
 */
import { z } from 'zod';
import type { PayWay } from '../payments/channel.ts';
import { type Money, majorText, readMajorText } from '../money.ts';
import { SimulatorRefusal } from './requests.ts';

/**
 * `offered`: the QR code or link exists, but the payer has not opened it; at Alipay no trade exists yet. `approved`:
 * the payer has approved the PayPal order, but the payment is not captured yet.
 */
export type TradeState = 'offered' | 'open' | 'approved' | 'paid' | 'closed';

/** The state of a refund at the channel. `abnormal` = the payer's account could not be credited (WeChat Pay). */
export type RefundState = 'processing' | 'succeeded' | 'failed' | 'abnormal';

/** The discounts and profit shares of an order or refund, in minor units. They are included in its amount. */
export interface Offers {
  /**
   * Discounts that the merchant gives and the channel never pays out. At Alipay: 商家优惠 (opendocs.alipay.com, "账单文件说明").
   * At WeChat Pay: vouchers without a deposit (免充值代金券); 应结订单金额 is the order amount less these vouchers
   * (pay.weixin.qq.com, "交易账单详细说明").
   */
  merchant: number;
  /**
   * Discounts that the channel pays (支付宝优惠, red packets), and vouchers that the payer bought earlier (充值券). The channel
   * pays these amounts to the merchant, like the payer's money.
   */
  channel: number;
  /** The share that the merchant's partners receive (分润); only Alipay's trade bill shows it. */
  share: number;
}

export const NO_OFFERS: Offers = { merchant: 0, channel: 0, share: 0 };

/** A payment (Alipay, WeChat Pay) or a capture (PayPal). Amounts are minor units. */
export interface Payment {
  number: string;
  minor: number;
  state: 'completed' | 'pending' | 'declined';
  at: number;
  /** When a pending capture was completed and credited to the account (PayPal). */
  completedAt?: number;
  /** The PayPal-Request-Id of the capture request; null if the request had none. */
  requestNo: string | null;
}

/** A refund. `refundNo` is the merchant's identifier of the refund, `number` is the channel's identifier. */
export interface Refund {
  number: string;
  refundNo: string;
  minor: number;
  state: RefundState;
  /**
   * The cause of the refund. `merchant`: a request to the channel. `portal`: the merchant in the channel's portal.
   * `dispute`: the channel took the money for a dispute and does not report this as a refund.
   */
  origin: 'merchant' | 'portal' | 'dispute';
  at: number;
  doneAt: number | null;
  /** All states that the refund has had, oldest first. `at` is when the refund got the state. */
  moves: { state: RefundState; at: number }[];
  /** The discounts and profit shares that are included in the refund. They are computed when the refund is made. */
  offers: Offers;
  /** The fee that the channel returns to the merchant, in minor units, fixed when the refund is made. */
  feeBack: number;
  /** Paid from the merchant's available balance instead of the unsettled funds (WeChat Pay). */
  fromAvailable?: boolean;
  notifyUrl: string | null;
  reason: string;
  /** The merchant requested a notification of the bank's result (Alipay). */
  notifiesBank?: boolean;
  /**
   * The bank's result (Alipay). S = the bank accepted the refund. F = the bank refused it, so Alipay credited the
   * payer's balance.
   */
  bankSaid?: 'S' | 'F';
  /** The refund went to the merchant's own bank account, because the payer's could not be credited (WeChat Pay). */
  toMerchant?: boolean;
}

/** Money of a disputed payment that the channel holds in the merchant's account (PayPal). Minor units. */
export interface Hold {
  number: string;
  minor: number;
  at: number;
  releasedAt: number | null;
}

/**
 * The values of a new refund. `minor` is in minor units. The channel completes the refund after `settleMs`, multiplied
 * by the time factor.
 */
export interface RefundDraft {
  refundNo: string;
  minor: number;
  notifyUrl?: string | null;
  reason?: string;
  settleMs?: number;
  notifiesBank?: boolean;
  fromAvailable?: boolean;
}

/** The behaviour of the simulator for an order whose amount is in `OUTCOMES` (`trades.ts`), such as 0.06. */
export type FixedOutcome = 'pays' | 'declined' | 'pays-later' | 'late-notice' | 'refunds-fail' | 'silent';

/** An order at the channel. Times are milliseconds on the simulated clock, amounts minor units. */
export interface Trade {
  /** The simulator's random id, which is part of the URL of the payer page. At PayPal it is the order id. */
  id: string;
  payWay: PayWay;
  account: string;
  /** The merchant's identifier of the order: out_trade_no; at PayPal invoice_id or custom_id. */
  orderNo: string;
  scene: string;
  subject: string;
  minor: number;
  currency: string;
  state: TradeState;
  declined: boolean;
  fixed: FixedOutcome | null;
  notifyUrl: string | null;
  returnUrl: string | null;
  cancelUrl: string | null;
  createdAt: number;
  expiresAt: number | null;
  closedAt: number | null;
  /** The discounts and profit shares that are included in `minor`. */
  offers?: Offers;
  payments: Payment[];
  refunds: Refund[];
  holds?: Hold[];
  /** Data that only one channel uses, stored as JSON. */
  details: Record<string, unknown>;
}

export type TradeDraft = Pick<Trade, 'payWay' | 'account' | 'orderNo' | 'scene' | 'subject' | 'minor' | 'currency'> &
  Partial<Pick<Trade, 'id' | 'state' | 'notifyUrl' | 'returnUrl' | 'cancelUrl' | 'expiresAt' | 'details'>>;

const ENTRY_TYPES = [
  'created',
  'scanned',
  'approved',
  'declined',
  'paid',
  'captured',
  'capture-pending',
  'capture-declined',
  'closed',
  'expired',
  'refund-accepted',
  'refunded',
  'refund-failed',
  'refund-abnormal',
  'refund-reversed',
  'updated',
] as const;
export type EntryType = (typeof ENTRY_TYPES)[number];

/** `minor` is in minor units. `at` is a time in RFC 3339 on the simulated clock. */
export interface LedgerEntry {
  sequence: number;
  type: EntryType;
  payWay: PayWay;
  account: string;
  orderNo: string;
  tradeId: string;
  /**
   * The id that the channel gave to the changed payment, capture, refund or dispute. If the trade itself changed, it is
   * the id of the trade.
   */
  number: string;
  refundNo?: string;
  origin?: Refund['origin'];
  minor: number;
  currency: string;
  at: string;
}

/** The completed payment of a trade, if there is one. */
export function paymentOf(trade: Trade): Payment | undefined {
  return trade.payments.find((payment) => payment.state === 'completed');
}

/** Returns the state that a refund had at the time `at`. If the refund did not exist yet, returns its first state. */
export function stateAt({ moves, state }: Refund, at: number): RefundState {
  return (moves.findLast((move) => move.at <= at) ?? moves[0])?.state ?? state;
}

/** The sum of the refunds that are succeeded, processing or abnormal. Minor units. */
export function refundedMinor(trade: Trade): number {
  return trade.refunds.filter((refund) => refund.state !== 'failed').reduce((sum, refund) => sum + refund.minor, 0);
}

/** Returns how much of the payment can still be refunded, in minor units. */
export function refundableMinor(trade: Trade): number {
  return (paymentOf(trade)?.minor ?? 0) - refundedMinor(trade);
}

/** Converts an amount from minor units into text in major units, such as `12.30`. */
export function majorOf(trade: Pick<Trade, 'currency'>, minor: number): string {
  const money: Money = { minor: BigInt(minor), currency: trade.currency };
  return majorText(money);
}

const DISPUTE_ACTIONS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

/**
 * `amount` is in major units. `refund` is only for the action `lose`: how PayPal reports the money that the merchant
 * loses (`server/simulator/README.md`).
 */
export const DisputeAction = z.object({
  act: z.enum(DISPUTE_ACTIONS),
  amount: z.union([z.string(), z.number()]).optional(),
  reason: z.string().max(64).optional(),
  dueDays: z.number().min(0).max(180).default(10),
  refund: z.enum(['told', 'untold', 'payout']).default('untold'),
  /** For `open` at PayPal: PayPal holds the money until the dispute is resolved. */
  hold: z.boolean().optional(),
});
export type DisputeAction = z.infer<typeof DisputeAction>;

/** Returns the amount of a dispute action in minor units; by default the whole payment. */
export function disputedMinor(trade: Trade, { amount }: DisputeAction): number {
  if (amount === undefined) return trade.minor;
  const money = readMajorText(String(amount), trade.currency);
  if (money === undefined || money.minor <= 0n || money.minor > BigInt(trade.minor))
    throw new SimulatorRefusal(
      400,
      'amount_invalid',
      'The field "amount" must be above zero and at most the amount of the order, in major units such as 12.50.',
    );
  return Number(money.minor);
}
