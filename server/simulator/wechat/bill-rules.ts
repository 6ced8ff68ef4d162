import { type BillRules, CHINA_RULES, decimalsOf } from '../bills/rows.ts';

/** WeChat Pay's rules for bills and fees (pay.weixin.qq.com, "交易账单详细说明"). */
export const WECHAT_BILL_RULES: BillRules = {
  payWay: 'wechat',
  ...CHINA_RULES,
  // A refund is `abnormal` if the payer's account could not be credited. WeChat Pay's documents have no bill state for
  // it, so the bill shows the refund as still in progress.
  stuckIsUnderWay: true,
  numberFrom: (digest) => `4200${decimalsOf(digest, 24)}`,
  lacks: ['withdrawal', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel'],
};
