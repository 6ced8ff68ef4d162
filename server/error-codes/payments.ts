// Error codes of payments, pay-per-call, the catalog and credentials.

/** Errors of orders and refunds, and results of channel calls. */
export const paymentsCodes = {
  amount_invalid: {
    title: 'Amount invalid',
    meaning: 'The amount is not a positive decimal with at most the decimals of its currency, up to 100000000.',
    remedy: 'Send a number or a decimal string in major units.',
  },
  approval_not_independent: {
    title: 'Approval not independent',
    meaning:
      'The approving account is newer than the request, or it is not independent of the requester: the requesting administrator created it, or one administrator (possibly one of the two) created or changed both within 30 days. Issuing or changing a credential of an application counts as changing the application.',
    remedy: 'Have another administrator approve it, or reject it.',
  },
  approval_by_asker: {
    title: 'Approval by the requester',
    meaning: 'The requesting administrator tried to approve the request.',
    remedy: 'Have another administrator approve it.',
  },
  approval_decided: {
    title: 'Already decided',
    meaning: 'The request was approved or rejected before, or the refund has ended.',
    remedy: 'Get the approval to see who decided it, and the refund, dispute or exception to see the result.',
  },
  bill_being_read: {
    title: 'Bill is being read',
    meaning: 'A later read of the same bill has started, and only the later read counts.',
    remedy: 'Get the bill, and repeat the request if it is still needed.',
    retryable: true,
  },
  bill_malformed: {
    title: 'Not the bill of that day',
    meaning:
      'The file is damaged, or not the bill of this account and day; `fault`, `line` and `column` name the place. The whole file was rejected.',
    remedy: 'Download the bill again from the portal of the channel and send the file unchanged.',
  },
  bill_not_read: {
    title: 'No bill yet',
    meaning: 'There is no bill of this day yet, so there is nothing to compare.',
    remedy: 'Fetch or import the bill first.',
  },
  bills_not_configured: {
    title: 'Bills not configured',
    meaning: 'The project has no configuration of this channel and account that can fetch or read bills.',
    remedy: 'Complete the configuration of the channel.',
  },
  channel_answer_unusable: {
    title: 'Invalid channel response',
    meaning:
      'The channel responded, but the response cannot be read, is not authentic, does not match the order, or says that a credential or the clock of this service is wrong; `cause` says which.',
    remedy: 'Query the order; the service keeps checking it.',
    retryable: true,
  },
  channel_outcome_unknown: {
    title: 'Outcome unknown',
    meaning: 'The channel sent no usable response in time; the operation may have taken effect.',
    remedy: 'Query the order, or repeat the request with the same Idempotency-Key or merchant number.',
    retryable: true,
  },
  channel_refusal_inconclusive: {
    title: 'Refused, outcome undecided',
    meaning:
      'The channel refused, but the order has not ended. `cause` says why: `unlisted`: this service does not know the reason; `trade_may_exist`: by the reason, a trade of this order exists or may exist; `repeated`: an earlier request may have been accepted. `channel` has its code and message.',
    remedy:
      'Correct what the channel reports and repeat the request with the same Idempotency-Key or merchant number, or close the order. Until the order has ended, do not charge the payer another way.',
    retryable: true,
  },
  channel_refused: {
    title: 'Refused by the channel',
    meaning: 'The channel refused the request; `channel` has its code and message.',
    remedy: 'Correct what the channel reports.',
  },
  dispute_closed: {
    title: 'Dispute closed',
    meaning: 'The channel has decided the dispute, so it can no longer be answered or accepted.',
    remedy: 'Get the dispute to see how it ended.',
  },
  exception_resolved: {
    title: 'Exception already resolved',
    meaning: 'The exception has already been resolved.',
    remedy: 'See the timeline of the order.',
  },
  merchant_number_used: {
    title: 'Merchant number already used',
    meaning: 'The merchantOrderNo or merchantRefundNo was already used for another order or refund.',
    remedy: 'Use a new number, or repeat the request with the same values.',
  },
  order_already_paid: {
    title: 'Order already paid',
    meaning: 'The order has already been paid.',
    remedy: 'Refund it instead.',
  },
  order_not_paid: {
    title: 'Order not paid',
    meaning: 'The order has not been paid, so there is nothing to refund.',
    remedy: 'Query the order first.',
  },
  refund_exceeds_refundable: {
    title: 'Refundable amount exceeded',
    meaning: 'The amount exceeds the refundable amount of the order.',
    remedy: 'Refund at most refundableAmount.',
  },
  refund_in_progress: {
    title: 'Refund in progress',
    meaning:
      'A refund of this order is in progress and its outcome is not known yet: one of the same amount, or, when a dispute is accepted, any.',
    remedy:
      'Query it; to refund the same amount twice, send a merchantRefundNo or an Idempotency-Key. Accept the dispute when the refund has ended.',
    retryable: true,
  },
  refund_limit_reached: {
    title: 'Too many refunds',
    meaning: 'The channel accepts no more refunds of this order.',
    remedy: 'Refund the payer by other means.',
  },
  refund_not_abnormal: {
    title: 'Refund not abnormal',
    meaning: 'The refund is not in the state abnormal, so there is nothing to resolve.',
    remedy: 'Check the refund first.',
  },
  refund_not_released: {
    title: 'Refund not released',
    meaning: 'The channel has the refund, or may have it, so its amount cannot be released.',
    remedy: 'Sync the refund and check it again.',
  },
  refund_not_retryable: {
    title: 'Refund not retryable',
    meaning: 'Only a failed or abnormal refund can be retried.',
    remedy: 'Check the refund first.',
  },
  refund_window_over: {
    title: 'Refund period expired',
    meaning: 'The channel no longer accepts refunds of an order of this age.',
    remedy: 'Refund the payer by other means.',
  },
  refunds_blocked: {
    title: 'Refunds blocked',
    meaning: 'An open exception of the order must be resolved first; the order names its kind in refundsBlockedBy.',
    remedy:
      'Have an administrator resolve the exception. If it is an accepted dispute, wait until the channel has decided it.',
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
    remedy: 'Configure the webhook of the application first.',
  },
} as const;

/** Errors of pay-per-call. */
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
      'The payment was refunded in full, or is being refunded. Before delivery, a partial refund by the application or a partial loss in a dispute counts as well. The content is no longer delivered.',
    remedy:
      'Call the resource without X-Out-Trade-No for a new offer. The rest of the payment can be refunded. If the refund fails, the same call returns the content.',
  },
  proof_unverified: {
    title: 'Proof not verified',
    meaning: 'The channel did not confirm or reject the proof of payment. A completed payment stays valid.',
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
      'The pay-per-call offer expired without a payment. If `data` is present, it is a new offer with its own number that replaces the expired offer; payment of either redeems the call.',
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
    meaning: 'The product cannot be refunded once delivered, so before delivery only a full refund is possible.',
    remedy: 'Leave refundAmount out for a full refund, or call the resource to get its content.',
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

/** Errors of projects, payers, products and coins. */
export const catalogCodes = {
  biz_no_used: {
    title: 'bizNo already used',
    meaning: 'The application has already used the bizNo for a debit of another amount.',
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
    meaning: 'The coins credited with the order have been spent, so it cannot be refunded in full.',
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

/** Errors of channel configurations and certificates. */
export const credentialsCodes = {
  certificate_exists: {
    title: 'Certificate already exists',
    meaning: 'The same certificate or key was uploaded before; `id` names it.',
    remedy: 'Use the existing one.',
  },
  certificate_not_trusted: {
    title: 'Certificate not trusted',
    meaning: 'No administrator trusts this certificate or key, so nothing is verified with it.',
    remedy: 'Have an administrator compare its fingerprint with the console of the channel and trust it.',
  },
  certificate_pair_mismatch: {
    title: 'Certificate and key do not match',
    meaning: 'The certificate and the private key that would be used together do not match.',
    remedy: 'Upload the matching certificate or key first; both become the default together.',
  },
  certificate_unusable: {
    title: 'Certificate unusable',
    meaning: 'The channel configuration would not work with this certificate.',
    remedy: 'First correct the fault that the message names.',
  },
  channel_disabled: {
    title: 'Channel disabled',
    meaning: 'The channel is disabled for this project; existing orders are still processed.',
    remedy: 'Use another payWay or have the channel enabled.',
  },
  channel_not_configured: {
    title: 'Channel not configured',
    meaning: 'The project has no usable configuration of this channel.',
    remedy: 'Complete the channel configuration; testing it shows what is missing.',
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
    meaning: 'Orders of the simulator are paid without money, so its configurations cannot be written in production.',
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
      'A certificate or key of this kind is used to sign; only certificates and keys for verification are trusted.',
    remedy: 'Use it as it is; the list of certificates shows which of them must be trusted.',
  },
} as const;
