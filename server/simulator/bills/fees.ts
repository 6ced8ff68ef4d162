import type { PayWay } from '../../payments/channel.ts';

/** The rate of the Chinese channels for most trades, as their bills write it. */
export const CHINA_RATE = '0.60%';

/** What the merchant was promised, as a configuration says it. */
export const FEE_RATES: Readonly<Record<PayWay, string>> = { alipay: '0.6', wechat: '0.6', paypal: '3' };

/**
 * What a channel keeps of a payment, in minor units: 0.6 % rounded half up (WeChat Pay's bills round to the fen: 7.79 of 1299.02), at PayPal the three
 * per cent, rounded down, that its captures say.
 */
export function feeOf(payWay: PayWay, minor: number): number {
  return payWay === 'paypal' ? Math.floor((minor * 3) / 100) : Math.floor((minor * 6 + 500) / 1000);
}

/** What it gives back with a refund of which `kept` is left: the same rate; PayPal keeps its fees (its user agreement). */
export function feeBackOf(payWay: PayWay, minor: number, kept: number): number {
  return payWay === 'paypal' ? 0 : Math.min(feeOf(payWay, minor), kept);
}
