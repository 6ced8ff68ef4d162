import type { BillLineKind } from '../../payments/channel.ts';

/**
 * Codes of payments that came in (T00nn of "Transaction event codes", developer.paypal.com); not those of payouts, postage and
 * other dealings with PayPal itself.
 */
const PAYMENTS: ReadonlySet<string> = new Set([
  'T0000',
  'T0002',
  'T0003',
  'T0004',
  'T0005',
  'T0006',
  'T0007',
  'T0010',
  'T0011',
  'T0012',
  'T0013',
]);
const REFUND = 'T1107';
/** Fees that PayPal gave back; fees without a payment are T01nn. */
const FEES_BACK: ReadonlySet<string> = new Set(['T1108', 'T1109']);

/**
 * What chargebacks take and give back: a reversal by PayPal, which completes one; money held for a dispute, and no longer held; a
 * chargeback, its reversal, reimbursement, rejection and cancellation. T1200, T1203 and T1204 are adjustments of other kinds.
 */
const DISPUTES: ReadonlySet<string> = new Set(['T1106', 'T1110', 'T1111', 'T1201', 'T1202', 'T1205', 'T1207', 'T1208']);

/** Success; V: success, and later all of it went back, which is a transaction of its own. */
const DONE: ReadonlySet<string> = new Set(['S', 'V']);

/**
 * Money that PayPal holds or releases: "part of your total balance" and "not available for withdrawal" (same page, T2103 and T2107). Of disputes
 * (T1110, T1111) and of the account (T15nn, reserves in T21nn, and T1105, which ends one of T15nn).
 */
export function isHold(code: string): boolean {
  return code === 'T1110' || code === 'T1111' || code === 'T1105' || code.startsWith('T15') || code.startsWith('T21');
}

/** What a transaction is, by its code and status and by whether the account gained by it. */
export function kindOf(code: string, status: string, amount: number): BillLineKind {
  if (!hasMoved(status)) return 'other';
  if (PAYMENTS.has(code)) return amount > 0 ? 'payment' : 'other';
  // A refund that went back, and what brought it back, are both none.
  if (isRefund(code)) return amount < 0 && status === 'S' ? 'refund' : 'other';
  if (DISPUTES.has(code)) return 'dispute';
  return code.startsWith('T01') || FEES_BACK.has(code) ? 'fee' : 'other';
}

/** Whether a code is that of refunds by the merchant. */
export function isRefund(code: string): boolean {
  return code === REFUND;
}

/** Whether money has moved: what is pending (P) or was denied (D) moved nothing. */
export function hasMoved(status: string): boolean {
  return DONE.has(status);
}
