import { DIFFERENCE_KINDS } from './bills/bill-states.ts';

/** Kinds of exceptions: what a person should look at. */
export const EXCEPTION_KINDS = [
  'late_paid',
  'order_overdue',
  'capture_held',
  'amount_mismatch',
  'double_paid',
  'payment_of_another_order',
  'refund_overrun',
  'refund_abnormal',
  'refund_overdue',
  'refund_mismatch',
  'refund_reversed',
  'refund_bank_refused',
  'refund_elsewhere',
  'refund_after_delivery',
  'refund_unexplained',
  'out_of_stock',
  'effect_failed',
  'coins_debt',
  'unclaimed',
  'fulfilment_failed',
  'delivery_unconfirmed',
  'unmatched_notice',
  'dispute',
  ...DIFFERENCE_KINDS,
] as const;
export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];
