/** Refusals of pay-per-call. */
export const skillpayCodes = {
  fulfilment_failed_refund_failed: {
    title: 'Fulfilment failed, refund failed',
    meaning:
      'Fulfilment of the paid order failed permanently, and the channel did not refund it. The refund needs manual review.',
    remedy:
      'Contact the merchant. Administrators: `payctl exception list`, `payctl refund retry` or `payctl refund resolve`.',
  },
  fulfilment_failed_refund_pending: {
    title: 'Fulfilment failed, refund pending',
    meaning: 'Fulfilment of the paid order failed permanently; the service is refunding it.',
    remedy: 'Retry after Retry-After, or query the order.',
    retryable: true,
  },
  fulfilment_in_progress: {
    title: 'Fulfilment in progress',
    meaning: 'The pay-per-call order is being fulfilled right now.',
    remedy: 'Retry the same request after Retry-After.',
    retryable: true,
  },
  fulfilment_unavailable: {
    title: 'Fulfilment temporarily unavailable',
    meaning: 'The order could not be fulfilled for now; it stays paid.',
    remedy: 'Retry the same request after Retry-After, at no additional cost.',
    retryable: true,
  },
  order_closed: {
    title: 'Order closed',
    meaning: 'The pay-per-call order was closed before it was paid.',
    remedy: 'Call the resource without X-Out-Trade-No for a new offer.',
  },
  order_refunded: {
    title: 'Order refunded',
    meaning:
      'The payment went back or is on its way back: all of it, or before delivery a part that the application took back or that was lost to a dispute. The content is no longer delivered.',
    remedy:
      'Call the resource without X-Out-Trade-No for a new offer. What is left of the payment can be refunded. If the refund fails, the same call returns the content.',
  },
  proof_unverified: {
    title: 'Proof not verified',
    meaning: 'The channel did not say whether the proof of payment is good. Nothing is lost: what was paid stays paid.',
    remedy: 'Repeat the same call with the same proof.',
    retryable: true,
  },
  payment_id_used: {
    title: 'Payment identifier used',
    meaning: 'The `payment-identifier` of the x402 payload was used before, with another payload.',
    remedy: 'Send a new identifier with a new payment; repeat a payload unchanged.',
  },
  payment_expired: {
    title: 'Offer expired',
    meaning:
      'The pay-per-call offer expired without a payment. When `data` is there, it is a new offer in its place, with its own number; payment of either redeems the call.',
    remedy: 'Pay the new offer in `data`; without one, call the resource without X-Out-Trade-No.',
  },
  payment_required: {
    title: 'Payment required',
    meaning: 'The resource must be paid for; `data` and the headers say how to pay.',
    remedy: 'Pay, then repeat the request with X-Out-Trade-No.',
    retryable: true,
  },
  proof_invalid: {
    title: 'Invalid proof of payment',
    meaning:
      'PAYMENT-SIGNATURE or Payment-Proof is malformed, does not match the offer or X-Out-Trade-No, or was refused by the channel.',
    remedy: 'Send the proof exactly as the client or agent created it for this order.',
  },
  partial_refund_before_delivery: {
    title: 'Only refundable in full',
    meaning:
      'The product cannot be refunded once delivered, so before delivery all of the payment goes back or nothing.',
    remedy: 'Leave refundAmount out to get everything back, or call the resource to get its content.',
  },
  refund_after_fulfilment: {
    title: 'Not refundable after delivery',
    meaning: 'The product cannot be refunded once its content has been delivered.',
    remedy: 'Contact the operator.',
  },
  resource_mismatch: {
    title: 'Resource or input mismatch',
    meaning: 'The pay-per-call order was created for another resource or input.',
    remedy: 'Send the same body as in the first call, or none.',
  },
  resource_required: {
    title: 'Resource required',
    meaning: 'The project has no skill or more than one, so the resource must be given.',
    remedy: 'Send `resource`; GET /api/v2/skillpay/resources lists them.',
  },
  too_many_offers: {
    title: 'Too many unpaid offers',
    meaning: 'The application has reached its limit of unpaid offers.',
    remedy: 'Pay the open offers or let them expire.',
    retryable: true,
  },
} as const;
