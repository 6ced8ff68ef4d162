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

/** The same in the words of the refund query, whose list of codes has it with and without the prefix. */
export const NO_REFUND_TRADE: ReadonlySet<string> = new Set([NOT_EXIST, 'TRADE_NOT_EXIST']);

/** Whether the merchant has not signed for the product of a call: in the words of the business, or of the gateway. */
export function saysNoProduct({ code, subCode }: { code: string; subCode: string }): boolean {
  return subCode === 'ACQ.ACCESS_FORBIDDEN' || code === CODE.permission;
}

/** sub_codes after which nothing is known, whatever the code beside them says; so is every one that speaks of BUSY. */
const SILENT: ReadonlySet<string> = new Set([
  'ACQ.SYSTEM_ERROR',
  // So written in the list of alipay.trade.cancel.
  'AQC.SYSTEM_ERROR',
  'aop.ACQ.SYSTEM_ERROR',
  'isp.unknow-error',
  'isp.unknown-error',
  'aop.unknow-error',
]);

/** Whether a sub_code says only that Alipay could not answer now: the same call is asked about, or made, again. */
export function isBusy(subCode: string): boolean {
  return SILENT.has(subCode) || subCode.includes('BUSY');
}

/** The sub_code of a refund number that was used with other facts before. */
export const DISCORDANT = 'ACQ.DISCORDANT_REPEAT_REQUEST';

/** Whether a signed answer is a refusal of the business: its code and the prefix of its sub_code say so, whatever follows. */
export function isBusinessRefusal({ code, subCode }: { code: string; subCode: string }): boolean {
  return code === CODE.business && subCode.startsWith('ACQ.');
}

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
