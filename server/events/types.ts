/** What merchants are told about. */
export const EVENT_TYPES = [
  'order.paid',
  'order.paid_late',
  'order.closed',
  'order.failed',
  'order.payer_action_required',
  'order.exception',
  'refund.succeeded',
  'refund.failed',
  'refund.abnormal',
  'dispute.opened',
  'dispute.updated',
  'dispute.closed',
  'skillpay.offered',
  'skillpay.fulfilled',
  'coin.credited',
  'coin.debited',
] as const;
