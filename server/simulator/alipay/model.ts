import { readMajorText } from '../../payments/money.ts';
import { randomDigits } from '../trades.ts';
import type { Core } from '../half.ts';
import { NO_OFFERS, majorOf, paymentOf, type Payment, type Trade } from '../trade.ts';
import { chinaTime } from './china-time.ts';
import { refused } from './reply.ts';
import type { AlipayRequest } from './request.ts';

const YEAR_MS = 365 * 86_400_000;

/** Until the payer scans or logs in, Alipay has no trade: query and close say "not exist" while the code still works. */
export function exists(trade: Trade | undefined): trade is Trade {
  return trade !== undefined && trade.state !== 'offered' && trade.details['scanned'] === true;
}

/** Alipay's number of the trade, known from its creation on. */
export function tradeNoOf(trade: Trade): string {
  return String(trade.details['tradeNo']);
}

/** The merchant that the trade pays. */
export function sellerOf(trade: Trade, { sellerId }: { sellerId: string }): string {
  return String(trade.details['sellerId'] ?? sellerId);
}

/** A new, never used trade number: the day and 20 random digits. */
export function newTradeNo(core: Core): string {
  const day = chinaTime(core.clock.now()).slice(0, 10).replaceAll('-', '');
  return core.trades.newNumber(() => `${day}22${randomDigits(18)}`);
}

/** The sum of the refunds that are done, in minor units: `refund_fee` is always this sum. */
export function refundedSum(trade: Trade): number {
  return trade.refunds.filter((refund) => refund.state === 'succeeded').reduce((sum, refund) => sum + refund.minor, 0);
}

/** Alipay's word for the state: TRADE_CLOSED means closed unpaid *or* refunded in full; FINISHED a year after the payment. */
export function tradeStatus(trade: Trade, now: number): string {
  const payment = paymentOf(trade);
  if (payment === undefined) return trade.state === 'closed' ? 'TRADE_CLOSED' : 'WAIT_BUYER_PAY';
  if (refundedSum(trade) >= payment.minor) return 'TRADE_CLOSED';
  return now - payment.at > YEAR_MS ? 'TRADE_FINISHED' : 'TRADE_SUCCESS';
}

/** Reads an amount in yuan (0.01–100000000, two places) into fen; throws the refusal for anything else. */
export function readYuan(value: unknown, name: string): number {
  const text = typeof value === 'number' ? String(value) : value;
  const money = typeof text === 'string' && /^\d+(\.\d{1,2})?$/.test(text) ? readMajorText(text, 'CNY') : undefined;
  if (money === undefined || money.minor < 1n || money.minor > 10_000_000_000n)
    throw refused('INVALID_PARAMETER', `${name} is invalid.`);
  return Number(money.minor);
}

/** Reads a member that is a string of the given form; throws the refusal for anything else. */
export function readText(value: unknown, name: string, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw refused('INVALID_PARAMETER', `${name} is invalid.`);
  return value;
}

/** The merchant's number of the order that a request is about, by whichever number it names it; undefined = it names none. */
export function orderNoIn(core: Core, { account, content }: AlipayRequest): string | undefined {
  const { out_trade_no: orderNo, trade_no: number } = content;
  if (typeof orderNo === 'string') return orderNo;
  return typeof number === 'string' ? tradeByNumber(core, account.name, number)?.orderNo : undefined;
}

function tradeByNumber(core: Core, account: string, number: string): Trade | undefined {
  return [...core.ledger.trades.values()].find(
    (trade) => trade.payWay === 'alipay' && trade.account === account && tradeNoOf(trade) === number,
  );
}

/** The trade by `trade_no`, which comes first when both are given (reference of alipay.trade.refund), or by the merchant's number. */
export function named(core: Core, { account, content }: AlipayRequest): Trade | undefined {
  const filter = { payWay: 'alipay', account: account.name } as const;
  if (content['trade_no'] === undefined)
    return core.trades.find(readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/), filter);
  return tradeByNumber(core, account.name, readText(content['trade_no'], 'trade_no', /^\d{1,64}$/));
}

/** What the merchant receives of a payment, and what the payer pays of it (reference of alipay.trade.query). */
export function receivedOf(trade: Trade, { minor }: Payment): Record<'receipt_amount' | 'buyer_pay_amount', string> {
  const { merchant, channel } = trade.offers ?? NO_OFFERS;
  return {
    receipt_amount: yuan(trade, minor - merchant),
    buyer_pay_amount: yuan(trade, minor - merchant - channel),
  };
}

/** An amount of the trade in yuan. */
export function yuan(trade: Trade, minor: number): string {
  return majorOf(trade, minor);
}
