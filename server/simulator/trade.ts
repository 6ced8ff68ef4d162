/** The data of a channel: orders, payments, refunds, holds, ledger entries, and dispute actions. */
import { z } from 'zod';
import type { PayWay } from '../payments/channel.ts';
import { type Money, majorText, readMajorText } from '../money.ts';
import { SimulatorRefusal } from './requests.ts';

/**
 * `offered` = the code was issued but not scanned yet (at Alipay no trade exists yet); `approved` = the payer has
 * approved the PayPal order.
 */
export type TradeState = 'offered' | 'open' | 'approved' | 'paid' | 'closed';

/** The state of a refund at the channel. `abnormal` = the payer's account could not be credited (WeChat Pay). */
export type RefundState = 'processing' | 'succeeded' | 'failed' | 'abnormal';

/**
 * The discounts and profit shares within an amount, in minor units. They are part of the amount of the order or refund.
 */
export interface Offers {
  /**
   * Discounts that the merchant gives and the channel never pays out. At Alipay: 商家优惠 (opendocs.alipay.com, "账单文件说明").
   * At WeChat Pay: vouchers without a deposit (免充值代金券); 应结订单金额 is the order amount less these vouchers
   * (pay.weixin.qq.com, "交易账单详细说明").
   */
  merchant: number;
  /**
   * Discounts that the channel pays (支付宝优惠, red packets) or that were bought before (充值券). The channel pays them out to
   * the merchant like the payer's money.
   */
  channel: number;
  /** The share that the merchant's partners receive (分润); only Alipay's trade bill shows it. */
  share: number;
}

/** No discounts and no profit shares: the payer pays the whole amount. */
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
  /** `dispute` = money taken for a dispute; the channel does not report this as a refund. */
  origin: 'merchant' | 'portal' | 'dispute';
  at: number;
  doneAt: number | null;
  /** Each state that the refund had, with its time, oldest first. */
  moves: { state: RefundState; at: number }[];
  /** The discounts and profit shares within the refund, fixed when the refund is made. */
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
  /**
   * The refund went to the merchant's own bank account, because the payer's account could not be credited (WeChat Pay).
   */
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
 * A refund request of the merchant, in minor units. `settleMs` = the channel completes the refund after this time,
 * multiplied by the time factor, as WeChat Pay does.
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

/** The outcome that the simulator fixes for an order with an exact amount, such as 0.06; see `trades.ts`. */
export type FixedOutcome = 'pays' | 'declined' | 'pays-later' | 'late-notice' | 'refunds-fail' | 'silent';

/** An order at the channel. Times are milliseconds on the simulated clock, amounts minor units. */
export interface Trade {
  /** The simulator's random id, which is part of the URL of the payer page. At PayPal it is the order id. */
  id: string;
  payWay: PayWay;
  /** Name of the account in the simulator. */
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
  /** The discounts and profit shares within the amount. */
  offers?: Offers;
  payments: Payment[];
  refunds: Refund[];
  holds?: Hold[];
  /** Data that only one channel uses, stored as JSON. */
  details: Record<string, unknown>;
}

/** The values that a channel simulator supplies when it creates a trade. */
export type TradeDraft = Pick<Trade, 'payWay' | 'account' | 'orderNo' | 'scene' | 'subject' | 'minor' | 'currency'> &
  Partial<Pick<Trade, 'id' | 'state' | 'notifyUrl' | 'returnUrl' | 'cancelUrl' | 'expiresAt' | 'details'>>;

/** The changes of a trade that a ledger entry can record. */
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
/** The change of a trade that a ledger entry records. */
export type EntryType = (typeof ENTRY_TYPES)[number];

/** One entry of the append-only ledger; `minor` is in minor units, `at` is RFC 3339 on the simulated clock. */
export interface LedgerEntry {
  sequence: number;
  type: EntryType;
  payWay: PayWay;
  account: string;
  orderNo: string;
  tradeId: string;
  /** The channel's identifier of the payment, capture, refund or dispute that changed, or the trade's own id. */
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

/** Returns the state of a refund at the time `at`; before the refund was created, its first state. */
export function stateAt({ moves, state }: Refund, at: number): RefundState {
  return (moves.findLast((move) => move.at <= at) ?? moves[0])?.state ?? state;
}

/** The sum of the refunds that are succeeded, processing or abnormal. Minor units. */
export function refundedMinor(trade: Trade): number {
  return trade.refunds.filter((refund) => refund.state !== 'failed').reduce((sum, refund) => sum + refund.minor, 0);
}

/** The amount that can still be refunded, in minor units. */
export function refundableMinor(trade: Trade): number {
  return (paymentOf(trade)?.minor ?? 0) - refundedMinor(trade);
}

/** Formats an amount of this trade in major units, as the channel writes it. */
export function majorOf(trade: Pick<Trade, 'currency'>, minor: number): string {
  const money: Money = { minor: BigInt(minor), currency: trade.currency };
  return majorText(money);
}

/** The dispute actions of a payer, a merchant or the channel. */
const DISPUTE_ACTIONS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

/**
 * One dispute action. `amount` is in major units. `refund` says how a loss is reported, see
 * `server/simulator/README.md`.
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
