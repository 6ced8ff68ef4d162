import { PAY_WAYS, inEnglish } from '../../../domain.ts';
import { type Glossary, NO_EXAMPLE } from '../schemas.ts';

const AT = '2030-01-31T08:00:00.000Z';

/** Descriptions of the fields of orders, refunds, disputes, pay-per-call and events, by schema or operation. */
export const paymentWords: Glossary = {
  'AdminSessionEntry Order.payment SkillOffered': {
    expiresAt: ['When it expires, RFC 3339 UTC.', '2030-01-31T10:00:00.000Z'],
  },
  'AgentPay AppMe Bill Certificate ChannelConfig ChannelConfig.ofOtherAccounts ChannelConfigChange Order OrderEntry PublicChannel Settlement.balances Settlement.days Settlement.disagreements Settlement.missing Settlement.pendingRefunds Settlement.shrunk Settlement.unchecked Settlement.unreadable SkillFigures SkillOrder StatsOverview User.totals query':
    {
      mode: [
        'Environment. Only `live` moves real money; `sandbox`, `simulator` and `test` (of an application) do not.',
        'simulator',
      ],
    },
  AlipayOptions: {
    terminalId: ['Number of the terminal in the shop.', 'terminal-1'],
    operatorId: ['Number of the cashier.', 'operator-1'],
  },
  'AlipayOptions WechatOptions': {
    goods: ['The goods of the order, for the records of the channel.'],
    storeId: ['Number of the shop.', 'shop-1'],
  },
  'Approval Bill.sums Bill.totals BillDifference.ours BillDifference.theirs ConsolePayRequest Dispute Limit LiveEvent NewProduct Order Order.settlement.fee Order.settlement.net Order.settlement.received OrderEntry OrderEntry.settlement.fee OrderEntry.settlement.net OrderEntry.settlement.received OrderExplanation.bills OrderExplanation.equation OrderTally.amounts OwnOrderExplanation.equation PlacePaymentRequest Product ProductChange Refund Refund.fee RefundPlaced RefundPlaced.fee Settlement.balances Settlement.days Settlement.disagreements Settlement.pendingRefunds Settlement.totals SkillFigures SkillFulfilled SkillOffered SkillOrder SkillPrice SkillRefundPlaced SkillRefundPlaced.fee StatsOverview.days.amounts StatsOverview.totals.amounts User.totals':
    { currency: ['ISO 4217 code of the currency.', 'CNY'] },
  'Approval BillDifference CoinEntry CoinPosting Dispute LiveEvent LiveExceptions.newest Order OrderEntry OrderException OrderExplanation OwnOrderExplanation Refund RefundPlaced RefundRequest SkillCoinOrder SkillContent SkillFulfilled SkillOffered SkillOrder SkillRefundPlaced path query':
    { orderNo: ['Number of the order.', 'P20300131080000ABCDEFGHJK'] },
  'Approval BillDifference LiveExceptions.newest OrderException OrderExplanation.refunds OwnOrderExplanation.refunds Refund RefundPlaced SkillRefundPlaced path query':
    { refundNo: ['Number of the refund.', 'R20300131080100ABCDEFGHJK'] },
  'Approval CoinAdjustment OrderException OrderRefundRequest Refund RefundPlaced RefundRequest RejectApprovalRequest ResolveExceptionRequest ResolveRefundRequest SkillRefundPlaced SkillRefundRequest':
    { reason: ['Reason, as free text.', 'One coffee was cold'] },
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
    nextCheckAt: ['Time of the next query to the channel, RFC 3339 UTC; null = none is planned.', null],
  },
  'BillDifference Delivery Refund RefundPlaced SkillRefundPlaced': {
    finishedAt: ['When it was completed, RFC 3339 UTC; null = still in progress.', AT],
  },
  'BillDifference.ours BillDifference.theirs OrderExplanation.bills OrderExplanation.refunds OwnOrderExplanation.refunds SkillFulfilled SkillOffered':
    { amountMinor: ['Amount in minor units (1250 = 12.50 CNY).', 1250] },
  ChannelOptions: {
    alipay: ['Used only if `payWay` is `alipay`.'],
    paypal: ['Used only if `payWay` is `paypal`.'],
    wechat: ['Used only if `payWay` is `wechat`.'],
  },
  'CoinAccount CoinAdjustment CoinBalance CoinDebit CoinEntry CoinPosting SkillCoinOrder User UserInput path query': {
    userId: ["ID of the user in the merchant's system.", 'user-1001'],
  },
  'ConsoleEvent Delivery Event LiveEvent': { type: ['Type of the event.', 'order.paid'] },
  'ConsoleEvent Event': { data: ['Contains the object of the event.'] },
  'ConsoleEvent Event LiveEvent': {
    sequence: ['Sequence number of the event in the event log. The numbers increase; gaps are normal.', 42],
  },
  'ConsoleEvent LiveEvent': {
    objectNo: ['Number of the order, refund or dispute that the event is about.', 'P20300131080000ABCDEFGHJK'],
  },
  'ConsoleEvent.data Event.data': {
    object: [
      'The object of the event (for example an order, refund, dispute or coin entry), in its state at the time of the event.',
      { orderNo: 'P20300131080000ABCDEFGHJK' },
    ],
  },
  'ConsolePayRequest PlacePaymentRequest': {
    channelOptions: ['Additional options for the channel.'],
    expireSeconds: ['Seconds until an unpaid order expires, 60 to 604800; default 7200.', 7200],
    openId: ["The payer's openid at WeChat Pay. It is valid only for one app ID.", 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o'],
    returnUrl: ['URL to which the payer returns after the payment.', 'https://shop.example/thanks'],
    product: ['Code of the product.', 'coffee'],
  },
  'Delivery Webhook WebhookInput': { url: ['URL to which the events are sent.', 'https://shop.example/webhooks'] },
  Dispute: {
    acceptedAt: ['When the merchant accepted the dispute, RFC 3339 UTC; null = not accepted.', null],
    answeredAt: ['When the merchant answered the dispute, RFC 3339 UTC; null = not answered.', null],
    dueAt: ["Deadline for the merchant's answer, RFC 3339 UTC; null = no answer is due.", null],
    lostAmount: ['Amount that the merchant lost to the dispute, in major units.', 0],
    openedAt: ['When the dispute was opened at the channel, RFC 3339 UTC.', AT],
    reason: ['Reason of the payer, as the channel reports it.', 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED'],
    refundNo: ['Number of the refund that records the lost amount in the order; null = nothing was lost.', null],
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
    id: ['Article number in the shop.', 'coffee-1'],
    name: ['Name of the goods.', 'Coffee'],
    quantity: ['Number of pieces.', 1],
  },
  'LiveEvent Order OrderEntry SkillCoinOrder SkillOrder': {
    subject: ['Title of the order, which the payer sees.', 'Two coffees'],
  },
  'LiveMessage.events': { types: ['Number of events by type.'] },
  'NewProduct Order OrderEntry Product ProductChange': {
    orderType: ['Business category, chosen by the caller; null = none.', 'goods'],
  },
  'NewProduct.resource Product.resource ProductChange.resource SkillContent': {
    contentType: ['Media type of the content.', 'application/json'],
  },
  Order: {
    payUrl: ['URL to which the payer is sent.', NO_EXAMPLE],
    payment: ['Data that the payer needs for the payment.', NO_EXAMPLE],
  },
  'Order OrderEntry': {
    captureReason: ["The channel's code for the reason why an approved payment has not been received.", null],
    channelOrderId: ["PayPal's order number; null for other channels.", null],
    channelTradeNo: ['Number of the payment at the channel; null until it is known.', '2030013122001400000000000001'],
    closeReason: ['Reason why the order was closed; null = it is not closed.', null],
    exception: ['Kind of the latest open exception (a case that an operator must review); null = none.', null],
    extra: ["The caller's own text, returned unchanged.", '{"table":7}'],
    kind: ['`payment`, or `skillpay` for an order of a pay-per-call resource.', 'payment'],
    merchantOrderNo: ["The caller's own number of the order; null = none.", '1001'],
    payer: ["The payer's account at the channel; null until it is known.", null],
    product: ['Code of the product; null = none.', null],
    scene: [
      'How the payment is presented to the payer: `qr`, `page`, `wap`, `app`, `h5`, `jsapi`, `mini`, `code` or `redirect`.',
      'qr',
    ],
    settlement: ['Fee of the channel, and the net amount; null until known.', null],
  },
  'Order OrderEntry Refund RefundPlaced SkillRefundPlaced': {
    failure: ['Reason of the failure; null = no failure.', null],
  },
  'Order OrderEntry RefundPlaced SkillOrder SkillRefundPlaced StatsOverview.days.amounts StatsOverview.totals.amounts User.totals':
    { refundedAmount: ['Refunded amount in major units.', 2.5] },
  'Order OrderEntry RefundPlaced SkillRefundPlaced': {
    refundableAmount: [
      'The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception.',
      10,
    ],
    refundsBlockedBy: [
      'Kind of the open exception that blocks refunds until an operator resolves it; null = none. Example: `refund_unexplained`, when the channel returned money that no known refund explains. Of all events only `order.exception` contains it, with the value at the time of the event.',
      null,
    ],
  },
  'Order OrderEntry SkillFulfilled': {
    userId: ["ID of the paying user in the merchant's system; null = none.", 'user-1001'],
  },
  'Order OrderEntry SkillOrder': {
    paidAt: ['Time of the payment, RFC 3339 UTC, never before `createdAt`; null = not paid.', AT],
    stale: ['True if the channel could not be queried in time and the stored state is returned.', false],
  },
  'Order OrderExplanation OwnOrderExplanation SkillOrder': { refunds: ['The refunds, the oldest first.'] },
  'Order.failure OrderEntry.failure Refund.failure RefundPlaced.failure SkillRefundPlaced.failure': {
    code: ['Error code of the channel or of this service.', 'ACQ.SYSTEM_ERROR'],
    message: ['Error text of the channel or of this service.', 'The system is busy.'],
  },
  'Order.payment': {
    params: [
      'Parameters that the web page, mini program or app passes to the SDK of the channel.',
      { prepayid: 'wx201410272009395522657a690389285100' },
    ],
    qrCode: ['Text of the QR code that the payer scans.', 'https://qr.alipay.com/bax00000000000000000'],
    url: ['Page of the channel where the payer pays.', 'https://pay.example/checkout'],
  },
  'Order.settlement OrderEntry.settlement': {
    net: ['Payment minus fees; null until known.', null],
    received: [
      'Amount that the channel credited after it converted the payment to another currency; null = not converted, or not known yet.',
      null,
    ],
  },
  'Order.settlement OrderEntry.settlement Refund RefundPlaced SkillRefundPlaced': {
    fee: ['Fee of the channel; null until known.', null],
  },
  'OrderRefundRequest RefundRequest SkillRefundRequest query': {
    merchantRefundNo: ["The caller's own number of the refund.", '1001-1'],
  },
  PaypalOptions: { landingPage: ['The PayPal page that the payer sees first.', 'NO_PREFERENCE'] },
  'Refund RefundPlaced SkillRefundPlaced': {
    channelRefundNo: ['Number of the refund at the channel; null until it is known.', '2030013150300000000000000001'],
    elsewhere: ['Whether the refund was made outside this service.', false],
    merchantRefundNo: ["The caller's own number of the refund; null = none.", '1001-1'],
  },
  'Refund RefundPlaced SkillRefundPlaced query': {
    origin: [
      'Origin of the refund: `merchant`, `admin`, `skillpay` (pay-per-call), `late` (payment after the order ended), `surplus` (unexpected payment), `channel` (made outside this service) or `dispute`.',
      'merchant',
    ],
  },
  SkillCoinOrder: {
    coin: ['Price of the call in coins.'],
    kind: ['Always `coin`: the call was paid with coins.', 'coin'],
    refundedAt: ['Time of the refund, RFC 3339 UTC; null = not refunded.', null],
    status: ['`paid`, or `refunded` if the coins were returned.', 'paid'],
    paidAt: ['Time of the payment with coins, RFC 3339 UTC.', AT],
  },
  'SkillCoinOrder SkillContent SkillFulfilled SkillOffered SkillOrder SkillRefundPlaced SkillRefundRequest path': {
    outTradeNo: ['Number of the pay-per-call order.', 'X20300131080000ABCDEFGHJK'],
  },
  'SkillCoinOrder SkillFigures SkillFulfilled SkillOffered SkillOrder SkillPrice': {
    resource: ['Code of the resource.', 'weather'],
  },
  'SkillCoinOrder SkillOrder': {
    fulfilledAt: ['When the content was created, RFC 3339 UTC; null = not yet.', AT],
    fulfilment: ['State of the content: `none` (not started), `running`, `done` or `failed`.', 'done'],
  },
  SkillContent: {
    alreadyFulfilled: ['True if this is the stored result of an earlier call.', false],
    receipt: ['Signed receipt, a compact JWS.', 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'],
    refundReason: ['Reason of the refund.', 'The content could not be made.'],
  },
  'SkillContent callResource': {
    content: ['The paid content: JSON if the content type is JSON, else text.', { forecast: 'sunny' }],
  },
  SkillFulfilled: { fulfilledAt: ['When the content was created, RFC 3339 UTC.', AT] },
  SkillOrder: { successor: ['Number of the order that replaced this one after it ended unpaid; null = none.', null] },
  'Webhook WebhookInput': { types: ['Event types that are sent.', ['order.paid']] },
  WechatOptions: { deviceId: ['Number of the device that takes the payment.', 'till-1'] },
  'acceptDispute putUser putUserOfProject resolveException setOwnWebhook setWebhook': {
    data: ['The result of the operation.'],
  },
  query: {
    cancelled: ['Whether the payer returned without paying; `1` = yes.', '1'],
    format: ['`csv` or `ndjson`.', 'csv'],
    kind: ['Returns only entries of this kind.'],
    state: ['Returns only entries in this state.'],
    status: ['Returns only entries in this state.'],
    amountMax: ['Returns only orders of at most this amount, in major units of the currency of each order.', '100'],
    amountMin: ['Returns only orders of at least this amount, in major units of the currency of each order.', '10'],
    createdFrom: ['Returns only entries created at or after this time, RFC 3339 with a time zone.', AT],
    createdTo: [
      'Returns only entries created before this time, RFC 3339 with a time zone.',
      '2030-02-01T08:00:00.000Z',
    ],
    merchantOrderNo: ["The caller's own number of the order.", '1001'],
    channelTradeNo: ['Number of the payment at the channel.', '2030013122001400000000000001'],
    exception: ['Kind of the latest open exception of the order.', 'amount_mismatch'],
    orderType: ['Business category, chosen by the caller.', 'goods'],
    email: ['E-mail address.', 'ann@example.com'],
    phone: ['Telephone number.', '+8613800138000'],
    after: ['Sequence number of the last received event. The response starts with the event after it.', '42'],
    enabled: ['`true` = only enabled entries, `false` = only disabled ones.', 'true'],
  },
};
