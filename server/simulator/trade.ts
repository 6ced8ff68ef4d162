/** The facts that a channel keeps: orders, payments, refunds, holds, lines of the ledger, and deeds about a dispute. */
import { z } from 'zod';
import type { PayWay } from '../payments/channel.ts';
import { type Money, majorText, readMajorText } from '../money.ts';
import { SimulatorRefusal } from './requests.ts';

/** `offered` = handed out but not yet scanned (Alipay: no trade exists); `approved` = PayPal's payer agreed. */
export type TradeState = 'offered' | 'open' | 'approved' | 'paid' | 'closed';

/** Where a refund stands at the channel. */
export type RefundState = 'processing' | 'succeeded' | 'failed' | 'abnormal';

/** Who bears what of an amount, in minor units: nothing of it is left out of the amount of the order or refund. */
export interface Offers {
  /**
   * Given up by the merchant and never settled: 商家优惠 at Alipay (opendocs.alipay.com, "账单文件说明"), vouchers without a deposit (免充值代金券) at
   * WeChat Pay (pay.weixin.qq.com, "交易账单详细说明": 应结订单金额 is the order less these).
   */
  merchant: number;
  /** Paid by the channel for the payer, or bought before: 支付宝优惠 and red packets, 充值券. Settled like the payer's money. */
  channel: number;
  /** What goes on to those with whom the merchant shares (分润); Alipay's trade bill alone has it. */
  share: number;
}

/** Nobody bears anything but the payer. */
export const NO_OFFERS: Offers = { merchant: 0, channel: 0, share: 0 };

/** Money that came in: the payment (Alipay, WeChat) or the capture (PayPal). Amounts are minor units. */
export interface Payment {
  number: string;
  minor: number;
  state: 'completed' | 'pending' | 'declined';
  at: number;
  /** When a payment that was held came into the account (PayPal). */
  completedAt?: number;
  /** The caller's number of the request that made it (PayPal-Request-Id). */
  requestNo: string | null;
}

/** Money that goes back. `refundNo` is the merchant's number, `number` the channel's. */
export interface Refund {
  number: string;
  refundNo: string;
  minor: number;
  state: RefundState;
  /** `dispute`: taken for a dispute, and shown as a refund nowhere. */
  origin: 'merchant' | 'portal' | 'dispute';
  at: number;
  doneAt: number | null;
  /** Each state with its time, the first one first. */
  moves: { state: RefundState; at: number }[];
  /** Who bears what of it, and the fee that comes back with it, as they were when it was made. */
  offers: Offers;
  feeBack: number;
  /** Paid from the merchant's available balance, and not from what is not settled yet (WeChat Pay). */
  fromAvailable?: boolean;
  notifyUrl: string | null;
  reason: string;
  /** The merchant asked to be told what the payer's bank says to it (Alipay). */
  notifiesBank?: boolean;
  /** What the payer's bank said: S took it, F did not, so that the channel credited the payer's balance (Alipay). */
  bankSaid?: 'S' | 'F';
  /** Paid out to the merchant's own bank account, because the payer's could not be credited (WeChat Pay). */
  toMerchant?: boolean;
}

/** Money of a disputed payment that the channel keeps from the merchant, who still has it (PayPal). Minor units. */
export interface Hold {
  number: string;
  minor: number;
  at: number;
  releasedAt: number | null;
}

/** A refund as the merchant asks for it; `settleMs` = the channel does it later (scaled), as WeChat does. Minor units. */
export interface RefundDraft {
  refundNo: string;
  minor: number;
  notifyUrl?: string | null;
  reason?: string;
  settleMs?: number;
  notifiesBank?: boolean;
  fromAvailable?: boolean;
}

/** What an order of an exact amount does by itself; see `trades.ts`. */
export type FixedOutcome = 'pays' | 'declined' | 'pays-later' | 'late-notice' | 'refunds-fail' | 'silent';

/** An order as the channel knows it. Times are milliseconds on the simulated clock, amounts minor units. */
export interface Trade {
  /** The simulator's own random id, used in payer page addresses; PayPal: the order id. */
  id: string;
  payWay: PayWay;
  /** Name of the account. */
  account: string;
  /** The merchant's number: out_trade_no; PayPal: invoice_id or custom_id. */
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
  /** Who bears what of the amount beside the payer. */
  offers?: Offers;
  payments: Payment[];
  refunds: Refund[];
  holds?: Hold[];
  /** Whatever only one channel needs; JSON. */
  details: Record<string, unknown>;
}

/** What a half says about a new trade; the rest is filled in. */
export type TradeDraft = Pick<Trade, 'payWay' | 'account' | 'orderNo' | 'scene' | 'subject' | 'minor' | 'currency'> &
  Partial<Pick<Trade, 'id' | 'state' | 'notifyUrl' | 'returnUrl' | 'cancelUrl' | 'expiresAt' | 'details'>>;

/** What happened to a trade, as the ledger tells it. */
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
/** The kind of a ledger line. */
export type EntryType = (typeof ENTRY_TYPES)[number];

/** One line of the append-only ledger; `minor` is in minor units, `at` is RFC 3339 on the simulated clock. */
export interface LedgerEntry {
  sequence: number;
  type: EntryType;
  payWay: PayWay;
  account: string;
  orderNo: string;
  tradeId: string;
  /** The number of the payment, capture or refund, or the trade's own. */
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

/** Where a refund stood at a time; before it was made as it was made. */
export function stateAt({ moves, state }: Refund, at: number): RefundState {
  return (moves.findLast((move) => move.at <= at) ?? moves[0])?.state ?? state;
}

/** The sum of the refunds that hold money: done, under way or stuck. Minor units. */
export function refundedMinor(trade: Trade): number {
  return trade.refunds.filter((refund) => refund.state !== 'failed').reduce((sum, refund) => sum + refund.minor, 0);
}

/** What may still be given back, in minor units. */
export function refundableMinor(trade: Trade): number {
  return (paymentOf(trade)?.minor ?? 0) - refundedMinor(trade);
}

/** An amount of this trade in major units, as the channel writes it. */
export function majorOf(trade: Pick<Trade, 'currency'>, minor: number): string {
  const money: Money = { minor: BigInt(minor), currency: trade.currency };
  return majorText(money);
}

/** What a payer, or the channel's own people, do about a payment that is disputed. */
const DISPUTE_DEEDS = ['open', 'escalate', 'ask', 'review', 'lose', 'win', 'cancel', 'appeal'] as const;

/** One such deed. Amounts are major units; `refund`: how a loss shows, see `server/simulator/README.md`. */
export const DisputeAction = z.object({
  act: z.enum(DISPUTE_DEEDS),
  amount: z.union([z.string(), z.number()]).optional(),
  reason: z.string().max(64).optional(),
  dueDays: z.number().min(0).max(180).default(10),
  refund: z.enum(['told', 'untold', 'payout']).default('untold'),
  /** Of `open`, at PayPal: the money is held until the dispute ends. */
  hold: z.boolean().optional(),
});
export type DisputeAction = z.infer<typeof DisputeAction>;

/** The amount of a deed in minor units, the whole payment when it names none. */
export function disputedMinor(trade: Trade, { amount }: DisputeAction): number {
  if (amount === undefined) return trade.minor;
  const money = readMajorText(String(amount), trade.currency);
  if (money === undefined || money.minor <= 0n || money.minor > BigInt(trade.minor))
    throw new SimulatorRefusal(400, 'amount_invalid', 'amount must be in major units, at most the payment.');
  return Number(money.minor);
}
