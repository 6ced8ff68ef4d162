// The Chinese descriptions of operations and fields on the pages of payments, refunds, disputes, events and pay-per-call,
// by the English text of the OpenAPI document.

export const PAYMENT_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Lists and responses
  'Entries per page, 1 to 200; default 50.': '每页条数，1 至 200，默认 50。',
  'Opaque cursor: `page.nextCursor` of the previous page.': '游标，取上一页的 `page.nextCursor`，其内容无须解析。',
  'Returns only entries in this state.': '只返回该状态的记录。',
  'Returns only entries created at or after this time, RFC 3339 with a time zone.':
    '只返回在该时间或之后创建的记录，RFC 3339 格式，须带时区。',
  'Returns only entries created before this time, RFC 3339 with a time zone.':
    '只返回在该时间之前创建的记录，RFC 3339 格式，须带时区。',
  'The result of the operation.': '接口返回的结果。',
  'Cursor of the next page.': '下一页的游标。',
  'Send it as `cursor` to get the next page; null = this is the last page.':
    '作为 `cursor` 传入即可取下一页；null 表示已是最后一页。',
  'Whether there is another page.': '是否还有下一页。',

  // Operations
  'Newest first.': '按时间倒序。',
  'Newest first. Only administrators can answer or accept disputes.': '按时间倒序。只有管理员可以答复或接受争议。',
  'Newest first, without the refunds of the orders.': '按时间倒序，不含订单的退款明细。',
  'Creates an order and returns the data that the payer needs for the payment. Send an `Idempotency-Key` or a `merchantOrderNo`. Then a retry after a 504 (`channel_outcome_unknown`) continues the same order instead of creating a second one.':
    '创建订单并返回付款所需的数据。请传 `Idempotency-Key` 或 `merchantOrderNo`，这样在 504（`channel_outcome_unknown`）之后重试会继续同一笔订单，而不会再创建一笔。',
  'If the last response of the channel is older than 5 seconds, the service queries the channel about an open order.':
    '订单未完结且渠道的上一次响应已超过 5 秒时，服务会先向渠道查单。',
  'Returns the status `closed`, or `closing` until the channel confirms it. Closing an order twice is allowed; a paid order returns 409. The payer may pay an order of the scene `code` while it is being closed. Then the channel refunds the payment, and the status is `refunded`.':
    '返回状态 `closed`；渠道确认之前为 `closing`。可以重复关单；已支付的订单返回 409。场景 `code` 的订单在关闭过程中仍可能被支付，此时由渠道退回该付款，状态为 `refunded`。',
  "For PayPal, after the payer has approved the payment on a page of the shop (`onApprove` of PayPal's buttons). The payment is captured immediately instead of after PayPal's notification. PayPal is queried first, so the call is safe at any time. Returns the order.":
    '用于 PayPal：付款人在商户页面上批准付款（PayPal 按钮的 `onApprove`）之后调用，立即请款，无须等待 PayPal 的通知。服务会先向 PayPal 查单，因此任何时候调用都是安全的。返回订单。',
  'Returns 200 with `pending`, `processing` or `succeeded` once the refund is accepted, even if the channel does not respond. The service completes the refund on its own.':
    '退款一经受理即返回 200，状态为 `pending`、`processing` 或 `succeeded`，即使渠道没有响应。服务会自行完成退款。',
  'Oldest first. Store the `sequence` of the last event, and request the events after it. This never misses an event, even if the event was committed late, and returns no event twice. Gaps in the sequence are normal.':
    '按时间正序。请保存最后一个事件的 `sequence`，再请求其后的事件。这样既不遗漏（即使事件提交较晚）也不重复。序号不连续是正常的。',
  'The first call returns 402. Its headers contain a payment code (`<Brand>-Pay-Required`), the order number (`X-Out-Trade-No`), the x402 offer (`PAYMENT-REQUIRED`) and MPP challenges (`WWW-Authenticate`). After the payer has paid, send the same call again with `X-Out-Trade-No`, an x402 `PAYMENT-SIGNATURE`, an MPP credential in `Payment-Authorization`, or a `Payment-Proof` of an Alipay agent. It returns 200 with the content. Further repetitions never create the content twice. With an `Idempotency-Key` on the first call, a retry returns the same order in its current state. A call without `payWay` offers every channel of the skill; on the payment page the payer may choose another channel than the first. If an offer expired unpaid, a repeated call returns 402 `payment_expired` with a new offer in `data`; `inPlaceOf` is the number of the expired order. If the user in `userId` has enough coins for the `coinPrice` of the skill, the call returns 200 at once. Such a call is free when it is repeated with its `X-Out-Trade-No` or its `Idempotency-Key`. Without both, it is a new call and costs again.':
    '首次调用返回 402，响应头中有付款码（`<Brand>-Pay-Required`）、订单号（`X-Out-Trade-No`）、x402 报价（`PAYMENT-REQUIRED`）和 MPP 质询（`WWW-Authenticate`）。付款之后，带上 `X-Out-Trade-No`、x402 的 `PAYMENT-SIGNATURE`、MPP 凭证 `Payment-Authorization` 或支付宝智能体的 `Payment-Proof` 再次发送同一请求，即返回 200 和内容；此后无论重复多少次，内容都不会再次生成。首次调用带有 `Idempotency-Key` 时，重试返回同一笔订单的当前状态。不传 `payWay` 时，资源的全部渠道都可使用，付款人可以在付款页面上改用首选以外的渠道。报价未支付而过期时，再次调用返回 402 `payment_expired`，`data` 中是新的报价，`inPlaceOf` 是过期的订单号。`userId` 所指用户的虚拟币足够支付资源的 `coinPrice` 时，直接返回 200；带上 `X-Out-Trade-No` 或 `Idempotency-Key` 重复这次调用不再收费，两者都没有则视为新的调用，会再次收费。',
  'Without `refundAmount`, the full remaining amount is refunded. Returns 409 while the content is being created. Also returns 409 after delivery unless the resource has `refundAfterFulfilment`. A refund before delivery, even a partial one, ends the right to the content; if the refund fails, the right is restored. After a full refund, content that was delivered is no longer returned, either.':
    '不传 `refundAmount` 时退还全部剩余金额。内容生成过程中返回 409；交付之后也返回 409，除非资源开启了 `refundAfterFulfilment`。交付前退款后不再交付内容，部分退款也是如此；退款失败则恢复交付。全额退款之后，此前已交付的内容也不再返回。',

  // Orders
  'Number of the order.': '订单号。',
  'The number of the order.': '订单号。',
  '`payment`, or `skillpay` for an order of a pay-per-call resource.': '`payment`；按次付费订单为 `skillpay`。',
  "The caller's own number of the order.": '商户订单号。',
  "The caller's own number of the order; null = none.": '商户订单号，没有时为 null。',
  "The caller's own order number. A request with the same number and the same values returns the same order.":
    '商户订单号。单号和内容都相同的请求返回同一笔订单。',
  'Title of the order, which the payer sees.': '订单标题，付款人可以看到。',
  'Business category, chosen by the caller.': '商户自定的业务类别。',
  'Business category, chosen by the caller; null = none.': '商户自定的业务类别，没有时为 null。',
  "ID of the user in the merchant's system.": '付款人在商户系统中的用户 ID。',
  "ID of the paying user in the merchant's system.": '付款人在商户系统中的用户 ID。',
  "ID of the paying user in the merchant's system; null = none.": '付款人在商户系统中的用户 ID，没有时为 null。',
  "The caller's own text, returned unchanged.": '商户自定的文本，原样返回。',
  'How the payment is presented to the payer: `qr`, `page`, `wap`, `app`, `h5`, `jsapi`, `mini`, `code` or `redirect`.':
    '支付场景：`qr`、`page`、`wap`、`app`、`h5`、`jsapi`、`mini`、`code` 或 `redirect`。',
  'How the payment is presented to the payer. `code`: the shop scanned the code (`payCode`) of the payer.':
    '支付场景。`code`：商户扫描付款人出示的付款码（`payCode`）。',
  'Channel: `alipay`, `wechat` or `paypal`.': '渠道：`alipay`、`wechat` 或 `paypal`。',
  'ISO 4217 code of the currency.': '币种的 ISO 4217 代码。',
  'Amount in major units.': '金额，以主单位（如元）计。',
  'Amount in minor units.': '金额，以最小单位（如分）计。',
  'Amount in major units of `currency` (12.5 = 12.50 CNY).': '金额，以 `currency` 的主单位计（12.5 即 12.50 元）。',
  'Amount in minor units (1250 = 12.50 CNY).': '金额，以最小单位计（1250 即 12.50 元）。',
  'The same amount in minor units of `currency` (1250 = 12.50 CNY).':
    '同一金额，以 `currency` 的最小单位计（1250 即 12.50 元）。',
  'The same amount in minor units (250 = 2.50 CNY).': '同一金额，以最小单位计（250 即 2.50 元）。',
  'Amount in major units. It may be omitted if `product` sets the price.':
    '金额，以主单位（如元）计。由 `product` 定价时可以不传。',
  'Status of the order.': '订单状态。',
  'Kind of the latest open exception (a case that an operator must review); null = none.':
    '最近一项未处理的异常（须由管理员处理的情况）的类型，没有时为 null。',
  'Reason why the order was closed; null = it is not closed.': '订单关闭的原因；未关闭时为 null。',
  'Error text of the channel or of this service.': '渠道或本服务的错误说明。',
  'Error code of the channel or of this service.': '渠道或本服务的错误码。',
  'Error code of the channel or of this service; null = none.': '渠道或本服务的错误码，没有时为 null。',
  'Reason of the failure; null = no failure.': '失败原因；没有失败时为 null。',
  "The payer's account at the channel; null until it is known.": '付款人在渠道的账号，得知之前为 null。',
  'Code of the product.': '商品编码。',
  'Code of the product; null = none.': '商品编码，没有时为 null。',
  'Refunded amount in major units.': '已退金额，以主单位（如元）计。',
  'Refunded amount in minor units.': '已退金额，以最小单位（如分）计。',
  'The amount that can be refunded now, in major units; 0 while `refundsBlockedBy` names an exception.':
    '当前可退金额，以主单位（如元）计；`refundsBlockedBy` 有值时为 0。',
  'Kind of the open exception that blocks refunds until an operator resolves it; null = none. Example: `refund_unexplained`, when the channel returned money that no known refund explains. Of all events only `order.exception` contains it, with the value at the time of the event.':
    '阻止退款的异常类型，管理员处理之前不能退款；没有时为 null。例如 `refund_unexplained`：渠道退回了款项，但没有与之对应的退款。所有事件中只有 `order.exception` 包含该字段，其值为事件发生时的值。',
  "PayPal's order number; null for other channels.": 'PayPal 的订单号；其他渠道为 null。',
  'Number of the payment at the channel; null until it is known.': '渠道的交易号，得知之前为 null。',
  "PayPal's code for the reason why an approved payment has not been received yet, or why the payer must choose another payment method; null = none.":
    'PayPal 的原因代码，说明已批准的付款为何尚未到账，或付款人为何须换一种付款方式；没有时为 null。',
  'Fee of the channel; null until known.': '渠道手续费，得知之前为 null。',
  'Payment minus fees; null until known.': '扣除手续费后的净额，得知之前为 null。',
  'Amount that the channel credited after it converted the payment to another currency; null = not converted, or not known yet.':
    '渠道将付款兑换为其他币种后入账的金额；未兑换或尚未得知时为 null。',
  'Fee of the channel, and the net amount. PayPal reports them with the payment; for other channels they come from the bill a day later. null until known.':
    '渠道手续费与净额。PayPal 随付款一并给出；其他渠道取自次日的账单，得知之前为 null。',
  'Data that the payer needs for the payment. Present only while the order can be paid.':
    '付款所需的数据，仅在订单可支付期间返回。',
  '`code`: the payer confirms in the app whose code was scanned; no payment data is needed.':
    '`code`：付款人在出示付款码的 App 中确认，无须其他支付数据。',
  'Text of the QR code that the payer scans.': '付款人所扫二维码的内容。',
  'Page of the channel where the payer pays.': '渠道的付款页面。',
  'Parameters that the web page, mini program or app passes to the SDK of the channel.':
    '网页、小程序或 App 传给渠道 SDK 的参数。',
  'When it expires, RFC 3339 UTC.': '过期时间，RFC 3339 格式的 UTC 时间。',
  'When an unpaid order expires, RFC 3339 UTC.': '未支付订单的过期时间，RFC 3339 格式的 UTC 时间。',
  'URL to send the payer to; for QR scenes, the payment page of this service.':
    '应将付款人引导到的地址；二维码场景为本服务的付款页面。',
  'The refunds, the oldest first.': '退款列表，按时间正序。',
  'Time of the payment, RFC 3339 UTC, never before `createdAt`; null = not paid.':
    '支付时间，RFC 3339 格式的 UTC 时间，不早于 `createdAt`；未支付时为 null。',
  'When it was created, RFC 3339 UTC.': '创建时间，RFC 3339 格式的 UTC 时间。',
  'When it was last changed, RFC 3339 UTC.': '最后修改时间，RFC 3339 格式的 UTC 时间。',
  'When the order or dispute was closed, RFC 3339 UTC; null = not closed.':
    '订单关闭或争议结案的时间，RFC 3339 格式的 UTC 时间；尚未关闭或结案时为 null。',
  'True if the channel could not be queried in time and the stored state is returned.':
    '未能及时向渠道查单、返回的是已保存的状态时为 true。',
  "The payer's openid at WeChat Pay. It is valid only for one app ID.": '付款人的微信 openid，只对一个 App ID 有效。',
  'For WeChat Pay: one of the configured app IDs; by default that of the scene. `openId` must belong to this app ID.':
    '用于微信支付：已配置的某个 App ID，默认使用该场景的 App ID。`openId` 必须属于这个 App ID。',
  'For the scene `code`: the code that the payer shows in the app of the channel. It works once, for about a minute.':
    '用于场景 `code`：付款人在渠道 App 中出示的付款码，只能使用一次，约一分钟内有效。',
  'IP address of the payer; for the scene `code`, of the cash register. WeChat Pay requires it for the scenes `h5` and `code`.':
    '付款人的 IP 地址；场景 `code` 为收银终端的 IP 地址。微信支付的 `h5` 和 `code` 场景必填。',
  'URL to which the payer returns after the payment.': '付款后付款人返回的地址。',
  'Overrides the webhook URL of the application for this order.': '该订单单独使用的通知地址，取代应用的 Webhook 地址。',
  'Seconds until an unpaid order expires, 60 to 604800; default 7200.':
    '未支付订单的有效期，单位为秒，60 至 604800，默认 7200。',

  // Options for the channels
  'Additional options for the channel.': '渠道的附加选项。',
  'Used only if `payWay` is `alipay`.': '仅在 `payWay` 为 `alipay` 时生效。',
  'Used only if `payWay` is `wechat`.': '仅在 `payWay` 为 `wechat` 时生效。',
  'Used only if `payWay` is `paypal`.': '仅在 `payWay` 为 `paypal` 时生效。',
  'Number of the shop.': '门店编号。',
  'Number of the cashier.': '收银员编号。',
  'Number of the terminal in the shop.': '门店的终端编号。',
  'PID of the service provider that receives the commission.': '获得返佣的服务商的 PID。',
  'Text that Alipay returns in its notifications.': '支付宝在通知中原样返回的文本。',
  'Payment methods that Alipay offers to the payer; all others are hidden.':
    '支付宝允许付款人使用的支付方式，其余的不显示。',
  'Payment methods that Alipay does not offer to the payer.': '支付宝不允许付款人使用的支付方式。',
  'The goods of the order, for the records of the channel.': '订单的商品明细，供渠道留存。',
  'Article number in the shop.': '商户的货号。',
  'Name of the goods.': '货品名称。',
  'Number of pieces.': '数量。',
  'Price of one piece in minor units (fen).': '单价，以最小单位（分）计。',
  'Text that WeChat Pay returns in query responses and notifications.': '微信支付在查单响应和通知中原样返回的文本。',
  'Tag of a WeChat Pay promotion.': '微信支付的订单优惠标记。',
  'Offers the payer an electronic invoice.': '向付款人提供电子发票入口。',
  '`true` is refused: the money would stay frozen, because this service neither shares nor releases it.':
    '传 `true` 会被拒绝：本服务既不分账也不解冻，资金会一直被冻结。',
  'Number of the device that takes the payment.': '收款设备的编号。',
  'Shown to the payer instead of the business name.': '向付款人显示的名称，取代商户名称。',
  "Language of PayPal's pages.": 'PayPal 页面的语言。',
  'The PayPal page that the payer sees first.': '付款人首先看到的 PayPal 页面。',
  'Rejects payment methods whose money arrives later.': '拒绝不能即时到账的付款方式。',
  "Text on the payer's card statement.": '付款人银行卡账单上的文字。',

  // Refunds
  'Number of the refund.': '退款单号。',
  "The caller's own number of the refund.": '商户退款单号。',
  "The caller's own number of the refund; null = none.": '商户退款单号，没有时为 null。',
  'Origin of the refund: `merchant`, `admin`, `skillpay` (pay-per-call), `late` (payment after the order ended), `surplus` (unexpected payment), `channel` (made outside this service) or `dispute`.':
    '退款来源：`merchant`（商户）、`admin`（管理员）、`skillpay`（按次付费）、`late`（订单结束后才收到的付款）、`surplus`（多收的付款）、`channel`（在本服务之外退款）或 `dispute`（争议）。',
  'Amount of the refund in major units of `currency`.': '退款金额，以 `currency` 的主单位计。',
  'Amount in major units, at most the refundable amount.': '金额，以主单位（如元）计，不超过可退金额。',
  'Amount in major units; if omitted, the full remaining amount.': '金额，以主单位（如元）计；不传时为全部剩余金额。',
  'Reason, as free text.': '原因，内容不限。',
  'Reason of the refund.': '退款原因。',
  '`waiting_for_approval`: the amount is reserved, and a second administrator must approve the refund.':
    '`waiting_for_approval`：金额已预留，须由另一名管理员审批。',
  "True if the channel did not pay this refund to the payer on request of this service. Possible reasons: it was made in the channel's portal, the payer won a dispute, it was paid outside the channel, or the channel paid it to the merchant's own account.":
    '渠道没有应本服务的请求把该笔退款退给付款人时为 true。可能的原因：在渠道商户平台退款；付款人在争议中胜诉；在渠道之外退款；渠道把款项退到了商户自己的账户。',
  'Number of the refund at the channel; null until it is known.': '渠道的退款单号，得知之前为 null。',
  'Fee of the refund according to the bill; negative if the channel returned a fee. null until the refund has succeeded and its bill has been read.':
    '账单中该笔退款的手续费，渠道退还手续费时为负数。退款成功且账单读取之前为 null。',
  'When it was completed, RFC 3339 UTC; null = still in progress.':
    '完成时间，RFC 3339 格式的 UTC 时间；处理中为 null。',

  // Disputes
  'Number of the dispute.': '争议编号。',
  'Number of the dispute at the channel.': '渠道的争议编号。',
  'Reason of the payer, as the channel reports it.': '付款人提出的理由，由渠道提供。',
  'Disputed amount in major units.': '争议金额，以主单位（如元）计。',
  '`needs_answer`: the merchant must answer by `dueAt`. `won`, `lost`: the channel decided for or against the merchant.':
    '`needs_answer`：商户须在 `dueAt` 之前答复。`won`、`lost`：渠道裁决商户胜诉或败诉。',
  "Deadline for the merchant's answer, RFC 3339 UTC; null = no answer is due.":
    '商户答复的截止时间，RFC 3339 格式的 UTC 时间；无须答复时为 null。',
  'Amount that the merchant lost to the dispute, in major units. The refunded amount of the order includes it.':
    '商户因争议损失的金额，以主单位（如元）计，已计入订单的已退金额。',
  'Number of the refund that records the lost amount in the order; null = nothing was lost.':
    '在订单中记录该损失的退款单号；没有损失时为 null。',
  'When the merchant answered the dispute, RFC 3339 UTC; null = not answered.':
    '商户答复争议的时间，RFC 3339 格式的 UTC 时间；未答复时为 null。',
  'When the merchant accepted the dispute, RFC 3339 UTC; null = not accepted.':
    '商户接受争议的时间，RFC 3339 格式的 UTC 时间；未接受时为 null。',
  'Time of the next query to the channel, RFC 3339 UTC; null = none is planned.':
    '下一次向渠道查询的时间，RFC 3339 格式的 UTC 时间；没有计划时为 null。',
  'When the dispute was opened at the channel, RFC 3339 UTC.': '在渠道提出争议的时间，RFC 3339 格式的 UTC 时间。',

  // Events
  'Sequence number of the last received event. The response contains the events after it.':
    '已收到的最后一个事件的序号，响应包含其后的事件。',
  'Same as `after`: `page.nextCursor` of the previous page.': '与 `after` 相同：上一页的 `page.nextCursor`。',
  'Event types, comma-separated.': '事件类型，以逗号分隔。',
  'Returns only events at or after this time.': '只返回在该时间或之后发生的事件。',
  'ID of the event. It is the same in every delivery of the event.': '事件 ID，重复发送时不变。',
  'Type of the event.': '事件类型。',
  'Sequence number of the event in the event log. The numbers increase; gaps are normal.':
    '事件在事件日志中的序号，依次增大；序号不连续是正常的。',
  'The object of the event (for example an order, refund, dispute or coin entry), in its state at the time of the event.':
    '事件的对象（如订单、退款、争议或虚拟币流水），内容为事件发生时的状态。',
  'Contains the object of the event.': '包含事件的对象。',
  'Time of the signature, in seconds since 1970. Reject messages that are older than five minutes.':
    '签名时间，自 1970 年起的秒数。请拒绝超过五分钟的消息。',
  'One or more signatures, separated by spaces. Each is `v1,` followed by the base64 HMAC-SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}` with the signing secret.':
    '一个或多个签名，以空格分隔。每个签名为 `v1,` 加上用签名密钥对 `{webhook-id}.{webhook-timestamp}.{body}` 计算的 HMAC-SHA-256（base64 编码）。',
  'Received. After any other response, or without a response within ten seconds, the event is sent again for up to three days.':
    '已收到。返回其他状态码，或十秒内没有应答时，服务会在三天内反复发送该事件。',

  // Pay-per-call
  'The order number from the 402 response. Send it when you repeat the call.': '402 响应中的订单号，再次调用时传入。',
  'Proof of payment of an x402 client, base64-encoded JSON.': 'x402 客户端的付款凭证，base64 编码的 JSON。',
  'Credential of the HTTP authentication scheme Payment: `Payment <base64url>`.':
    'HTTP 认证方案 Payment 的凭证：`Payment <base64url>`。',
  'Proof of payment of an Alipay agent: JSON in base64 or base64url, with or without padding. Its `client_session` may have up to 4 KB.':
    '支付宝智能体的付款凭证：base64 或 base64url 编码的 JSON，有无填充均可。其中的 `client_session` 最长 4 KB。',
  'Payment methods that the client supports, e.g. `wechat/charge, alipay/charge;q=0.5`. The response contains no challenges for other methods.':
    '客户端支持的支付方式，例如 `wechat/charge, alipay/charge;q=0.5`。响应中不含其他支付方式的质询。',
  'For the first call: a retry returns the same order.': '用于首次调用：重试返回同一笔订单。',
  'Code of the resource. Only for orders that an Alipay agent paid.': '资源编码，仅用于支付宝智能体付款的订单。',
  'Same as `content` of `data`. Only for orders that an Alipay agent paid.':
    '与 `data` 的 `content` 相同，仅用于支付宝智能体付款的订单。',
  'Number of the payment at Alipay. Only for orders that an Alipay agent paid.':
    '支付宝交易号，仅用于支付宝智能体付款的订单。',
  'Number of the order. Only for orders that an Alipay agent paid.': '订单号，仅用于支付宝智能体付款的订单。',
  'Same as `alreadyFulfilled` of `data`. Only for orders that an Alipay agent paid.':
    '与 `data` 的 `alreadyFulfilled` 相同，仅用于支付宝智能体付款的订单。',
  'The call must be paid first. `data` is the order; the headers contain the offer in the format of each kind of client.':
    '须先付款。`data` 是订单；响应头以各类客户端的格式给出报价。',
  'The offer for x402 clients, base64-encoded JSON.': '面向 x402 客户端的报价，base64 编码的 JSON。',
  'Challenges of the authentication scheme Payment, one for each channel.': '认证方案 Payment 的质询，每个渠道一个。',
  'Number of the pay-per-call order.': '按次付费订单号。',
  'JSON if the content type is JSON, else text.': '内容类型为 JSON 时是 JSON，否则是文本。',
  'Media type of the content.': '内容的媒体类型。',
  'True if this is the stored result of an earlier call.': '返回此前调用已保存的结果时为 true。',
  'Compact JWS, `typ: pay-receipt+jws`.': '紧凑格式的 JWS，`typ: pay-receipt+jws`。',
  'Price in coins, if the call was paid with coins.': '以虚拟币支付时的价格。',
  'Number of coins.': '虚拟币数量。',
  'Reason why the content could not be created. Present only if the payment was refunded in full for this reason.':
    '未能生成内容的原因，仅在因此全额退款时返回。',
  'Code of a skill; may be omitted if the project has only one, or in Debug.':
    '资源（skill）的编码；项目只有一个资源或处于 Debug 模式时可以不传。',
  'Input for the resource. It is part of the offer.': '资源的输入，是报价的一部分。',
  'Channel; by default the first enabled channel of the skill.': '渠道，默认使用该资源第一个已启用的渠道。',
  'ID of the user whose coins may pay the call, if the skill has a `coinPrice`.':
    '可以用其虚拟币支付本次调用的用户 ID，资源须设有 `coinPrice`。',
  'ID of the user whose coins paid the call, if it was paid with coins.': '以虚拟币支付时，支付本次调用的用户 ID。',
  'Code of the resource.': '资源编码。',
  'State of the content: `none` (not started), `running`, `done` or `failed`.':
    '内容的状态：`none`（未开始）、`running`（生成中）、`done`（已完成）或 `failed`（失败）。',
  'Number of the order that replaced this one after it ended unpaid; null = none.':
    '该订单未支付即终结后，取代它的订单号；没有时为 null。',
  'When the content was created, RFC 3339 UTC.': '内容生成时间，RFC 3339 格式的 UTC 时间。',
  'When the content was created, RFC 3339 UTC; null = not yet.':
    '内容生成时间，RFC 3339 格式的 UTC 时间；尚未生成时为 null。',
  'Always `coin`: the call was paid with coins.': '固定为 `coin`：以虚拟币支付。',
  '`paid`, or `refunded` if the coins were returned.': '`paid`；虚拟币已退回时为 `refunded`。',
  'Price of the call in coins.': '本次调用的虚拟币价格。',
  'Time of the payment with coins, RFC 3339 UTC.': '以虚拟币支付的时间，RFC 3339 格式的 UTC 时间。',
  'Time of the refund, RFC 3339 UTC; null = not refunded.': '退款时间，RFC 3339 格式的 UTC 时间；未退款时为 null。',
  'Description of the product for buyers; null = none.': '面向买家的商品说明，没有时为 null。',
  'Price of a call in major units.': '每次调用的价格，以主单位（如元）计。',
  'Same as `price`.': '与 `price` 相同。',
  'The channels with which it can be paid.': '可用的支付渠道。',
  'Seconds for which an offer of the resource can be paid.': '该资源的报价可支付的时长，单位为秒。',
  'Price of a call in coins.': '每次调用的虚拟币价格。',
  'Price of a call in coins. It applies if the user in `userId` has enough coins; null = coins cannot pay.':
    '每次调用的虚拟币价格，`userId` 所指用户的虚拟币足够时适用；null 表示不能用虚拟币支付。',
  'Whether the calling application may refund a delivered call; it then keeps the content at no cost.':
    '调用方应用能否在交付后退款；可以退款时，应用相当于免费取得内容。',
};
