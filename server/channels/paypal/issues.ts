import type { RefusalDoubt } from '../../payments/channel.ts';

/**
 * What PayPal's issues mean, by call. Source: the OpenAPI documents of Orders v2 and Payments v2 (paypal-rest-api-specifications, 2024-02-03)
 * and the error pages at developer.paypal.com ("Handle payment failures", "Orders v2 error messages", "Payments v2 errors").
 */

/** Issues of the create call that cannot hide an order: the request itself was not acceptable. */
const CREATE_FINAL: ReadonlySet<string> = new Set([
  'INVALID_CURRENCY_CODE',
  'CURRENCY_NOT_SUPPORTED',
  'CURRENCY_NOT_SUPPORTED_FOR_COUNTRY',
  'DECIMAL_PRECISION',
  'DECIMALS_NOT_SUPPORTED',
  'CANNOT_BE_ZERO_OR_NEGATIVE',
  'CANNOT_BE_NEGATIVE',
  'MAX_VALUE_EXCEEDED',
  'INVALID_PARAMETER_VALUE',
  'INVALID_PARAMETER_SYNTAX',
  'INVALID_STRING_LENGTH',
  'INVALID_STRING_MAX_LENGTH',
  'MISSING_REQUIRED_PARAMETER',
  'MALFORMED_REQUEST_JSON',
  'PAYEE_ACCOUNT_INVALID',
  'PAYEE_ACCOUNT_RESTRICTED',
  'PAYEE_ACCOUNT_LOCKED_OR_CLOSED',
  'PAYEE_NOT_ENABLED_FOR_CARD_PROCESSING',
]);

/** Issues of the create call that say that there is such a payment. */
const CREATE_KNOWN: ReadonlySet<string> = new Set(['DUPLICATE_INVOICE_ID']);

/** After these the payer chooses another way to pay, or agrees, at PayPal; then a capture can succeed. */
const CAPTURE_FOR_PAYER: ReadonlySet<string> = new Set([
  'INSTRUMENT_DECLINED',
  'PAYER_ACTION_REQUIRED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
  'ORDER_NOT_APPROVED',
  'CARD_EXPIRED',
  'REFERENCED_CARD_EXPIRED',
  'CARD_BRAND_NOT_SUPPORTED',
]);

/** After these no capture of the order succeeds. */
const CAPTURE_FINAL: ReadonlySet<string> = new Set([
  'TRANSACTION_REFUSED',
  'PAYER_CANNOT_PAY',
  'PAYER_ACCOUNT_RESTRICTED',
  'PAYER_ACCOUNT_LOCKED_OR_CLOSED',
  'COMPLIANCE_VIOLATION',
  'DOMESTIC_TRANSACTION_REQUIRED',
  'DECLINED_DUE_TO_RELATED_TXN',
  'PAYEE_BLOCKED_TRANSACTION',
  'PAYEE_ACCOUNT_RESTRICTED',
  'PAYEE_ACCOUNT_LOCKED_OR_CLOSED',
  'TRANSACTION_BLOCKED_BY_PAYEE',
  'TRANSACTION_LIMIT_EXCEEDED',
  'TRANSACTION_RECEIVING_LIMIT_EXCEEDED',
  'MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED',
]);

/**
 * After these no call about this refund succeeds, and none has: an earlier call under the same PayPal-Request-Id would have been
 * answered with its result.
 */
const REFUND_FINAL: ReadonlySet<string> = new Set([
  'CAPTURE_FULLY_REFUNDED',
  'CAPTURED_AMOUNT_FULLY_REFUNDED',
  'REFUND_TIME_LIMIT_EXCEEDED',
  'REFUND_NOT_ALLOWED',
  'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK',
  'REFUND_IS_RESTRICTED',
  'PARTIAL_REFUND_NOT_ALLOWED',
  'MAX_NUMBER_OF_REFUNDS_EXCEEDED',
  'REFUND_AMOUNT_TOO_LOW',
  'CURRENCY_MISMATCH',
  'REFUND_CURRENCY_MISMATCH',
  'REFUND_CAPTURE_CURRENCY_MISMATCH',
  'INVALID_CURRENCY_CODE',
  'DECIMAL_PRECISION',
  'DECIMALS_NOT_SUPPORTED',
  'CANNOT_BE_NEGATIVE',
  'CANNOT_BE_ZERO_OR_NEGATIVE',
]);

/** Whether a create refused with this issue has left no order behind. */
export function refusesForCertain(issue: string): boolean {
  return CREATE_FINAL.has(issue);
}

/** Why a create refused with another issue decides nothing. */
export function createDoubt(issue: string): RefusalDoubt {
  return CREATE_KNOWN.has(issue) ? 'trade_may_exist' : 'unlisted';
}

/** Who can still do something about a refused capture: the payer, nobody, or undefined when it is not known whether anything happened. */
export function captureEnds(issue: string): 'payer' | 'nobody' | undefined {
  if (CAPTURE_FOR_PAYER.has(issue)) return 'payer';
  return CAPTURE_FINAL.has(issue) ? 'nobody' : undefined;
}

/** Whether a refund refused with this issue will never be made. */
export function refundEnds(issue: string): boolean {
  return REFUND_FINAL.has(issue);
}
