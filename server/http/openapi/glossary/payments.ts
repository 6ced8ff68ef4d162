import { PAY_WAYS, inEnglish } from '../../../domain.ts';
import { type Glossary, LEFT_OUT } from '../schemas.ts';

const AT = '2030-01-31T08:00:00.000Z';

/** Descriptions of the fields of orders, refunds, disputes, pay-per-call and events, by schema or operation. */
export const paymentWords: Glossary = {
  'AdminSessionEntry Order.payment SkillOffered': {
    expiresAt: ['Until when it is valid, RFC 3339 UTC.', '2030-01-31T10:00:00.000Z'],
  },
  'AgentPay AppMe Bill Certificate ChannelConfig ChannelConfig.ofOtherAccounts ChannelConfigChange Order OrderEntry PublicChannel Settlement.balances Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable SkillFigures SkillOrder StatsOverview User.totals query':
    { mode: ['Where the money moves: `live`, `sandbox` or `simulator`.', 'simulator'] },
  AlipayOptions: {
    terminalId: ['Number of the terminal in the shop.', 'terminal-1'],
    operatorId: ['Who works the till.', 'operator-1'],
  },
  'AlipayOptions WechatOptions': {
    goods: ['What is sold, for the records of the channel.'],
    storeId: ['Number of the shop.', 'shop-1'],
  },
  'Approval Bill.sums Bill.totals BillDifference.ours BillDifference.theirs ConsolePayRequest Dispute Limit LiveEvent NewProduct Order Order.settlement.fee Order.settlement.net Order.settlement.received OrderEntry OrderEntry.settlement.fee OrderEntry.settlement.net OrderEntry.settlement.received OrderExplanation.bills OrderExplanation.equation OrderTally.amounts PlacePaymentRequest Product ProductChange Refund Refund.fee RefundPlaced RefundPlaced.fee Settlement.balances Settlement.days Settlement.disagreements Settlement.pendingRefunds Settlement.totals SkillFigures SkillFulfilled SkillOffered SkillOrder SkillPrice SkillRefundPlaced SkillRefundPlaced.fee StatsOverview.days.amounts StatsOverview.totals.amounts User.totals':
    { currency: ['ISO 4217 code of the currency.', 'CNY'] },
  'Approval BillDifference CoinEntry CoinPosting Dispute LiveEvent LiveExceptions.newest Order OrderEntry OrderException OrderExplanation Refund RefundPlaced RefundRequest SkillCoinOrder SkillContent SkillFulfilled SkillOffered SkillOrder SkillRefundPlaced path query':
    { orderNo: ['Number of the order.', 'P20300131080000ABCDEFGHJK'] },
  'Approval BillDifference LiveExceptions.newest OrderException OrderExplanation.refunds Refund RefundPlaced SkillRefundPlaced path query':
    { refundNo: ['Number of the refund.', 'R20300131080100ABCDEFGHJK'] },
  'Approval CoinAdjustment OrderException OrderRefundRequest Refund RefundPlaced RefundRequest RejectApprovalRequest ResolveExceptionRequest ResolveRefundRequest SkillRefundPlaced SkillRefundRequest':
    { reason: ['Why, in words.', 'One coffee was cold'] },
  'Approval Refund RefundPlaced SkillRefundPlaced': {
    refundAmount: ['Amount of the refund in major units of `currency`.', 2.5],
    refundAmountMinor: ['The same amount in minor units (250 = 2.50 CNY).', 250],
  },
  'Bill BillDifference Certificate CertificateFilter CertificateUpload ChannelConfig ChannelConfigSchema ConsolePayRequest Diagnosis.silentNotices Dispute FetchBillRequest LiveChannel LiveEvent Order OrderEntry PlacePaymentRequest PublicChannel Settlement.balances Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable SkillFulfilled SkillOffered SkillOrder StatsOverview.days.amounts StatsOverview.totals.amounts User.totals path query':
    {
      payWay: [
        `Channel: ${inEnglish(
          PAY_WAYS.map((name) => `\`${name}\``),
          'or',
        )}.`,
        'alipay',
      ],
    },
  'Bill BillDifference Dispute Refund RefundPlaced SkillRefundPlaced': {
    nextCheckAt: ['When the service asks the channel next, RFC 3339 UTC; null = it does not.', null],
  },
  'BillDifference Delivery Refund RefundPlaced SkillRefundPlaced': {
    finishedAt: ['When it ended, RFC 3339 UTC; null = still under way.', AT],
  },
  'BillDifference.ours BillDifference.theirs OrderExplanation.bills OrderExplanation.refunds SkillFulfilled SkillOffered':
    { amountMinor: ['Amount in minor units (1250 = 12.50 CNY).', 1250] },
  ChannelOptions: {
    alipay: ['Only for orders paid with Alipay.'],
    paypal: ['Only for orders paid with PayPal.'],
    wechat: ['Only for orders paid with WeChat Pay.'],
  },
  'CoinAccount CoinAdjustment CoinBalance CoinDebit CoinEntry CoinPosting SkillCoinOrder User UserInput path query': {
    userId: ["The user in the caller's system.", 'user-1001'],
  },
  'ConsoleEvent Delivery Event LiveEvent': { type: ['Type of the event.', 'order.paid'] },
  'ConsoleEvent Event': { data: ['What the event is about.'] },
  'ConsoleEvent Event LiveEvent': { sequence: ['Number of the event in the log; increasing, with gaps.', 42] },
  'ConsoleEvent LiveEvent': {
    objectNo: ['Number of the order, refund or dispute that the event is about.', 'P20300131080000ABCDEFGHJK'],
  },
  'ConsoleEvent.data Event.data': {
    object: [
      'What the event is about, as it was then: an order, refund, dispute or coin entry.',
      { orderNo: 'P20300131080000ABCDEFGHJK' },
    ],
  },
  'ConsolePayRequest PlacePaymentRequest': {
    channelOptions: ['What is passed on to the channel beyond the order itself.'],
    expireSeconds: ['Seconds until an unpaid order expires, 60 to 604800; 7200 if not given.', 7200],
    openId: ["The payer's ID at WeChat Pay, which belongs to the app ID.", 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o'],
    returnUrl: ['Where the payer comes back to after the payment.', 'https://shop.example/thanks'],
    product: ['Code of the product.', 'coffee'],
  },
  'Delivery Webhook WebhookInput': { url: ['Address.', 'https://shop.example/webhooks'] },
  Dispute: {
    acceptedAt: ['When the merchant accepted the dispute, RFC 3339 UTC; null = not accepted.', null],
    answeredAt: ['When the merchant answered the dispute, RFC 3339 UTC; null = not answered.', null],
    dueAt: ['Until when the channel waits for an answer, RFC 3339 UTC; null = it does not wait.', null],
    lostAmount: ['What the dispute took, in major units.', 0],
    openedAt: ['When the dispute was opened at the channel, RFC 3339 UTC.', AT],
    reason: ["The channel's word for why the payer disputes.", 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED'],
    refundNo: ['The refund by which the order counts what the dispute took; null = it took nothing.', null],
  },
  'Dispute LiveEvent Order Order.settlement.fee Order.settlement.net Order.settlement.received OrderEntry OrderEntry.settlement.fee OrderEntry.settlement.net OrderEntry.settlement.received OrderTally.amounts Refund.fee RefundPlaced.fee SkillOrder SkillPrice SkillRefundPlaced.fee':
    { amount: ['Amount in major units of `currency` (12.5 = 12.50 CNY).', 12.5] },
  'Dispute Order Order.settlement.fee Order.settlement.net Order.settlement.received OrderEntry OrderEntry.settlement.fee OrderEntry.settlement.net OrderEntry.settlement.received OrderTally.amounts Refund.fee RefundPlaced.fee SkillOrder SkillPrice SkillRefundPlaced.fee':
    { amountMinor: ['The same amount in minor units of `currency` (1250 = 12.50 CNY).', 1250] },
  'Dispute Order OrderEntry': {
    closedAt: ['When the order or dispute was closed, RFC 3339 UTC; null = not closed.', null],
  },
  'Dispute path': { disputeNo: ['Number of the dispute.', 'D20300131080000ABCDEFGHJK'] },
  'Dispute query': { channelDisputeNo: ['Number of the dispute at the channel.', '200201290000000001'] },
  Goods: {
    id: ['Number of the goods in the shop.', 'coffee-1'],
    name: ['Name of the goods.', 'Coffee'],
    quantity: ['How many pieces.', 1],
  },
  'LiveEvent Order OrderEntry SkillCoinOrder SkillOrder': {
    subject: ['Title of the order, which the payer sees.', 'Two coffees'],
  },
  'LiveMessage.events': { types: ['How many events of each type.'] },
  'NewProduct Order OrderEntry Product ProductChange': {
    orderType: ['Business category, chosen by the caller; null = none.', 'goods'],
  },
  'NewProduct.resource Product.resource ProductChange.resource SkillContent': {
    contentType: ['Media type of the content.', 'application/json'],
  },
  Order: {
    payUrl: ['Where the payer is sent.', LEFT_OUT],
    payment: ['What the payer needs to pay.', LEFT_OUT],
  },
  'Order OrderEntry': {
    captureReason: ["The channel's word why an approved payment has not arrived.", null],
    channelOrderId: ["The channel's number of the order itself (PayPal); null elsewhere.", null],
    channelTradeNo: ['Number of the payment at the channel; null until it is known.', '2030013122001400000000000001'],
    closeReason: ['Why the order was closed; null while it is not.', null],
    exception: ['Kind of the latest open exception of the order; null = none.', null],
    extra: ['Text of the caller, returned unchanged.', '{"table":7}'],
    kind: ['`payment`, or `skillpay` for an order of a pay-per-call resource.', 'payment'],
    merchantOrderNo: ["The caller's own number of the order; null = none.", '1001'],
    payer: ["The payer's account at the channel; null until it is known.", null],
    product: ['Code of the product; null = none.', null],
    scene: ['How the payment is presented to the payer: `qr`, `page`, `h5`, `app`, `jsapi`, `mini` or `code`.', 'qr'],
    settlement: ['What the channel keeps and what is left; null until it is known.', null],
  },
  'Order OrderEntry Refund RefundPlaced SkillRefundPlaced': { failure: ['Why it failed; null = it did not.', null] },
  'Order OrderEntry RefundPlaced SkillOrder SkillRefundPlaced StatsOverview.days.amounts StatsOverview.totals.amounts User.totals':
    { refundedAmount: ['What has been refunded, in major units.', 2.5] },
  'Order OrderEntry RefundPlaced SkillRefundPlaced': {
    refundableAmount: [
      'The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception.',
      10,
    ],
    refundsBlockedBy: [
      'Kind of the open exception that forbids refunds until it is resolved, such as `refund_unexplained` when the channel gave back money that no known refund explains; null = none. Among events only `order.exception` contains it, as of that time.',
      null,
    ],
  },
  'Order OrderEntry SkillFulfilled': { userId: ["The paying user in the caller's system; null = none.", 'user-1001'] },
  'Order OrderEntry SkillOrder': {
    paidAt: ['When it was paid, RFC 3339 UTC; never before `createdAt`; null = not paid.', AT],
    stale: ['Whether the channel could not be asked in time, so the stored state is shown.', false],
  },
  'Order OrderExplanation SkillOrder': { refunds: ['The refunds, the oldest first.'] },
  'Order.failure OrderEntry.failure Refund.failure RefundPlaced.failure SkillRefundPlaced.failure': {
    code: ['Code of the failure, as the channel gives it.', 'ACQ.SYSTEM_ERROR'],
    message: ['What the channel says about it.', 'The system is busy.'],
  },
  'Order.payment': {
    params: [
      'What the mini program or the app hands to the SDK of the channel.',
      { prepayid: 'wx201410272009395522657a690389285100' },
    ],
    qrCode: ['Text of the QR code that the payer scans.', 'https://qr.alipay.com/bax00000000000000000'],
    url: ['Page of the channel where the payer pays.', 'https://pay.example/checkout'],
  },
  'Order.settlement OrderEntry.settlement': {
    net: ['What is left of the payment after fees; null until it is known.', null],
    received: ['What was paid out in another currency; null = the same currency, or not known.', null],
  },
  'Order.settlement OrderEntry.settlement Refund RefundPlaced SkillRefundPlaced': {
    fee: ['What the channel keeps; null until it is known.', null],
  },
  'OrderRefundRequest RefundRequest SkillRefundRequest query': {
    merchantRefundNo: ["The caller's own number of the refund.", '1001-1'],
  },
  PaypalOptions: { landingPage: ["Which of PayPal's pages comes first.", 'NO_PREFERENCE'] },
  'Refund RefundPlaced SkillRefundPlaced': {
    channelRefundNo: ['Number of the refund at the channel; null until it is known.', '2030013150300000000000000001'],
    elsewhere: ['Whether the refund was made outside of this service.', false],
    merchantRefundNo: ["The caller's own number of the refund; null = none.", '1001-1'],
  },
  'Refund RefundPlaced SkillRefundPlaced query': {
    origin: [
      'Who began the refund: `merchant`, `admin`, `channel`, `dispute`, `late`, `surplus` and so on.',
      'merchant',
    ],
  },
  SkillCoinOrder: {
    coin: ['What the call cost.'],
    kind: ['`coin`: coins paid the call.', 'coin'],
    refundedAt: ['When it was given back, RFC 3339 UTC; null = it was not.', null],
    status: ['`paid`, or `refunded` when the coins were given back.', 'paid'],
    paidAt: ['When the coins paid it, RFC 3339 UTC.', AT],
  },
  'SkillCoinOrder SkillContent SkillFulfilled SkillOffered SkillOrder SkillRefundPlaced SkillRefundRequest path': {
    outTradeNo: ['Number of the pay-per-call order.', 'X20300131080000ABCDEFGHJK'],
  },
  'SkillCoinOrder SkillFigures SkillFulfilled SkillOffered SkillOrder SkillPrice': {
    resource: ['Code of the resource.', 'weather'],
  },
  'SkillCoinOrder SkillOrder': {
    fulfilledAt: ['When the content was made, RFC 3339 UTC; null = not yet.', AT],
    fulfilment: ['How far the content is: `none`, `running`, `done` or `failed`.', 'done'],
  },
  SkillContent: {
    alreadyFulfilled: ['True if this is the stored result of an earlier call.', false],
    receipt: ['Signed receipt, a compact JWS.', 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'],
    refundReason: ['Why the payment was given back.', 'The content could not be made.'],
  },
  'SkillContent callResource': {
    content: ['The paid content: JSON if the content type is JSON, else text.', { forecast: 'sunny' }],
  },
  SkillFulfilled: { fulfilledAt: ['When the content was made, RFC 3339 UTC.', AT] },
  SkillOrder: { successor: ['The order that took its place when it ended unpaid; null = none.', null] },
  'Webhook WebhookInput': { types: ['Types of events.', ['order.paid']] },
  WechatOptions: { deviceId: ['Number of the device that takes the payment.', 'till-1'] },
  'acceptDispute putUser putUserOfProject resolveException setWebhook': { data: ['What was asked for.'] },
  query: {
    cancelled: ['Whether the payer went back without paying; `1` = yes.', '1'],
    format: ['`csv` or `ndjson`.', 'csv'],
    kind: ['Only those of this kind.'],
    state: ['Only those in this state.'],
    status: ['Only those in this state.'],
    amountMax: ['Only orders of at most this amount, in major units of the currency of each order.', '100'],
    amountMin: ['Only orders of at least this amount, in major units of the currency of each order.', '10'],
    createdFrom: ['Only what was created at or after this time, RFC 3339 with a zone.', AT],
    createdTo: ['Only what was created before this time, RFC 3339 with a zone.', '2030-02-01T08:00:00.000Z'],
    merchantOrderNo: ["The caller's own number of the order.", '1001'],
    channelTradeNo: ['Number of the payment at the channel.', '2030013122001400000000000001'],
    exception: ['Kind of the latest open exception of the order.', 'amount_mismatch'],
    orderType: ['Business category, chosen by the caller.', 'goods'],
    email: ['E-mail address.', 'ann@example.com'],
    phone: ['Telephone number.', '+8613800138000'],
    after: ['Sequence of the last received event; goes on after it.', '42'],
    enabled: ['Only those that are in use, or only those that are not.', 'true'],
  },
};
