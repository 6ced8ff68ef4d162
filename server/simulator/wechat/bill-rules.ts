import { type BillRules, CHINA_RULES, decimalsOf } from '../bills/rows.ts';

/** WeChat Pay's rules for bills and fees (pay.weixin.qq.com, "交易账单详细说明"). */
export const WECHAT_BILL_RULES: BillRules = {
  payWay: 'wechat',
  ...CHINA_RULES,
  // WeChat Pay's documents have no bill state for a refund that could not be credited (`abnormal`), so the bill shows
  // it as still in progress.
  stuckIsUnderWay: true,
  numberFrom: (digest) => `4200${decimalsOf(digest, 24)}`,
  lacks: ['withdrawal', 'dispute_unknown_to_us'],
  offers: ['merchant', 'channel'],
};
