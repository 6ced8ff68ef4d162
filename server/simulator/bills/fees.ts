import type { PayWay } from '../../payments/channel.ts';
import { paymentOf, type Trade } from '../trade.ts';

/** The rate of the Chinese channels for most trades, as their bills write it. */
export const CHINA_RATE = '0.60%';

/** What the merchant was promised, as a configuration says it. */
export const FEE_RATES: Readonly<Record<PayWay, string>> = { alipay: '0.6', wechat: '0.6', paypal: '3' };

/**
 * What a channel keeps of what the merchant receives (应结订单金额, 商家实收: without the merchant's own discounts), in minor units: 0.6 % rounded half up (WeChat Pay's bills round to the fen: 7.79 of 1299.02), at PayPal the three
 * per cent, rounded down, that its captures say.
 */
export function feeOf(payWay: PayWay, minor: number): number {
  return payWay === 'paypal' ? Math.floor((minor * 3) / 100) : Math.floor((minor * 6 + 500) / 1000);
}

/** What it gives back with one more refund of what the merchant received: the same rate of what is left; PayPal keeps its fees (its user agreement). */
export function feeBackOf(trade: Trade, minor: number): number {
  const { payWay, refunds, offers } = trade;
  if (payWay === 'paypal') return 0;
  const paid = feeOf(payWay, (paymentOf(trade)?.minor ?? 0) - (offers?.merchant ?? 0));
  const back = refunds.filter(({ state }) => state !== 'failed').reduce((sum, { feeBack }) => sum + feeBack, 0);
  return Math.min(feeOf(payWay, minor), paid - back);
}
