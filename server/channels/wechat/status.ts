import type { RefusalDoubt } from '../../payments/channel.ts';

/** What a word of WeChat's `trade_state` means to us; a word that is not here is pending. */
export const TRADE_STATES: ReadonlyMap<string, 'pending' | 'paid' | 'refunded' | 'closed' | 'revoked'> = new Map([
  ['NOTPAY', 'pending'],
  ['USERPAYING', 'pending'],
  ['ACCEPT', 'pending'],
  ['PAYERROR', 'pending'],
  ['SUCCESS', 'paid'],
  /** Appears after any refund, even a partial one: the trade is paid, look at its refunds. */
  ['REFUND', 'refunded'],
  ['CLOSED', 'closed'],
  /** A payer's code that was reversed, paid or not. */
  ['REVOKED', 'revoked'],
]);

/** What a word of WeChat's refund `status` means to us; a word that is not here is pending. */
export const REFUND_STATES: ReadonlyMap<string, 'pending' | 'succeeded' | 'failed' | 'abnormal'> = new Map([
  ['PROCESSING', 'pending'],
  ['SUCCESS', 'succeeded'],
  ['CLOSED', 'failed'],
  ['ABNORMAL', 'abnormal'],
]);

/** Codes of a refused create that cannot hide a trade: the request itself could never have made one. */
const DEFINITE_CODES: ReadonlySet<string> = new Set([
  'PARAM_ERROR',
  'INVALID_REQUEST',
  'NO_AUTH',
  'APPID_MCHID_NOT_MATCH',
  'RULE_LIMIT',
  'MCH_NOT_EXISTS',
  'ACCOUNT_ERROR',
  'USER_ACCOUNT_ABNORMAL',
  'REQUEST_BLOCKED',
]);

/** Whether a create that was refused so made no trade; INVALID_REQUEST is also said of a number that has one ("201 商户订单号重复"). */
export function isDefinite(code: string, message: string): boolean {
  return DEFINITE_CODES.has(code) && !isRepeated(message);
}

/** Codes of a refused create that say that there is a trade of this number, or may be one. */
const KNOWN_CODES: ReadonlySet<string> = new Set(['ORDER_PAID', 'ORDER_CLOSED', 'OUT_TRADE_NO_USED', 'TRADE_ERROR']);

/** Why a signed refusal of a create decides nothing. */
export function createDoubt(code: string, message: string): RefusalDoubt {
  return KNOWN_CODES.has(code) || isRepeated(message) ? 'trade_may_exist' : 'unlisted';
}

function isRepeated(message: string): boolean {
  return message.includes('重复');
}

/** Codes that refuse a payer's code for good: another code, or another card, and so another order, is needed. */
export const SPENT_CODES: ReadonlySet<string> = new Set([
  'AUTH_CODE_EXPIRE',
  'AUTH_CODE_ERROR',
  'AUTH_CODE_INVALID',
  'NOT_ENOUGH',
  'NOT_SUPPORT_CARD',
  'BUYER_MISMATCH',
]);

/** Codes that mean: this credential, not this order, is wrong. */
export const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  'SIGN_ERROR',
  'NO_AUTH',
  'MCH_NOT_EXISTS',
  'APPID_MCHID_NOT_MATCH',
]);

/** Codes that mean: too often, ask again later. */
export const BUSY_CODES: ReadonlySet<string> = new Set([
  'FREQUENCY_LIMITED',
  'RATELIMIT_EXCEEDED',
  'FREQUENCY_LIMIT_EXCEED',
]);

const DOCUMENTED = `PARAM_ERROR INVALID_REQUEST APPID_MCHID_NOT_MATCH ORDER_CLOSED ORDER_PAID SIGN_ERROR NO_AUTH
  OUT_TRADE_NO_USED RULE_LIMIT TRADE_ERROR NOT_ENOUGH ACCOUNT_ERROR USER_ACCOUNT_ABNORMAL REQUEST_BLOCKED ORDER_NOT_EXIST
  AUTH_CODE_EXPIRE AUTH_CODE_ERROR AUTH_CODE_INVALID NOT_SUPPORT_CARD BUYER_MISMATCH
  RESOURCE_NOT_EXISTS MCH_NOT_EXISTS FREQUENCY_LIMITED FREQUENCY_LIMIT_EXCEED RATELIMIT_EXCEEDED SYSTEM_ERROR BANK_ERROR`;

/** Documented codes by their spelling without `_`, which the channel still uses here and there. */
const OLD_SPELLINGS: ReadonlyMap<string, string> = new Map(
  DOCUMENTED.split(/\s+/).map((code) => [code.replaceAll('_', ''), code]),
);

/** A code of the channel in its documented spelling; ORDERPAID becomes ORDER_PAID, unknown codes stay as they are. */
export function readCode(code: string): string {
  return OLD_SPELLINGS.get(code.replaceAll('_', '')) ?? code;
}
