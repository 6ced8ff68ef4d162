/** What an order's word means here; a word that no table lists is pending. (Orders v2 reference.) */
export type OrderMeaning = 'pending' | 'waiting' | 'approved' | 'completed' | 'voided';
/** What a capture's word means here. (Payments v2 reference.) */
export type CaptureMeaning = 'paid' | 'refunded' | 'pending' | 'declined';
/** What a refund's word means here. (Payments v2 reference.) */
export type RefundMeaning = 'succeeded' | 'pending' | 'failed';

const ORDER: ReadonlyMap<string, OrderMeaning> = new Map([
  ['CREATED', 'waiting'],
  ['SAVED', 'waiting'],
  ['PAYER_ACTION_REQUIRED', 'waiting'],
  ['APPROVED', 'approved'],
  ['COMPLETED', 'completed'],
  ['VOIDED', 'voided'],
]);

const CAPTURE: ReadonlyMap<string, CaptureMeaning> = new Map([
  ['COMPLETED', 'paid'],
  ['PARTIALLY_REFUNDED', 'refunded'],
  ['REFUNDED', 'refunded'],
  ['PENDING', 'pending'],
  ['DECLINED', 'declined'],
  ['FAILED', 'declined'],
]);

const REFUND: ReadonlyMap<string, RefundMeaning> = new Map([
  ['COMPLETED', 'succeeded'],
  ['PENDING', 'pending'],
  ['CANCELLED', 'failed'],
  ['FAILED', 'failed'],
]);

/** Reasons of a pending capture that end only when the merchant does something in its PayPal account. (Payments v2, capture status details.) */
const MERCHANT_DECIDES: ReadonlySet<string> = new Set([
  'INTERNATIONAL_WITHDRAWAL',
  'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION',
  'UNILATERAL',
  'VERIFICATION_REQUIRED',
]);

/** Whether a capture that is pending for this reason waits for the merchant. */
export function waitsForMerchant(reason: string): boolean {
  return MERCHANT_DECIDES.has(reason);
}

/** Meaning of an order status: `waiting` = for the payer. `completed` is never money by itself: read the capture. */
export function orderMeaning(word: string): OrderMeaning {
  return ORDER.get(word) ?? 'pending';
}

/** Meaning of a capture status; `refunded` is paid with refunds to look at. */
export function captureMeaning(word: string): CaptureMeaning {
  return CAPTURE.get(word) ?? 'pending';
}

/** Meaning of a refund status. */
export function refundMeaning(word: string): RefundMeaning {
  return REFUND.get(word) ?? 'pending';
}
