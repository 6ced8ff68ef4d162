import type { BillRules } from '../bills/rows.ts';

/** PayPal's rules for fees and for the list of transactions (developer.paypal.com, Transaction Search v1). */
export const PAYPAL_BILL_RULES: BillRules = {
  payWay: 'paypal',
  offsetMs: 0,
  currency: 'USD',
  feeRate: '3',
  feeOf: (minor) => Math.floor((minor * 3) / 100),
  // PayPal keeps its fee when a payment is refunded (PayPal's user agreement).
  keepsFees: true,
  refundsLeave: 'done',
  numberFrom: (digest) => digest.slice(0, 17).toUpperCase(),
  // PayPal has no bill files, so there is no hash, no download URL and no zip.
  lacks: ['wrong-hash', 'expired-url', 'zip-bomb'],
  offers: [],
};
