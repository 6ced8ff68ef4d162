// The fixed words of the API reference, and the Chinese titles and sentences of its operations, groups and events.
import type { Language } from './language.ts';

type Labels =
  | 'reference'
  | 'intro'
  | 'explorer'
  | 'operation'
  | 'call'
  | 'scope'
  | 'noToken'
  | 'anyToken'
  | 'events'
  | 'eventsIntro'
  | 'event'
  | 'when'
  | 'parameters'
  | 'name'
  | 'description'
  | 'path'
  | 'query'
  | 'header'
  | 'request'
  | 'mediaTypes'
  | 'required'
  | 'optional'
  | 'orNull'
  | 'arrayOf'
  | 'oneOf'
  | 'always'
  | 'characters'
  | 'entries'
  | 'pattern'
  | 'example'
  | 'responses'
  | 'success'
  | 'responseHeaders'
  | 'errors'
  | 'oauthErrors'
  | 'generalErrors'
  | 'more'
  | 'fields'
  | 'webhookHeaders'
  | 'answer'
  | 'status'
  | 'verify';

/** The fixed words of the pages. A text with `{…}` names the value that replaces the mark. */
export const API_WORDS = {
  en: {
    reference: 'API reference',
    intro:
      'Every operation that merchants call, with its fields, examples and error codes, and every event that the service sends to them. Requests go to `{url}`. Get a token as in [Integrate in ten minutes](/docs/integrate); all errors have the form that [Errors](/docs/errors) describes.',
    explorer: 'Try the operations in the [API explorer](/swagger/index.html).',
    operation: 'Operation',
    call: 'Request',
    scope: 'Scope of the token: ',
    noToken: 'No token is needed.',
    anyToken: 'Any token is sufficient.',
    events: 'Webhooks',
    eventsIntro:
      'The events that the service sends to the URL of the application. [Receive webhooks](/docs/webhooks) says how to set the URL, verify the signature and answer.',
    event: 'Event',
    when: 'When',
    parameters: 'Parameters',
    name: 'Name',
    description: 'Description',
    path: 'path',
    query: 'query',
    header: 'header',
    request: 'Request body',
    mediaTypes: 'Media types: ',
    required: 'required',
    optional: 'may be absent',
    orNull: 'or null',
    arrayOf: 'list of {type}',
    oneOf: 'One of: ',
    always: 'Always ',
    characters: '{range} characters',
    entries: '{range} entries',
    pattern: 'Pattern: ',
    example: 'Example',
    responses: 'Responses',
    success: 'Success.',
    responseHeaders: 'Response headers',
    errors: 'Errors',
    oauthErrors: 'The member `error` of the response (RFC 6749) has the code.',
    generalErrors: 'Codes that any operation may return',
    more: 'Details',
    fields: 'Fields',
    webhookHeaders: 'Headers',
    answer: 'Your response',
    status: 'Status',
    verify:
      'Verify the signature before you use the event: [Receive webhooks](/docs/webhooks#verify-the-signature) has samples in five languages.',
  },
  zh: {
    reference: 'API 参考',
    intro:
      '商户可以调用的全部接口（字段、示例、错误码），以及服务推送给商户的全部事件。请求发往 `{url}`。获取令牌见[十分钟接入](/docs/integrate)，错误的统一格式见[错误码](/docs/errors)。',
    explorer: '可以在 [API 浏览器](/swagger/index.html)中试调接口。',
    operation: '接口',
    call: '请求',
    scope: '令牌所需的权限（scope）：',
    noToken: '无需令牌。',
    anyToken: '任意令牌均可。',
    events: 'Webhook 事件',
    eventsIntro: '服务推送到应用通知地址的事件。如何设置地址、验签和应答，见[接收异步通知](/docs/webhooks)。',
    event: '事件',
    when: '触发时机',
    parameters: '参数',
    name: '名称',
    description: '说明',
    path: '路径',
    query: '查询参数',
    header: '请求头',
    request: '请求体',
    mediaTypes: '媒体类型：',
    required: '必填',
    optional: '可能不返回',
    orNull: '或 null',
    arrayOf: '{type} 数组',
    oneOf: '取值：',
    always: '固定为 ',
    characters: '{range} 个字符',
    entries: '{range} 项',
    pattern: '正则表达式：',
    example: '示例',
    responses: '响应',
    success: '成功。',
    responseHeaders: '响应头',
    errors: '错误码',
    oauthErrors: '错误码在响应的 `error` 字段中（RFC 6749）。',
    generalErrors: '所有接口都可能返回的错误码',
    more: '详细说明',
    fields: '字段',
    webhookHeaders: '请求头',
    answer: '应答',
    status: '状态码',
    verify: '使用事件之前必须验签：[接收异步通知](/docs/webhooks#verify-the-signature)提供五种语言的示例。',
  },
} as const satisfies Readonly<Record<Language, Readonly<Record<Labels, string>>>>;

/** A title and one sentence. */
type Entry = readonly [title: string, sentence: string];

/** The Chinese words of each group of operations, by its tag. */
export const CHINESE_TAGS: Readonly<Record<string, Entry>> = {
  OAuth: ['OAuth 令牌', '应用的访问令牌（OAuth 2.0 客户端凭证模式），从这里开始。'],
  Payments: ['支付', '下单、查单、关单、收款和退款，并查询争议，仅限令牌所属应用的订单。'],
  'Pay-per-call': ['按次付费', '逐次付费的资源（HTTP 402）：价目、调用、查询、退款。'],
  'Event log': ['事件日志', '按发生顺序列出全部事件，与 Webhook 推送的事件相同。'],
  'Own webhook': ['Webhook 设置', '令牌所属应用的 Webhook：推送地址、签名密钥和投递记录。'],
  Payers: ['付款人', '令牌所属项目的付款人。'],
  'Coin balances': ['虚拟币', '付款人的虚拟币：余额、扣减、流水。'],
  Application: ['应用', '令牌所属的应用及其支付限额。'],
  'Own channel configuration': ['渠道配置', '令牌所属项目的渠道配置，仅限受信任的应用。'],
  'Own certificates': ['证书与密钥', '令牌所属项目的证书和密钥，仅限受信任的应用。'],
};

/** The Chinese words of each operation, by its operationId. */
export const CHINESE_OPERATIONS: Readonly<Record<string, Entry>> = {
  getToken: ['获取访问令牌', '用应用的 `client_id` 和密钥换取访问令牌；不传 `scope` 时，令牌拥有应用的全部权限。'],
  revokeToken: ['吊销访问令牌', '只需令牌本身；响应一旦返回，所有副本都拒绝该令牌，未知的令牌同样返回 200。'],
  getOauthMetadata: ['OAuth 授权服务器元数据', '返回令牌接口的地址和支持的权限（RFC 8414）。'],
  listOwnDisputes: ['查询争议列表', '按时间倒序列出令牌所属应用的争议；只有管理员可以答复或接受争议。'],
  getOwnDispute: ['查询争议', '返回一条争议的当前状态。'],
  placePayment: [
    '下单',
    '创建订单并返回付款所需的数据；请传 `Idempotency-Key` 或 `merchantOrderNo`，这样在 504（`channel_outcome_unknown`）之后重试会继续同一笔订单，而不会重复下单。',
  ],
  queryPayment: ['查询订单', '返回订单的当前状态；未完结的订单如果超过 5 秒没有收到渠道响应，服务会先向渠道查单。'],
  closePayment: ['关闭订单', '渠道确认后返回 `closed`，尚未确认时返回 `closing`；可以重复关单；已支付的订单返回 409。'],
  capturePayment: [
    '对已授权订单请款（capture）',
    '用于 PayPal：付款人在商户页面上批准付款（`onApprove`）之后立即收款，任何时候调用都是安全的。',
  ],
  refundPayment: [
    '退款',
    '对已支付的订单全额或部分退款；受理后返回 `pending`、`processing` 或 `succeeded`，即使渠道没有响应，服务也会自行完成退款。',
  ],
  getOwnTimeline: [
    '查询订单时间线',
    '按时间顺序列出订单及其退款的状态变化、异常、事件和 Webhook 投递，不含与渠道的报文。',
  ],
  listPayments: ['查询订单列表', '按时间倒序列出令牌所属应用的订单，不含退款明细。'],
  listOwnRefunds: [
    '查询退款列表',
    '按时间倒序列出令牌所属应用订单的退款，包括由管理员、服务或渠道发起的退款，以 `origin` 区分。',
  ],
  getRefund: ['查询退款', '返回一笔退款的当前状态。'],
  getPublicKeys: ['付款码与收据的公钥', '返回曾经使用过的全部公钥（JWKS，RFC 7517），用于验证付款码和收据的签名。'],
  getDidDocument: [
    '公钥的 DID 文档',
    '与 `/.well-known/jwks.json` 相同的公钥，格式为 did:web，用于 x402 的报价和收据。',
  ],
  callResource: [
    '调用付费资源',
    '首次调用返回 402、订单号和付款码；付款后带上 `X-Out-Trade-No` 重复同一请求，即可得到内容，重复多少次都不会再次收费。',
  ],
  queryCall: ['查询按次付费订单', '返回按次付费订单的付款与交付状态。'],
  refundCall: [
    '按次付费订单退款',
    '不传 `refundAmount` 时退还全部剩余金额；内容生成过程中，或交付后资源不允许退款时，返回 409。',
  ],
  listResources: ['查询付费资源与价格', '列出可以按次付费调用的资源及其价格。'],
  listOwnEvents: ['拉取事件', '从指定序号之后按发生顺序返回事件，既不遗漏也不重复；序号不连续是正常的。'],
  resendOwnEvent: ['重新投递事件', '以相同的事件 ID 再次推送；尚在等待的投递会立即发送。'],
  getOwnWebhook: ['查询 Webhook', '返回推送地址、事件类型和启用状态，不含签名密钥。'],
  setOwnWebhook: ['设置 Webhook', '不传的字段保持原值；新建时返回 201 和签名密钥，密钥只显示一次。'],
  deleteOwnWebhook: ['删除 Webhook', '不再推送事件，等待中的投递随之取消；签名密钥保留，仍用于订单的 `notifyUrl`。'],
  rotateOwnWebhookSecret: ['更换 Webhook 签名密钥', '新密钥只显示一次；宽限期内每条消息同时带新旧两个签名。'],
  testOwnWebhook: ['发送测试消息', '发送一条已签名的 `webhook.test`，不重试，响应中包含结果。'],
  listOwnDeliveries: ['查询投递记录', '按时间倒序列出，含每次尝试的结果。'],
  listUsers: ['查询付款人列表', '列出令牌所属项目的付款人。'],
  putUser: ['创建或更新付款人', '新建返回 201，已存在返回 200；下单时也会自动创建付款人。'],
  getUser: ['查询付款人', '返回一个付款人的资料。'],
  updateUser: ['更新付款人', '不传的字段保持原值，传 null 则清空。'],
  getCoinBalance: ['查询虚拟币余额', '返回付款人可用的虚拟币；没有账户时为 0。'],
  debitCoins: ['扣减虚拟币', '以 `bizNo` 保证幂等：同一单号和数额不会重复扣减，余额不会小于零。'],
  listCoinEntries: ['查询虚拟币流水', '按时间倒序列出付款人的虚拟币流水。'],
  listLimits: ['查询支付限额', '列出应用的支付限额和已用额度；没有限额时列表为空，只有管理员可以修改。'],
  getOwnApp: ['查询当前应用', '返回令牌所属的应用；`mode` 为 `test` 时，任何订单都不涉及真实资金。'],
  listChannelConfigs: ['查询渠道配置列表', '每个渠道一项，包括尚未配置的渠道；密钥只显示 `***` 和指纹。'],
  getChannelConfig: ['查询渠道配置', '密钥只显示 `***` 和指纹，`missing` 列出尚未设置的必填字段和证书。'],
  writeChannelConfig: [
    '写入渠道配置',
    '生成新版本并立即在所有副本上生效；不传或传 `***` 的字段保持原值，传 null 则清空。',
  ],
  getChannelSchema: ['查询渠道配置项', '返回渠道的字段和证书种类，以及每种模式的必填项。'],
  testChannel: ['测试渠道配置', '向渠道发送已签名但不涉及资金的请求，逐项列出结果，`field` 指出第一个有误的字段。'],
  registerChannelNotices: [
    '注册渠道通知',
    'PayPal：查找或创建 Webhook；微信支付：登记投诉通知地址。两者均可重复调用。',
  ],
  fetchChannelCertificates: [
    '下载渠道证书',
    '下载微信支付平台证书，或支付宝的下一张公钥证书；管理员信任之后才会使用。',
  ],
  toggleChannel: ['启用或停用渠道', '停用只会拒绝新订单，查单、关单、退款和通知照常进行。'],
  uploadCertificate: ['上传证书或密钥', '文件或文本，不超过 64 KB；用于验签的证书或密钥，须经管理员信任才会使用。'],
  listCertificates: ['查询证书与密钥', '按时间倒序列出，含剩余有效天数，只包含公开信息。'],
  makeCertificateDefault: [
    '设为默认证书',
    '服务使用默认证书签名和验签；与之配对的证书或密钥一并设为默认，未上传时返回 409。',
  ],
  deleteCertificate: [
    '删除证书或密钥',
    '仍为默认或仍被未完结订单使用的签名证书和密钥不能删除；用于验签的随时可以删除。',
  ],
  downloadCertificate: ['下载证书或公钥', '以 PEM 文件返回证书，或密钥对应的公钥；私钥不能下载。'],
};

/** The Chinese sentence about each webhook event: when it is sent. */
export const CHINESE_EVENTS: Readonly<Record<string, string>> = {
  'order.paid': '订单已支付。',
  'order.paid_late': '订单结束之后才收到付款，该付款将退回。',
  'order.closed': '订单已关闭。',
  'order.failed': '订单失败。',
  'order.payer_action_required': '付款人需要完成进一步操作，支付才能完成。',
  'order.exception': '订单需要人工处理。',
  'refund.approval_requested': '退款等待另一位管理员审批。',
  'refund.succeeded': '退款成功，款项已退给付款人。',
  'refund.failed': '退款失败，该金额可以再次退款。',
  'refund.abnormal': '退款异常，款项无法退给付款人，需要人工处理。',
  'dispute.opened': '付款人对一笔付款提出争议。',
  'dispute.updated': '争议有变化。',
  'dispute.closed': '争议已结案。',
  'skillpay.offered': '按次付费资源已发出报价，等待付款。',
  'skillpay.fulfilled': '按次付费资源已交付。',
  'coin.credited': '虚拟币已入账。',
  'coin.debited': '虚拟币已扣减。',
};
