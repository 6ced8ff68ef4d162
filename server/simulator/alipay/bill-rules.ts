import { type BillRules, decimalsOf } from '../bills/rows.ts';

/** The rules of Alipay for its bills and fees (opendocs.alipay.com, "账单文件说明"). */
export const ALIPAY_BILL_RULES: BillRules = {
  payWay: 'alipay',
  offsetMs: 8 * 3_600_000,
  currency: 'CNY',
  feeRate: '0.6',
  // Rounded half up to the fen: 7.79 of 1299.02 in WeChat Pay's sample of a bill.
  feeOf: (minor) => Math.floor((minor * 6 + 500) / 1000),
  refundsLeave: 'accepted',
  numberFrom: (digest) => `20200101${decimalsOf(digest, 20)}`,
  // No column has a currency, a dispute or a transfer to the bank, and none of its answers a hash.
  lacks: ['wrong-hash', 'withdrawal', 'currency_differs', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel', 'share'],
};
