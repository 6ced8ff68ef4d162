import { type BillRules, CHINA_RULES, decimalsOf } from '../bills/rows.ts';

/** Alipay's rules for bills and fees (opendocs.alipay.com, "账单文件说明"). */
export const ALIPAY_BILL_RULES: BillRules = {
  payWay: 'alipay',
  ...CHINA_RULES,
  numberFrom: (digest) => `20200101${decimalsOf(digest, 20)}`,
  // Alipay's bills have no column for a currency, a dispute or a withdrawal, and its API returns no hash of the file.
  lacks: ['wrong-hash', 'withdrawal', 'currency_differs', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel', 'share'],
};
