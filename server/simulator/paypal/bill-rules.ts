import type { BillRules } from '../bills/rows.ts';

/** The rules of PayPal for its reports and fees (developer.paypal.com, Transaction Search v1). */
export const PAYPAL_BILL_RULES: BillRules = {
  payWay: 'paypal',
  offsetMs: 0,
  currency: 'USD',
  feeRate: '3',
  feeOf: (minor) => Math.floor((minor * 3) / 100),
  // By the user agreement.
  keepsFees: true,
  refundsLeave: 'done',
  numberFrom: (digest) => digest.slice(0, 17).toUpperCase(),
  // There is no file, so it has neither a hash nor an address.
  lacks: ['wrong-hash', 'expired-url', 'zip-bomb'],
  offers: [],
};
