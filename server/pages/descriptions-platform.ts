// The Chinese descriptions of fields on the pages of tokens, applications, payers, coins, channel configurations and
// certificates, and those of response headers, by the English text of the OpenAPI document.

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
  'Advice: the change that lets the service accept the next notification.':
    '建议：如何修改，使服务接受下一次通知。',
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
  'The field names are those of the configuration schema of the channel. A field that is omitted or `***` keeps its value, null clears it. A PEM text under the name of a certificate kind becomes the default certificate of that kind.':
    '字段名见该渠道的配置项。不传或传 `***` 的字段保持原值，传 null 则清空。以证书种类为名传入的 PEM 文本成为该种类的默认证书。',
  'Whether the operation or check succeeded.': '操作或检查是否成功。',
  'Faulty field or certificate kind; null = none.': '有误的字段或证书种类，没有时为 null。',
  'Error text. If `ok` is true: names what is missing but not needed by every merchant, such as a payment product.':
    '错误说明。`ok` 为 true 时，指出缺少但并非每个商户都需要的内容，例如某个支付产品。',
  'Result for each credential, product and webhook that was checked.': '所检查的每项凭证、产品和通知地址的结果。',
  'Values that must be registered at the channel. The test cannot verify them.':
    '须在渠道后台登记的值，测试无法核实。',
  'Subject of the check.': '检查的对象。',
  '`lacking`: missing, but not every merchant needs it. `unproven`: not tested, because no harmless request can test it or because an earlier check failed.':
    '`lacking`：缺少，但并非每个商户都需要。`unproven`：未测试，因为没有无害的请求可以测试，或前面的检查未通过。',
  'The field or certificate kind to change.': '须修改的字段或证书种类。',
  'Error text or note; null = none.': '错误说明或备注，没有时为 null。',
  'Request number to give to the support of the channel.': '请求编号，供联系渠道客服时提供。',
  'Scenes whose products are tested with small orders that cannot be paid; `all` = every scene of the channel.':
    '用无法支付的小额订单测试其产品的场景；`all` 表示该渠道的全部场景。',

  // Certificates and keys
  'Kind of certificate or key.': '证书或密钥的种类。',
  'Kind of certificate or key, one of those of the channel.': '证书或密钥的种类，须为该渠道使用的种类。',
  'Subject of the certificate; null for a key.': '证书主体；密钥为 null。',
  'Issuer of the certificate; null for a key.': '证书颁发者；密钥为 null。',
  'Serial number of the certificate; null for a key.': '证书序列号；密钥为 null。',
  'SHA-256 of the public key, or of the certificates of the file.': '公钥或文件中证书的 SHA-256。',
  'Beginning of validity, RFC 3339 UTC; null = not limited.': '生效时间，RFC 3339 格式的 UTC 时间；没有限制时为 null。',
  'End of validity, RFC 3339 UTC; null = it does not expire.': '失效时间，RFC 3339 格式的 UTC 时间；永不过期时为 null。',
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
  'Account for which it is used: app id, merchant number or client id.':
    '使用它的账户：App ID、商户号或 client id。',
  'The file, as a part of a multipart form. Send either `file` or `content`.':
    '文件，作为 multipart 表单的一部分上传。`file` 与 `content` 二选一。',
  'The file as text. Send either `file` or `content`.': '文件的文本内容。`file` 与 `content` 二选一。',
  'Returns only certificates and keys of this kind.': '只返回该种类的证书和密钥。',
  'False if it was already stored and stays unchanged.': '此前已保存、没有变化时为 false。',
  'Certificates and keys.': '证书和密钥。',
  'Item that must be obtained manually, because the channel does not offer it for download; null = none.':
    '渠道不提供下载、须人工获取的内容，没有时为 null。',
};
