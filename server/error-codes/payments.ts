/** Refusals of orders and refunds, and what became of a call to a channel. */
export const paymentsCodes = {
  amount_invalid: {
    title: 'Amount invalid',
    meaning: 'The amount is not a positive decimal with at most the decimals of its currency, up to 100000000.',
    remedy: 'Send a number or a decimal string in major units.',
  },
  approval_not_independent: {
    title: 'Approval not independent',
    meaning:
      'The account is younger than the request, or what asked and the account that approves are in the same hands: the administrator that asked made it, or one administrator, which may be either of the two, made or changed both within 30 days. To give out or change a credential of an application counts as changing it.',
    remedy: 'Have another administrator approve it, or reject it.',
  },
  approval_by_asker: {
    title: 'Approval by the asker',
    meaning: 'The administrator that asked for it tried to approve it.',
    remedy: 'Have another administrator approve it.',
  },
  approval_decided: {
    title: 'Already decided',
    meaning: 'It was approved or rejected before, or the refund is over.',
    remedy: 'Get the approval to see who decided it, and the refund, dispute or exception to see what became of it.',
  },
  bill_being_read: {
    title: 'Bill is being read',
    meaning: 'Another reading of the same bill began meanwhile, and only the later one counts.',
    remedy: 'Get the bill, and repeat the request if it is still needed.',
    retryable: true,
  },
  bill_malformed: {
    title: 'Not the bill of that day',
    meaning:
      'The file is damaged, or not the bill of this account and day; `fault`, `line` and `column` say where. Nothing of it counts.',
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
    title: 'Refused, nothing decided',
    meaning:
      'The channel refused, and nothing has ended by it. `cause` says why: `unlisted`: this service does not know the reason; `trade_may_exist`: the reason says that there is a trade of this order, or may be one; `repeated`: an earlier request may have been accepted. `channel` has its code and message.',
    remedy:
      'Mend what the channel reports and repeat the request with the same Idempotency-Key or merchant number, or close the order. Until the order has ended, do not charge the payer another way.',
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
