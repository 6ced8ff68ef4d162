/** What the words of `trade_status` mean for an order; a word that is not here is pending. */
export const TRADE_STATUS: ReadonlyMap<string, 'pending' | 'paid' | 'closed'> = new Map([
  ['WAIT_BUYER_PAY', 'pending'],
  ['TRADE_SUCCESS', 'paid'],
  // Paid and no longer refundable; says nothing about earlier refunds.
  ['TRADE_FINISHED', 'paid'],
  // Never paid, or paid and refunded in full: the time of payment tells them apart.
  ['TRADE_CLOSED', 'closed'],
]);

/** Answers by `code` (open API v2). */
export const CODE = {
  ok: '10000',
  waiting: '10003',
  unknown: '20000',
  token: '20001',
  missing: '40001',
  invalid: '40002',
  business: '40004',
  permission: '40006',
} as const;

/** sub_code: there is no such trade at Alipay, or the payer has not scanned or logged in yet. */
export const NOT_EXIST = 'ACQ.TRADE_NOT_EXIST';

/** sub_codes after which nothing is known, whatever the code beside them says. */
export const BUSY: ReadonlySet<string> = new Set([
  'ACQ.SYSTEM_ERROR',
  'aop.ACQ.SYSTEM_ERROR',
  'isp.unknow-error',
  'isp.unknown-error',
  'aop.unknow-error',
]);

/** The sub_code of a refund number that was used with other facts before. */
export const DISCORDANT = 'ACQ.DISCORDANT_REPEAT_REQUEST';

/**
 * sub_codes of a refused create after which no trade of this number can exist. TRADE_HAS_SUCCESS, TRADE_HAS_CLOSE and
 * CONTEXT_INCONSISTENT are not here: each of them says that a trade of this number does exist.
 */
export const CREATE_REFUSED: ReadonlySet<string> = new Set([
  'ACQ.INVALID_PARAMETER',
  'ACQ.TOTAL_FEE_EXCEED',
  'ACQ.PARTNER_ERROR',
  'ACQ.SELLER_BEEN_BLOCKED',
  'ACQ.BUYER_BALANCE_NOT_ENOUGH',
  'ACQ.BUYER_BANKCARD_BALANCE_NOT_ENOUGH',
  'ACQ.BUYER_ENABLE_STATUS_FORBID',
  'ACQ.BUYER_PAYMENT_AMOUNT_DAY_LIMIT_ERROR',
  'ACQ.BUYER_PAYMENT_AMOUNT_MONTH_LIMIT_ERROR',
  'ACQ.BUYER_SELLER_EQUAL',
  'ACQ.BUYER_NOT_EXIST',
  'ACQ.ACCESS_FORBIDDEN',
  'ACQ.EXIST_FORBIDDEN_WORD',
  'ACQ.INVALID_STORE_ID',
]);

/** sub_codes by which Alipay refuses this refund call; an earlier call of the same number may still have done it. */
export const REFUND_REFUSED: ReadonlySet<string> = new Set([
  'ACQ.SELLER_BALANCE_NOT_ENOUGH',
  'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL',
  'ACQ.TRADE_NOT_EXIST',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.TRADE_NOT_ALLOW_REFUND',
  'ACQ.REFUND_FEE_ERROR',
  'ACQ.INVALID_PARAMETER',
]);

/** Which field or certificate kind a gateway refusal speaks of, by the start of its sub_code; null = none of ours. */
const FIELD_BY_SUB_CODE: readonly [RegExp, string | null][] = [
  [/^isv\.(invalid|missing)-app-id/, 'appId'],
  [/^isv\.(invalid|missing)-signature(?!-type)/, 'alipay_app_key'],
  [/^isv\.[a-z-]*root-cert/, 'alipay_root_cert'],
  [/^isv\.[a-z-]*alipay-cert/, 'alipay_public_cert'],
  [/^isv\.[a-z-]*cert/, 'alipay_app_cert'],
  [/^isv\.[a-z-]*app-auth-token|^aop\.(invalid|expired)-[a-z-]*auth-token/, 'appAuthToken'],
  [/^ACQ\.PARTNER_ERROR/, 'sellerId'],
];

/** The field or certificate kind of the configuration that a sub_code blames; null when it blames none. */
export function blamedField(subCode: string): string | null {
  return FIELD_BY_SUB_CODE.find(([pattern]) => pattern.test(subCode))?.[1] ?? null;
}
