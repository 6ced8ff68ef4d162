// The Chinese descriptions of operations and fields on the pages of tokens, applications, payers, coins, channel
// configurations and certificates, and those of response headers, by the English text of the OpenAPI document.

export const PLATFORM_DESCRIPTIONS: Readonly<Record<string, string>> = {
  // Headers
  'Makes retries safe: for seven days, a request with the same key and body returns the same response.':
    '使重试安全：七天内，相同的键和请求体返回相同的响应。',
  'ID of the request. Give it to the operator of the service if you have questions.':
    '请求编号；有疑问时请提供给服务的运维人员。',
  'Remaining quota: `r` more requests are allowed within the next `t` seconds. Omitted if the requests are not limited.':
    '剩余次数：接下来 `t` 秒内还可以请求 `r` 次。不限制频率时没有该响应头。',
  'The rate limit: `q` requests in `w` seconds.': '频率限制：每 `w` 秒 `q` 次请求。',
  'Seconds to wait before a retry.': '重试之前应等待的秒数。',
  '`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.':
    '返回的是此前相同 `Idempotency-Key` 请求已保存的响应时为 `true`。',
  'Sent if the data was read from a database replica: the maximum age of the data in seconds.':
    '数据读自数据库副本时返回：数据最多滞后的秒数。',
  '`true` if the request has an `Idempotency-Key` that this operation ignores. The key does not protect a retry.':
    '请求带有 `Idempotency-Key` 而该接口不支持时为 `true`；此时重试不受该键保护。',
  'Not modified: the `If-None-Match` of the request matches the current `ETag`.':
    '内容未变：请求的 `If-None-Match` 与当前的 `ETag` 相同。',

  // Tokens and keys
  'Grant `client_credentials`, as JSON or form data. Send the client credentials in the body or with HTTP Basic. `scope` restricts the token; by default it has all scopes of the application. A parameter without a value counts as omitted.':
    '授权类型 `client_credentials`，接受 JSON 或表单。应用凭证放在请求体中，或使用 HTTP Basic 认证。`scope` 限定令牌的权限，默认拥有应用的全部权限。没有值的参数视为未传。',
  'The token itself is sufficient. Client credentials are optional; if sent, they must be those of the owner of the token. Unknown tokens also return 200. Every replica rejects the token as soon as the response is sent.':
    '只需令牌本身。应用凭证可以不传；如果传入，必须属于该令牌的应用。未知的令牌同样返回 200。响应一旦发出，所有副本都拒绝该令牌。',
  'Contains every key that was ever used; keys of the simulator mode only if the simulator is in use.':
    '包含曾经使用过的全部公钥；只有正在使用模拟器时，才包含模拟器环境的公钥。',
  'The same keys as in `/.well-known/jwks.json`. They sign the offers and receipts of the x402 extension `offer-receipt`.':
    '与 `/.well-known/jwks.json` 相同的公钥，用于 x402 扩展 `offer-receipt` 的报价和收据的签名。',
  '`client_id` of the application.': '应用的 `client_id`。',
  'Secret of the application.': '应用的密钥。',
  'Must be `client_credentials`.': '必须为 `client_credentials`。',
  'Scopes, separated by blanks.': '权限，以空格分隔。',
  'The token, sent as `Authorization: Bearer`.': '访问令牌，以 `Authorization: Bearer` 发送。',
  'Always `Bearer`.': '固定为 `Bearer`。',
  'Seconds until the token expires.': '令牌的剩余有效秒数。',
  'The token.': '令牌。',
  'Ignored: the service recognises the kind of the token without it.': '不起作用：服务自行识别令牌的类型。',
  'Public keys (RFC 7517).': '公钥（RFC 7517）。',
  'The DID of the service.': '服务的 DID。',
  'The public keys, in the format of a DID document.': '公钥，DID 文档的格式。',

  // The application and its limits
  'Allowed for any token. Only administrators can change the limits. If the application has no limits, the list is empty; otherwise it may use only the listed currencies. Days and months are those of Asia/Shanghai; hours begin at the full hour. The amount of an order that ends unpaid is subtracted from the used amount again.':
    '任意令牌均可。只有管理员可以修改限额。应用没有限额时列表为空；有限额时只能使用列出的币种。日和月按北京时间计算，小时从整点开始。未支付而结束的订单会归还其额度。',
  'Allowed for any token. `mode` is `test` if Debug is on or the environment is staging; then no order moves real money.':
    '任意令牌均可。开启 Debug 或处于预发布环境时 `mode` 为 `test`，此时任何订单都不涉及真实资金。',
  'Identifier of the application.': '应用标识。',
  'Scopes of the application.': '应用的权限。',
  'Display name.': '显示名称。',
  'Unique code.': '唯一编码。',
  'Unique ID.': '唯一 ID。',
  'Code of the project.': '项目编码。',
  'Whether it is enabled.': '是否启用。',
  'Name of the limit.': '限额名称。',
  'The limit in major units; for `ordersPerHour`, a number of orders.':
    '限额，以主单位（如元）计；`ordersPerHour` 为订单数。',
  'Used part of the limit in the period that ends at `resetsAt`; null for `perOrder`.':
    '在 `resetsAt` 结束的周期内已用的额度；`perOrder` 为 null。',
  'Remaining amount in major units; for `ordersPerHour`, the remaining number of orders.':
    '剩余额度，以主单位（如元）计；`ordersPerHour` 为剩余订单数。',
  'When the counter of the limit starts again at 0, RFC 3339 UTC; null for `perOrder`.':
    '限额重新从 0 计数的时间，RFC 3339 格式的 UTC 时间；`perOrder` 为 null。',

  // Payers
  'Returns 201 if the user was created, 200 if it already existed. A payment also creates its user.':
    '新建返回 201，已存在返回 200。下单时也会自动创建付款人。',
  'Omitted fields keep their values, null clears them.': '不传的字段保持原值，传 null 则清空。',
  'Display name of the user; null = not known.': '付款人的显示名称，未知时为 null。',
  'E-mail address.': '电子邮箱。',
  'E-mail address; null = not known.': '电子邮箱，未知时为 null。',
  'Telephone number.': '电话号码。',
  'Telephone number; null = not known.': '电话号码，未知时为 null。',
  '`active`, or `blocked`: new payments are refused.': '`active` 为正常；`blocked` 为已封禁，拒绝新的支付。',
  "The merchant's own data about the user; null = none.": '商户自定的付款人数据，没有时为 null。',
  'When the personal data was removed, RFC 3339 UTC; null = it was not.':
    '清除个人数据的时间，RFC 3339 格式的 UTC 时间；未清除时为 null。',
  'Totals by mode, channel and currency.': '按环境、渠道和币种的合计。',
  'Number of orders.': '订单数。',
  'Number of orders that were paid.': '已支付的订单数。',
  'Paid amount in major units.': '已支付金额，以主单位（如元）计。',
  'Paid amount in minor units.': '已支付金额，以最小单位（如分）计。',

  // Coins
  'The coins that the user can spend; 0 for a user without an account.': '付款人可用的虚拟币；没有账户时为 0。',
  'Idempotent by `bizNo`. If the same application sends the same number and amount for the same user again, no second debit is made; a different amount is rejected. The balance never drops below zero.':
    '以 `bizNo` 保证幂等。同一应用为同一付款人重复发送相同的单号和数量时，不会再次扣减；数量不同则拒绝。余额不会小于零。',
  'Code of the coin.': '虚拟币编码。',
  'Coins that were added or, if negative, deducted.': '增加的虚拟币，扣减时为负数。',
  'Balance after the entry.': '变动后的余额。',
  'Kind of the posting.': '流水类型。',
  "The caller's own number of the posting. A request with the same number does not post again. Null = none.":
    '商户自定的流水单号，相同单号的请求不会重复记账。没有时为 null。',
  'Note of the caller; null = none.': '商户的备注，没有时为 null。',
  'Note of the caller.': '商户的备注。',
  'Name of the actor.': '操作者的名称。',
  'Coins that can be spent: the balance minus the reserved coins.': '可用的虚拟币：余额减去预留部分。',
  'Coins to deduct.': '要扣减的虚拟币。',
  "The caller's own number of the debit. A repeated number never debits twice.":
    '商户自定的扣减单号，相同单号不会重复扣减。',

  // Channel configurations
  'One entry per channel, even if it is not configured. Secrets are shown as `***` with a fingerprint. Applies to the project of the token.':
    '每个渠道一项，包括尚未配置的渠道。密钥显示为 `***` 和指纹。适用于令牌所属的项目。',
  'Secrets are shown as `***` with a fingerprint. `missing` lists the required fields and certificates that are not set yet. Applies to the project of the token.':
    '密钥显示为 `***` 和指纹。`missing` 列出尚未设置的必填字段和证书。适用于令牌所属的项目。',
  'Creates a new version, which takes effect immediately on every instance. A field that is omitted or `***` keeps its value, null clears it. A PEM text under the name of a certificate kind becomes the default certificate of that kind. Applies to the project of the token. PEM texts, and null for them, also require the scope `cert:manage`. A certificate or key that verifies messages is not used, and does not replace the default, until an administrator trusts it.':
    '生成新版本，立即在所有副本上生效。不传或传 `***` 的字段保持原值，传 null 则清空。以证书种类为名传入的 PEM 文本成为该种类的默认证书。适用于令牌所属的项目。传入 PEM 文本或将其置为 null，还需要权限 `cert:manage`。用于验签的证书或密钥，在管理员信任之前不会使用，也不会取代默认证书。',
  'The fields and certificate kinds of the channel, and those that each mode requires.':
    '渠道的字段和证书种类，以及每种环境的必填项。',
  'Sends the channel signed requests that move no money, and lists the result for each credential and webhook that they test; `field` names the first faulty one. With `products` the test creates orders of a small amount and closes them immediately. These orders cannot be paid, because no payer receives their payment data. Orders of PayPal cannot be closed; they expire on their own. Applies to the project of the token.':
    '向渠道发送已签名但不涉及资金的请求，逐项列出所测试的凭证和通知地址的结果；`field` 指出第一个有误的字段。传入 `products` 时，测试会创建小额订单并立即关闭；付款数据不会交给任何付款人，因此这些订单无法支付。PayPal 的订单不能关闭，会自行过期。适用于令牌所属的项目。',
  'PayPal: finds or creates the webhook of the REST app for the notification URL of this project and the events that the service needs, and stores its ID as `webhookId`. WeChat Pay: registers the URL for complaints. Calling the operation again changes nothing. Applies to the project of the token.':
    'PayPal：为本项目的通知地址和服务所需的事件查找或创建 REST 应用的 Webhook，并将其 ID 保存为 `webhookId`。微信支付：登记投诉通知地址。重复调用没有影响。适用于令牌所属的项目。',
  'A disabled channel only refuses new orders; queries, closes, refunds and notifications continue. Without `enabled`, the current state is inverted. Applies to the project of the token.':
    '停用渠道只会拒绝新订单，查单、关单、退款和通知照常进行。不传 `enabled` 时切换当前状态。适用于令牌所属的项目。',
  'Whether the channel has a configuration.': '该渠道是否已有配置。',
  'Environment. Only `live` moves real money; `sandbox`, `simulator` and `test` (of an application) do not.':
    '环境。只有 `live` 涉及真实资金；`sandbox`、`simulator` 和应用的 `test` 都不涉及。',
  'Version number. Every change of a channel configuration, or of the price or currency of a product, increases it.':
    '版本号。渠道配置、商品价格或币种每次变更都会增大。',
  'Values by field name; secret values are shown as `***`.': '按字段名列出的值，密钥显示为 `***`。',
  'Fingerprint of each secret field: a part of the hash, and the last characters of the value.':
    '每个密钥字段的指纹：哈希的一部分和值的末尾几个字符。',
  'The certificates of this version, the default of each kind first.': '该版本的证书，各类的默认证书排在前面。',
  'Certificates and keys that are to verify channel messages, but are not used until an administrator trusts them.':
    '用于验签、但要等管理员信任之后才会使用的证书和密钥。',
  'Required fields and certificate kinds that are missing.': '缺少的必填字段和证书种类。',
  'SHA-256 fingerprint, hexadecimal.': 'SHA-256 指纹，十六进制。',
  'Certificates and keys of the missing kinds that were uploaded for another mode or account. They are not used for this one.':
    '属于所缺种类、但为其他环境或账户上传的证书和密钥，不用于当前环境和账户。',
  'Values that must be registered at the channel for the scenes in use.': '所用场景须在渠道后台登记的值。',
  'Status of the channel.': '渠道状态。',
  'Reason why the stored secrets cannot be decrypted, shown to administrators only; null = none. While it is set, `status` is `down`.':
    '已保存的密钥无法解密的原因，只向管理员显示；没有时为 null。有值时 `status` 为 `down`。',
  'Time of the last successful call to the channel, RFC 3339 UTC; null = never.':
    '最近一次成功调用渠道的时间，RFC 3339 格式的 UTC 时间；从未成功时为 null。',
  'Time of the last failed call to the channel, RFC 3339 UTC; null = never.':
    '最近一次调用渠道失败的时间，RFC 3339 格式的 UTC 时间；从未失败时为 null。',
  'Error text of the last failure; null = none.': '最近一次失败的错误说明，没有时为 null。',
  'Time of the last verified notification, to the minute.': '最近一次验签通过的通知的时间，精确到分钟。',
  'Notifications that were refused since the configuration was created, for the latest reason; null = none.':
    '配置创建以来，因最近一种原因被拒绝的通知；没有时为 null。',
  'Administrator or application that changed it last; null = not known.': '最后修改的管理员或应用，未知时为 null。',
  'Place in the console of the channel where the values are entered.': '在渠道后台填写这些值的位置。',
  'The exact values to register. Empty if the value is not a URL of this service; then `note` describes the value.':
    '须原样登记的值。不是本服务的 URL 时为空，由 `note` 说明该值。',
  'Scenes that need this registration.': '需要这项登记的场景。',
  '`hand`: an administrator registers it in the console of the channel. `payctl`: `payctl channel set` registers it.':
    '`hand`：由管理员在渠道后台登记。`payctl`：由 `payctl channel set` 登记。',
  'Additional note; null = none.': '补充说明，没有时为 null。',
  'Stable code of the reason, the same as in the metric `channel_notices_refused_total`.':
    '稳定的原因代码，与指标 `channel_notices_refused_total` 中的相同。',
  'Error text of the last refused notification.': '最近一次被拒通知的错误说明。',
  'Advice: the change that lets the service accept the next notification.': '建议：如何修改，使服务接受下一次通知。',
  'Minimum number of notifications that were refused for this reason, each at most a day after the previous one. The number is stored every five seconds, so the latest ones may be missing.':
    '因该原因被拒的通知至少有多少次，相邻两次间隔不超过一天。次数每五秒保存一次，可能不含最近几次。',
  'Time of the first of these notifications.': '其中首次通知的时间。',
  'Time of the last of these notifications.': '其中最近一次通知的时间。',
  'Whether the problem may still exist. False if the last refused notification is more than a day old. Also false if any client could have sent the refused notifications and a verified notification arrived later.':
    '问题是否可能仍然存在。最近一次被拒的通知已超过一天时为 false；被拒的通知可能由任意客户端发出，且此后收到过验签通过的通知时，也为 false。',
  'Modes that the channel supports.': '渠道支持的环境。',
  'Name of the field in a configuration.': '配置中的字段名。',
  'Whether its value is stored encrypted and shown as `***`.': '其值是否加密保存并显示为 `***`。',
  'Modes that require it.': '必填该项的环境。',
  'Regular expression that the value must match; null = any text.': '值须匹配的正则表达式；null 表示任意文本。',
  'Explanation for administrators.': '面向管理员的说明。',
  'The fields of a configuration.': '配置的字段。',
  'Name of the kind.': '种类的名称。',
  'Form of the certificate or key: `certificate`, `certificate-chain`, `public-key` or `private-key`.':
    '证书或密钥的形式：`certificate`、`certificate-chain`、`public-key` 或 `private-key`。',
  'Whether it verifies messages of the channel. If so, it is used only while an administrator trusts it.':
    '是否用于验证渠道消息的签名。如果是，只有在管理员信任期间才会使用。',
  'Kinds of certificates and keys that the channel uses.': '渠道使用的证书和密钥种类。',
  'Fields and certificates that each mode requires.': '每种环境必填的字段和证书。',
  'Whether the operation or check succeeded.': '操作或检查是否成功。',
  'Faulty field or certificate kind; null = none.': '有误的字段或证书种类，没有时为 null。',
  'Error text. If `ok` is true: names what is missing but not needed by every merchant, such as a payment product.':
    '错误说明。`ok` 为 true 时，指出缺少但并非每个商户都需要的内容，例如某个支付产品。',
  'Result for each credential, product and webhook that was checked.': '所检查的每项凭证、产品和通知地址的结果。',
  'Values that must be registered at the channel. The test cannot verify them.': '须在渠道后台登记的值，测试无法核实。',
  'Subject of the check.': '检查的对象。',
  '`lacking`: missing, but not every merchant needs it. `unproven`: not tested, because no harmless request can test it or because an earlier check failed.':
    '`lacking`：缺少，但并非每个商户都需要。`unproven`：未测试，因为没有无害的请求可以测试，或前面的检查未通过。',
  'The field or certificate kind to change.': '须修改的字段或证书种类。',
  'Error text or note; null = none.': '错误说明或备注，没有时为 null。',
  'Request number to give to the support of the channel.': '请求编号，供联系渠道客服时提供。',
  'Scenes whose products are tested with small orders that cannot be paid; `all` = every scene of the channel.':
    '用无法支付的小额订单测试其产品的场景；`all` 表示该渠道的全部场景。',

  // Certificates and keys
  'WeChat Pay: downloads the platform certificates, verified with the APIv3 key and their own signature. Alipay in certificate mode: downloads the public certificate that follows a trusted one, by its serial number. PayPal: rejected with 400. New certificates are not used until an administrator trusts them. The operation also requires the scope `cert:manage`.':
    '微信支付：下载平台证书，用 APIv3 密钥和证书自身的签名验证。支付宝证书模式：按序列号下载接替受信任证书的公钥证书。PayPal：返回 400。新证书在管理员信任之前不会使用。该接口还需要权限 `cert:manage`。',
  "A file or text of at most 64 KB: PEM (its line breaks may be missing), a DER certificate, or the bare base64 of Alipay's key tool. The first of its kind becomes the default if its certificate or key matches. Private keys cannot be downloaded. A certificate or key that verifies messages of the channel is not used until an administrator trusts it. It is used in one mode and for one account only: those in `mode` and `account`, otherwise those of the current configuration. Before there is a configuration, it belongs to the first one. Applies to the project of the token.":
    '不超过 64 KB 的文件或文本：PEM（可以缺少换行）、DER 证书，或支付宝密钥工具生成的 base64 文本。同种类中首个上传的，与之配对的证书或密钥相符时成为默认。私钥不能下载。用于验证渠道消息的证书或密钥，在管理员信任之前不会使用。它只用于一种环境和一个账户：`mode` 和 `account` 所指的，否则为当前配置的；尚无配置时，归首个配置所有。适用于令牌所属的项目。',
  'Newest first, with the days until expiry. The list contains only public data. Applies to the project of the token.':
    '按时间倒序，含剩余有效天数。只包含公开信息。适用于令牌所属的项目。',
  'The service signs and verifies with the default. The matching certificate or key becomes the default, too; 409 if none was uploaded. The configuration gets a new version as soon as its set of certificates is complete. Applies to the project of the token.':
    '服务使用默认证书签名和验签。与之配对的证书或密钥一并设为默认；未上传时返回 409。整套证书齐全后，配置生成新版本。适用于令牌所属的项目。',
  'A certificate or key that signs cannot be deleted while it is a default or open orders still need it. A certificate or key that verifies messages can always be deleted; from then on nothing is verified with it. Applies to the project of the token.':
    '用于签名的证书或密钥，仍为默认或未完结订单仍需要时不能删除。用于验签的证书或密钥随时可以删除，此后不再用它验签。适用于令牌所属的项目。',
  'The certificate, or the public key of a key, as a PEM file. Private keys cannot be downloaded. Applies to the project of the token.':
    '以 PEM 文件返回证书，或密钥对应的公钥。私钥不能下载。适用于令牌所属的项目。',
  'Kind of certificate or key.': '证书或密钥的种类。',
  'Kind of certificate or key, one of those of the channel.': '证书或密钥的种类，须为该渠道使用的种类。',
  'Subject of the certificate; null for a key.': '证书主体；密钥为 null。',
  'Issuer of the certificate; null for a key.': '证书颁发者；密钥为 null。',
  'Serial number of the certificate; null for a key.': '证书序列号；密钥为 null。',
  'SHA-256 of the public key, or of the certificates of the file.': '公钥或文件中证书的 SHA-256。',
  'Beginning of validity, RFC 3339 UTC; null = not limited.': '生效时间，RFC 3339 格式的 UTC 时间；没有限制时为 null。',
  'End of validity, RFC 3339 UTC; null = it does not expire.':
    '失效时间，RFC 3339 格式的 UTC 时间；永不过期时为 null。',
  'Days until it expires; null = it does not expire.': '剩余有效天数；永不过期时为 null。',
  'Whether it is the default of its kind.': '是否为该种类的默认证书或密钥。',
  'The only mode in which it is used, and only for `account`; null until the first configuration uses it.':
    '只在该环境、且只为 `account` 使用；首个配置使用之前为 null。',
  "The account's number at the channel; null = not known.": '渠道的账户编号，未知时为 null。',
  'Whether an administrator trusts it to verify messages of the channel; only a trusted one is used. null if its kind verifies nothing.':
    '管理员是否信任它用于验证渠道消息的签名，只有受信任的才会使用。该种类不用于验签时为 null。',
  'Whether it is trusted to verify messages of the channel; null = certificates of its kind verify nothing.':
    '是否受信任用于验证渠道消息的签名；该种类不用于验签时为 null。',
  'When an administrator trusted it, RFC 3339 UTC; null = it is not trusted.':
    '管理员信任它的时间，RFC 3339 格式的 UTC 时间；未受信任时为 null。',
  'Administrator who trusted it or, if it is distrusted, who withdrew the trust.':
    '信任它的管理员；已取消信任时，为取消信任的管理员。',
  'Administrator or application that added it.': '添加它的管理员或应用。',
  'Passphrase of an encrypted key.': '加密私钥的口令。',
  'Mode in which it is used; send it together with `account`. If both are omitted, it is used in the mode and for the account of the current configuration.':
    '使用它的环境，须与 `account` 一并传入。两者都不传时，用于当前配置的环境和账户。',
  'Account for which it is used: app id, merchant number or client id.': '使用它的账户：App ID、商户号或 client id。',
  'The file, as a part of a multipart form. Send either `file` or `content`.':
    '文件，作为 multipart 表单的一部分上传。`file` 与 `content` 二选一。',
  'The file as text. Send either `file` or `content`.': '文件的文本内容。`file` 与 `content` 二选一。',
  'Returns only certificates and keys of this kind.': '只返回该种类的证书和密钥。',
  'False if it was already stored and stays unchanged.': '此前已保存、没有变化时为 false。',
  'Certificates and keys.': '证书和密钥。',
  'Item that must be obtained manually, because the channel does not offer it for download; null = none.':
    '渠道不提供下载、须人工获取的内容，没有时为 null。',

  // Own webhook, deliveries and timeline
  'State changes of the order and its refunds, exceptions, events and webhook deliveries, oldest first. The messages of the channel are left out.':
    '按时间正序列出订单及其退款的状态变化、异常、事件和 Webhook 投递，不含与渠道之间的报文。',
  'The reason for the state of the order and of its refunds, the next automatic step with its time, and the remedy. Based on stored data only; the channel is not queried. Amounts are in minor units. The texts are in Chinese if the header Accept-Language prefers `zh`, otherwise in English.':
    '说明订单及其退款处于当前状态的原因、下一个自动步骤及其时间，以及处理办法。仅依据已保存的数据，不向渠道查询。金额以最小货币单位表示。请求头 Accept-Language 以 `zh` 优先时文字为中文，否则为英文。',
  'Stable code of the situation.': '情形的固定代码。',
  'Explanation of the situation, as text.': '情形说明文字。',
  'Next automatic step; null = none.': '下一个自动步骤；没有时为 null。',
  'Name of the step.': '步骤名称。',
  'Time of the step, RFC 3339 UTC; null = it is in progress.': '步骤的执行时间，RFC 3339 UTC；正在执行时为 null。',
  'Remedy, if manual action is needed; null = none.': '需要人工处理时的处理办法；不需要时为 null。',
  'Amounts of the order in minor units: `paid` = `refunded` + `refunding` + `kept`.':
    '订单的各项金额，以最小货币单位表示：`paid` = `refunded` + `refunding` + `kept`。',
  'Paid amount.': '已付金额。',
  'Refunded amount.': '已退金额。',
  'Amount of the refunds in progress.': '退款中的金额。',
  'Amount that is neither refunded nor being refunded.': '既未退款也不在退款中的金额。',
  'Amount that can still be refunded.': '仍可退款的金额。',
  'Status of the refund.': '退款状态。',
  'Code of the situation.': '情形代码。',
  'Time, RFC 3339 UTC.': '时间，RFC 3339 UTC。',
  'Kind of the entry.': '条目类型。',
  'Short description of the entry.': '条目的简要说明。',
  'Details, which depend on the kind.': '明细，内容取决于条目类型。',
  'Newest first, with the refunds that administrators, the service or the channel made; `origin` tells them apart.':
    '按时间倒序，包括由管理员、服务或渠道发起的退款，以 `origin` 区分。',
  'Sends the event again, with the same ID, to the `notifyUrl` of the order or to the webhook. A pending delivery is sent immediately.':
    '以相同的事件 ID 再次推送到订单的 `notifyUrl` 或应用的 Webhook；等待中的投递会立即发送。',
  'ID of the event.': '事件 ID。',
  '`webhook`: the webhook of the application. `order`: the `notifyUrl` of the order. `test`: a test message.':
    '`webhook`：应用的 Webhook；`order`：订单的 `notifyUrl`；`test`：测试消息。',
  'URL to which the events are sent.': '事件推送地址。',
  'State of the delivery.': '投递状态。',
  'Number of attempts.': '已尝试次数。',
  'Time of the next attempt, RFC 3339 UTC; null = none is planned.':
    '下一次尝试的时间，RFC 3339 UTC；null 表示不再尝试。',
  'HTTP status of the last attempt; null = no response.': '最近一次尝试的 HTTP 状态码；null 表示没有响应。',
  'Error of the last failed attempt; null = none.': '最近一次失败的原因；null 表示没有失败。',
  'All attempts, the oldest first.': '全部尝试，按时间正序。',
  'HTTP status of the response; null = no response.': '响应的 HTTP 状态码；null 表示没有响应。',
  'Error of the attempt; null = none.': '该次尝试的错误；null 表示没有错误。',
  'Duration in milliseconds.': '耗时，单位毫秒。',
  'URL to which the events are sent; null if the application has only a signing secret, for the `notifyUrl` of orders.':
    '事件推送地址；应用只有签名密钥（用于订单的 `notifyUrl`）时为 null。',
  'Event types that are sent; empty = all types.': '推送的事件类型；空列表表示全部类型。',
  'Reason why the service disabled the webhook; null = the service did not disable it.':
    '服务停用该 Webhook 的原因；null 表示未被服务停用。',
  'When the previous secret expires, RFC 3339 UTC; null = no previous secret is valid.':
    '旧密钥的失效时间，RFC 3339 UTC；null 表示没有仍然有效的旧密钥。',
  'Signing secret `whsec_…`, returned only once, when it is created.': '签名密钥 `whsec_…`，仅在创建时返回一次。',
  'Omitted fields keep their values. A new webhook without `types` receives all types. The response that creates the webhook (201) contains the `whsec_` secret, which is returned only once. Messages are signed according to Standard Webhooks and retried for 72 hours. If the receiver returns 410, the webhook is disabled.':
    '不传的字段保持原值；新建时不传 `types` 则推送全部类型。新建时返回 201，响应中含 `whsec_` 签名密钥，仅返回这一次。消息按 Standard Webhooks 签名，失败后在 72 小时内重试；接收端返回 410 时，Webhook 会被停用。',
  'Event types that are sent.': '推送的事件类型。',
  'Events are no longer sent to it, and its pending deliveries are cancelled. The signing secret stays, because it also signs the messages to the `notifyUrl` of orders.':
    '不再推送事件，等待中的投递随之取消。签名密钥保留，因为它也用于签名发往订单 `notifyUrl` 的消息。',
  'The response contains the new secret, which is returned only once. During the grace period every message is signed with both secrets. With `prepare`, the old secret does not expire yet: for 15 minutes messages are signed with both secrets (and no longer with a secret from an earlier rotation). The new secret replaces the old one when a second request to this operation sends it as `secret`.':
    '响应中含新密钥，仅返回这一次。宽限期内每条消息同时用新旧两个密钥签名。传 `prepare` 时旧密钥暂不失效：15 分钟内消息用新旧两个密钥签名（更早一次轮换的密钥不再使用）；再次调用本接口并以 `secret` 传入新密钥后，新密钥才取代旧密钥。',
  'Seconds for which the previous secret stays valid.': '旧密钥继续有效的秒数。',
  '`true` = only creates the new secret. The old secret stays valid until a request sends the new one as `secret`.':
    '`true` 表示只生成新密钥；旧密钥继续有效，直到有请求以 `secret` 传入新密钥。',
  'The secret from an earlier request with `prepare`. It takes effect with this request.':
    '此前以 `prepare` 请求得到的新密钥，随本次请求生效。',
  'Sends one signed `webhook.test` message without retries. The response contains the result.':
    '发送一条已签名的 `webhook.test` 消息，不重试；结果在响应中返回。',
  'Newest first, with all attempts.': '按时间倒序，含每次尝试的结果。',
};
