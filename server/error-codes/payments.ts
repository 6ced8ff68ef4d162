// Error codes in four groups: payments, pay-per-call, the catalog (projects, payers, products and coins), and the
// credentials of channels (configurations and certificates).

export const paymentsCodes = {
  amount_invalid: {
    title: 'Amount invalid',
    meaning:
      'The amount must be a positive decimal number, at most 100000000 major units (for example yuan). It must not have more decimal places than its currency.',
    remedy: 'Send the amount in major units, as a number or a decimal string.',
  },
  approval_not_independent: {
    title: 'Approval not independent',
    meaning:
      'The approving account was created after the request, or it is not independent of the requester. It is not independent if the requesting administrator created it. It is also not independent if one administrator created or changed both accounts within the last 30 days. This administrator may be the requester or the approver. If an application made the request, issuing or changing its credential counts as changing the application.',
    remedy: 'Ask another administrator to approve the request. You can still reject it.',
  },
  approval_by_asker: {
    title: 'Approval by the requester',
    meaning: 'The administrator who made the request also tried to approve it.',
    remedy: 'Ask another administrator to approve the request.',
  },
  approval_decided: {
    title: 'Already decided',
    meaning:
      'The request for approval was already approved or rejected, or the refund that needs the approval has already ended.',
    remedy: 'Get the approval to see who decided it. Get the refund, dispute or exception to see the result.',
  },
  bill_being_read: {
    title: 'Bill is being read',
    meaning:
      'While the service was processing the bill, another reading of the same bill started, or the channel named another payee for the account. This request had no effect.',
    remedy: 'Get the bill to see its state. Repeat the request if it is still needed.',
    retryable: true,
  },
  bill_malformed: {
    title: 'Not the bill of that day',
    meaning:
      'The file is damaged, or it is not the bill of the requested account and day. `fault` says what is wrong; `line` and `column` say where. The service rejected the whole file.',
    remedy: "Download the bill again from the channel's portal and send the file unchanged.",
  },
  bill_not_read: {
    title: 'No bill yet',
    meaning: 'The service has no bill of this day yet, so it has nothing to compare.',
    remedy: 'Fetch the bill from the channel, or import its file, before you repeat the request.',
  },
  bills_not_configured: {
    title: 'Bills not configured',
    meaning:
      'The project has no channel configuration with which the service can read bills of this channel and account.',
    remedy: 'Complete the channel configuration.',
  },
  channel_answer_unusable: {
    title: 'Invalid channel response',
    meaning:
      'The channel responded, but the service cannot use the response; `cause` says why. The response cannot be read, is not authentic, does not match the order, or reports that a credential or the clock of this service is wrong.',
    remedy: 'Query the order. The service also keeps querying the order at the channel.',
    retryable: true,
  },
  channel_outcome_unknown: {
    title: 'Outcome unknown',
    meaning: 'The channel sent no usable response in time; the operation may have taken effect.',
    remedy:
      'Query the order, or repeat the request with the same Idempotency-Key, merchantOrderNo or merchantRefundNo.',
    retryable: true,
  },
  channel_refusal_inconclusive: {
    title: 'Refused, outcome undecided',
    meaning:
      'The channel refused the request, but the order stays open, because it may still be paid. `cause` says why. `unlisted`: the channel gave a reason that this service does not know. `trade_may_exist`: the reason shows that the channel has, or may have, a trade for this order. `repeated`: the service had sent the request before, and the channel may have accepted it then. `channel` contains the error code and message of the channel.',
    remedy:
      'Correct what the channel reports. Then repeat the request with the same Idempotency-Key or merchantOrderNo, or close the order. Do not charge the payer in another way until the order has ended.',
    retryable: true,
  },
  channel_refused: {
    title: 'Refused by the channel',
    meaning:
      'The channel refused the request; `channel` has its code and message. A payment that the channel declines has this code, too.',
    remedy:
      'If the cause is the balance or the bank of the payer or the risk control of the channel, ask the payer for another way to pay, and place a new order with a new Idempotency-Key. If the channel has no contract for the product, restricts the merchant account or refuses its credentials, tell the operator of the service. If a parameter is wrong, correct it. To test a declined payment, place one of 0.02 on the simulator: [Test with the simulator](/docs/simulator#amounts-that-decide).',
  },
  dispute_closed: {
    title: 'Dispute closed',
    meaning: 'The channel has decided the dispute, so it can no longer be answered or accepted.',
    remedy: 'Get the dispute to see the decision.',
  },
  exception_resolved: {
    title: 'Exception already resolved',
    meaning: 'The exception (a case that an administrator must review) was already resolved.',
    remedy: 'See the timeline of the order for the result.',
  },
  merchant_number_used: {
    title: 'Merchant number already used',
    meaning: 'The merchantOrderNo or merchantRefundNo was already used for another order or refund.',
    remedy: 'Use a new number, or repeat the request with the same values.',
  },
  order_already_paid: {
    title: 'Order already paid',
    meaning: 'The order has already been paid.',
    remedy: 'To return the payment, refund the order.',
  },
  order_not_paid: {
    title: 'Order not paid',
    meaning: 'The order has not been paid, so there is nothing to refund.',
    remedy: 'Query the order, and refund it only after it is paid.',
  },
  refund_exceeds_refundable: {
    title: 'Refundable amount exceeded',
    meaning: 'The requested refund amount is larger than the refundable amount of the order.',
    remedy: 'Refund at most the `refundableAmount` of the order.',
  },
  refund_in_progress: {
    title: 'Refund in progress',
    meaning:
      'Another refund of this order is in progress, and its result is not known yet. A new refund of the same amount is refused if it has neither a merchantRefundNo nor an Idempotency-Key, because it may be a repetition. A dispute cannot be accepted while any refund of the order is in progress.',
    remedy:
      'Query the refund that is in progress. If you want a second refund of the same amount, send a merchantRefundNo or an Idempotency-Key. If you want to accept the dispute, wait until the refund has ended.',
    retryable: true,
  },
  refund_limit_reached: {
    title: 'Too many refunds',
    meaning: 'The order has reached the number of refunds that the channel allows.',
    remedy: 'Refund the payer by other means.',
  },
  refund_not_abnormal: {
    title: 'Refund not abnormal',
    meaning: 'The refund is not in the state `abnormal`, so it needs no manual resolution.',
    remedy: 'Get the refund to see its state.',
  },
  refund_not_released: {
    title: 'Refund not released',
    meaning:
      'The channel has made the refund, or may still make it. So the amount of this refund stays reserved and is not released for other refunds.',
    remedy:
      'Let the service query the refund at the channel (payctl refund sync), then get the refund to see its state.',
  },
  refund_not_retryable: {
    title: 'Refund not retryable',
    meaning: 'Only a failed or abnormal refund can be retried.',
    remedy: 'Get the refund to see its state.',
  },
  refund_window_over: {
    title: 'Refund period expired',
    meaning: 'The order is too old: the channel no longer accepts refunds of it.',
    remedy: 'Refund the payer by other means.',
  },
  refunds_blocked: {
    title: 'Refunds blocked',
    meaning:
      'The order has an open exception (a case that an administrator must review), and cannot be refunded before the exception is resolved. The field `refundsBlockedBy` of the order names the kind of exception.',
    remedy:
      'Ask an administrator to resolve the exception. If the kind is a dispute that was already accepted, wait until the channel has decided the dispute.',
  },
  profit_sharing_unsupported: {
    title: 'Profit sharing not supported',
    meaning:
      'channelOptions.wechat.profitSharing is true. WeChat Pay would freeze the payment until it is shared or released, and this service does neither.',
    remedy: 'Leave profitSharing out.',
  },
  webhook_not_configured: {
    title: 'No webhook configured',
    meaning: 'The application has no enabled webhook, and the order has no notifyUrl.',
    remedy: 'Configure and enable the webhook of the application.',
  },
} as const;

export const skillpayCodes = {
  fulfilment_failed_refund_failed: {
    title: 'Fulfilment failed, refund failed',
    meaning:
      'Fulfilment of the paid order failed permanently, and the channel did not refund it. The refund needs manual review.',
    remedy:
      'Contact the merchant. Administrators list the case with `payctl exception list` and resolve it with `payctl refund retry` or `payctl refund resolve`.',
  },
  fulfilment_failed_refund_pending: {
    title: 'Fulfilment failed, refund pending',
    meaning: 'Fulfilment of the paid order failed permanently; the service is refunding it.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request, or query the order.',
    retryable: true,
  },
  fulfilment_in_progress: {
    title: 'Fulfilment in progress',
    meaning: 'The pay-per-call order is being fulfilled right now.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request.',
    retryable: true,
  },
  fulfilment_unavailable: {
    title: 'Fulfilment temporarily unavailable',
    meaning: 'The service cannot fulfil the paid order at the moment. The order stays paid.',
    remedy: 'Wait for the time in the header Retry-After, then repeat the same request. It is not charged again.',
    retryable: true,
  },
  order_closed: {
    title: 'Order closed',
    meaning: 'The pay-per-call order was closed before it was paid.',
    remedy: 'Call the resource without X-Out-Trade-No to get a new offer.',
  },
  order_refunded: {
    title: 'Order refunded',
    meaning:
      'The payment was refunded in full, or a full refund is in progress, so the content is no longer delivered. If the content was not delivered before, a partial refund by the application, or a dispute that the payer won for a part of the amount, also ends the delivery.',
    remedy:
      'To buy the content again, call the resource without X-Out-Trade-No and pay the new offer. After a partial refund, the rest of the payment can be refunded too. If the refund fails, repeat the call with the same X-Out-Trade-No to get the content.',
  },
  proof_unverified: {
    title: 'Proof not verified',
    meaning:
      'The channel neither confirmed nor rejected the proof of payment. If the payment was completed, it stays valid.',
    remedy: 'Repeat the same call with the same proof.',
    retryable: true,
  },
  payment_id_used: {
    title: 'Payment identifier used',
    meaning: 'The `payment-identifier` of the x402 payload was already used with another payload.',
    remedy: 'For a new payment, send a new identifier. To repeat a request, send its payload unchanged.',
  },
  payment_expired: {
    title: 'Offer expired',
    meaning:
      'The pay-per-call offer expired without a payment. If the response has `data`, it contains a new offer with another order number. The call is delivered after a payment of either the old or the new offer.',
    remedy:
      'Pay the new offer in `data`. If there is no `data`, call the resource without X-Out-Trade-No to get a new offer.',
  },
  payment_required: {
    title: 'Payment required',
    meaning: 'The resource must be paid for. `data` and the response headers say how to pay.',
    remedy:
      'Pay the offer, then repeat the request and send the order number of the offer in the header X-Out-Trade-No.',
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
      'The content of the order was not delivered yet. This product cannot be refunded after delivery, and before delivery it can be refunded only in full.',
    remedy: 'To refund the full amount, omit refundAmount. To get the content instead, call the resource.',
  },
  refund_after_fulfilment: {
    title: 'Not refundable after delivery',
    meaning: 'The product cannot be refunded once its content has been delivered.',
    remedy: 'Contact the operator.',
  },
  resource_mismatch: {
    title: 'Resource or input mismatch',
    meaning:
      'The pay-per-call order was created for another resource or another request body than those of this request.',
    remedy: 'Send the same resource and the same body as in the first call, or send no body.',
  },
  resource_required: {
    title: 'Resource required',
    meaning: 'The request names no resource. `resource` may be omitted only if the project has exactly one resource.',
    remedy: 'Send `resource`. GET /api/v2/skillpay/resources lists the resources.',
  },
  too_many_offers: {
    title: 'Too many unpaid offers',
    meaning: 'The application has reached its limit of unpaid offers.',
    remedy: 'Pay the open offers or let them expire.',
    retryable: true,
  },
} as const;

export const catalogCodes = {
  biz_no_used: {
    title: 'bizNo already used',
    meaning: 'The application has already used this bizNo for a debit with a different amount.',
    remedy: 'Use a new bizNo, or repeat the debit with the same amount.',
  },
  coin_disabled: {
    title: 'Coin disabled',
    meaning: 'The coin is disabled and cannot be spent.',
    remedy: 'Enable the coin.',
  },
  coins_insufficient: {
    title: 'Not enough coins',
    meaning: 'The account has fewer available coins than requested; nothing was debited.',
    remedy: 'Debit at most `available` coins.',
  },
  coins_spent: {
    title: 'Coins already spent',
    meaning: 'The coins that the order credited have been spent, so the order cannot be refunded in full.',
    remedy: 'Refund less, or change the clawback rule of the coin.',
  },
  not_on_sale: {
    title: 'Not on sale',
    meaning: 'The product is disabled or outside its sale window.',
    remedy: 'Choose another product.',
  },
  out_of_stock: {
    title: 'Out of stock',
    meaning: 'The product is out of stock.',
    remedy: 'Choose another product, or increase the stock.',
  },
  price_mismatch: {
    title: 'Price mismatch',
    meaning: 'The amount differs from the price of the product.',
    remedy: 'Omit the amount, or send the price.',
  },
  project_disabled: {
    title: 'Project disabled',
    meaning: 'The project is disabled; existing orders are still processed.',
    remedy: 'Enable the project.',
  },
  project_unknown: {
    title: 'Project unknown',
    meaning: 'The project does not exist.',
    remedy: 'Use the code of an existing project.',
  },
  user_blocked: {
    title: 'User blocked',
    meaning: 'The user is blocked and cannot pay; refunds are still possible.',
    remedy: 'Unblock the user.',
  },
  user_limit_reached: {
    title: 'Purchase limit reached',
    meaning: 'The user has reached the purchase limit of the product.',
    remedy: 'Choose another product.',
  },
} as const;

export const credentialsCodes = {
  certificate_exists: {
    title: 'Certificate already exists',
    meaning: 'The same certificate or key was uploaded before; `id` is its id.',
    remedy: 'Use the existing certificate or key.',
  },
  certificate_not_trusted: {
    title: 'Certificate not trusted',
    meaning: 'No administrator trusts this certificate or key, so the service does not verify signatures with it.',
    remedy: "Ask an administrator to compare its fingerprint with the one in the channel's console, and to trust it.",
  },
  certificate_pair_mismatch: {
    title: 'Certificate and key do not match',
    meaning: 'The certificate does not match the private key with which it would be used.',
    remedy:
      'Upload the matching certificate or key first. Then make either of the two the default; the service makes the other one the default too.',
  },
  certificate_unusable: {
    title: 'Certificate unusable',
    meaning: 'The channel configuration would not work with this certificate.',
    remedy: 'Correct the fault that `detail` names, then repeat the request.',
  },
  channel_disabled: {
    title: 'Channel disabled',
    meaning: 'The channel is disabled for this project; existing orders are still processed.',
    remedy: 'Use another payWay or have the channel enabled.',
  },
  channel_not_configured: {
    title: 'Channel not configured',
    meaning: 'The project has no complete configuration of this channel, so the channel cannot be used.',
    remedy: 'Complete the channel configuration. A test of the configuration shows what is missing.',
  },
  configuration_broken: {
    title: 'Configuration cannot be decrypted',
    meaning: 'The stored secrets of this channel configuration cannot be decrypted with any master key.',
    remedy: 'Check Security.MasterKey, or set the secrets of the configuration again.',
  },
  debug_refuses_live: {
    title: 'Live configuration refused in Debug',
    meaning:
      'While Debug is on, test applications with publicly known secrets are active, so live configurations are refused.',
    remedy: 'Set Debug = false.',
  },
  production_refuses_simulator: {
    title: 'Simulator refused in production',
    meaning: 'Simulator orders are paid without real money, so simulator configurations are refused in production.',
    remedy: 'Use the live account or the sandbox of the channel, or a staging service (Server.Environment).',
  },
  staging_refuses_live: {
    title: 'Live configuration refused in staging',
    meaning: 'Server.Environment is staging, where no real money may move, so live configurations are refused.',
    remedy: 'Use the sandbox of the channel or the simulator; live configurations belong to production.',
  },
  trust_not_needed: {
    title: 'Nothing to trust',
    meaning:
      'A certificate or key of this kind creates signatures. Only certificates and keys that verify signatures must be trusted.',
    remedy:
      'Use the certificate or key as it is; no administrator has to trust it. The list of certificates shows which ones must be trusted.',
  },
} as const;
