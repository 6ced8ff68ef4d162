import { type BillRules, decimalsOf } from '../bills/rows.ts';

/** The rules of WeChat Pay for its bills and fees (pay.weixin.qq.com, "交易账单详细说明"). */
export const WECHAT_BILL_RULES: BillRules = {
  payWay: 'wechat',
  offsetMs: 8 * 3_600_000,
  currency: 'CNY',
  feeRate: '0.6',
  // Rounded half up to the fen: 7.79 of 1299.02 in WeChat Pay's sample of a bill.
  feeOf: (minor) => Math.floor((minor * 6 + 500) / 1000),
  refundsLeave: 'accepted',
  // No document gives such a refund a word of its own in bills.
  stuckIsUnderWay: true,
  numberFrom: (digest) => `4200${decimalsOf(digest, 24)}`,
  lacks: ['withdrawal', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel'],
};
