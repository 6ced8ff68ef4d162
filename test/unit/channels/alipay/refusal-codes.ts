/**
 * What becomes of a call that Alipay refuses with code 40004 and one of its sub_codes (without `ACQ.`). The codes of each call are
 * those of its error model in Alipay's own Java SDK (repository alipay/alipay-sdk-java-all, v3, API definition of 2026-09-23);
 * what they mean for money is ours.
 */
export type Meaning =
  /** Refused: nothing of it can exist. A refund ends once two questions know nothing of it. */
  | 'final'
  /** The same, and it is the payer who has to do something: pay with other means, or from another account. */
  | 'payer'
  /** Refused, but a trade of this number exists or may exist. */
  | 'hides-trade'
  /** Nothing is known: the channel is asked again. */
  | 'ask'
  /** There is no such trade. */
  | 'absent'
  /** The state of the trade forbids it: it is looked up at once. */
  | 'look-up';

export type Codes = Readonly<Record<string, Meaning>>;

export const PRECREATE: Codes = {
  SYSTEM_ERROR: 'ask',
  INVALID_PARAMETER: 'final',
  ACCESS_FORBIDDEN: 'final',
  EXIST_FORBIDDEN_WORD: 'final',
  PARTNER_ERROR: 'final',
  TOTAL_FEE_EXCEED: 'final',
  CONTEXT_INCONSISTENT: 'hides-trade',
  TRADE_HAS_SUCCESS: 'hides-trade',
  TRADE_HAS_CLOSE: 'hides-trade',
  BUYER_SELLER_EQUAL: 'payer',
  TRADE_BUYER_NOT_MATCH: 'hides-trade',
  BUYER_ENABLE_STATUS_FORBID: 'payer',
  BUYER_PAYMENT_AMOUNT_DAY_LIMIT_ERROR: 'payer',
  BEYOND_PAY_RESTRICTION: 'final',
  BEYOND_PER_RECEIPT_RESTRICTION: 'final',
  BUYER_PAYMENT_AMOUNT_MONTH_LIMIT_ERROR: 'payer',
  SELLER_BEEN_BLOCKED: 'final',
  ERROR_BUYER_CERTIFY_LEVEL_LIMIT: 'payer',
  INVALID_STORE_ID: 'final',
  APPLY_PC_MERCHANT_CODE_ERROR: 'final',
  SECONDARY_MERCHANT_STATUS_ERROR: 'final',
  BEYOND_PER_RECEIPT_DAY_RESTRICTION: 'final',
  BEYOND_PER_RECEIPT_SINGLE_RESTRICTION: 'final',
  TRADE_SETTLE_ERROR: 'hides-trade',
  SECONDARY_MERCHANT_ID_INVALID: 'final',
  SECONDARY_MERCHANT_ISV_PUNISH_INDIRECT: 'final',
  SELLER_NOT_EXIST: 'final',
  SECONDARY_MERCHANT_ALIPAY_ACCOUNT_INVALID: 'final',
  INVALID_RECEIVE_ACCOUNT: 'final',
  SECONDARY_MERCHANT_ID_BLANK: 'final',
  NOW_TIME_AFTER_EXPIRE_TIME_ERROR: 'final',
  SECONDARY_MERCHANT_NOT_MATCH: 'final',
  BUYER_NOT_EXIST: 'payer',
  SUB_GOODS_SIZE_MAX_COUNT: 'final',
  DEFAULT_SETTLE_RULE_NOT_EXIST: 'final',
  MERCHANT_PERM_RECEIPT_SUSPEND_LIMIT: 'final',
  MERCHANT_PERM_RECEIPT_SINGLE_LIMIT: 'final',
  MERCHANT_PERM_RECEIPT_DAY_LIMIT: 'final',
  RISK_MERCHANT_IP_NOT_EXIST: 'final',
  MERCHANT_STATUS_NOT_NORMAL: 'final',
};

export const REFUND: Codes = {
  SYSTEM_ERROR: 'ask',
  INVALID_PARAMETER: 'final',
  SELLER_BALANCE_NOT_ENOUGH: 'final',
  REFUND_AMT_NOT_EQUAL_TOTAL: 'final',
  REASON_TRADE_BEEN_FREEZEN: 'final',
  TRADE_NOT_EXIST: 'final',
  TRADE_HAS_FINISHED: 'final',
  TRADE_STATUS_ERROR: 'final',
  DISCORDANT_REPEAT_REQUEST: 'ask',
  REASON_TRADE_REFUND_FEE_ERR: 'final',
  TRADE_NOT_ALLOW_REFUND: 'final',
  REFUND_FEE_ERROR: 'final',
  TRADE_HAS_CLOSE: 'final',
  BUYER_NOT_EXIST: 'final',
  BUYER_ENABLE_STATUS_FORBID: 'final',
  REASON_TRADE_STATUS_INVALID: 'final',
  NOT_ALLOW_PARTIAL_REFUND: 'final',
  ONLINE_TRADE_VOUCHER_NOT_ALLOW_REFUND: 'final',
  BUYER_ERROR: 'final',
  CURRENCY_NOT_SUPPORT: 'final',
  ALLOC_AMOUNT_VALIDATE_ERROR: 'final',
  USER_NOT_MATCH_ERR: 'final',
  TRADE_SETTLE_ERROR: 'final',
  REFUND_CHARGE_ERROR: 'final',
  ENTERPRISE_PAY_BIZ_ERROR: 'final',
  OVERDRAFT_ASSIGN_ACCOUNT_INVALID: 'final',
  OVERDRAFT_AGREEMENT_NOT_MATCH: 'final',
  REFUND_ACCOUNT_NOT_EXIST: 'final',
  CUSTOMER_VALIDATE_ERROR: 'final',
  REFUND_ROYALTY_PAYEE_ACCOUNT_NOT_EXIST: 'final',
  REFUNDALLOC_UNAUTH_LIMIT: 'final',
};

export const CLOSE: Codes = {
  SYSTEM_ERROR: 'ask',
  TRADE_NOT_EXIST: 'absent',
  TRADE_STATUS_ERROR: 'look-up',
  INVALID_PARAMETER: 'look-up',
  REASON_TRADE_STATUS_INVALID: 'look-up',
  REASON_ILLEGAL_STATUS: 'look-up',
};

export const QUERY: Codes = {
  SYSTEM_ERROR: 'ask',
  INVALID_PARAMETER: 'ask',
  TRADE_NOT_EXIST: 'absent',
  ENTERPRISE_PAY_BIZ_ERROR: 'ask',
};

/** The list has TRADE_NOT_EXIST without `ACQ.` too, which answers.test.ts tries. */
export const REFUND_QUERY: Codes = {
  SYSTEM_ERROR: 'ask',
  INVALID_PARAMETER: 'ask',
  TRADE_NOT_EXIST: 'absent',
  ENTERPRISE_PAY_BIZ_ERROR: 'ask',
};

/** Words of Alipay's that no list has, but which say that it is busy. */
export const BUSY_WORDS: Codes = { SYSTEM_BUSY: 'ask', TRADE_BUSY_RETRY: 'ask' };
