import { type BillRules, CHINA_RULES, decimalsOf } from '../bills/rows.ts';

/** The rules of Alipay for its bills and fees (opendocs.alipay.com, "账单文件说明"). */
export const ALIPAY_BILL_RULES: BillRules = {
  payWay: 'alipay',
  ...CHINA_RULES,
  numberFrom: (digest) => `20200101${decimalsOf(digest, 20)}`,
  // No column has a currency, a dispute or a transfer to the bank, and none of its answers a hash.
  lacks: ['wrong-hash', 'withdrawal', 'currency_differs', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel', 'share'],
};
