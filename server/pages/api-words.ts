// The fixed words of the API reference, and the Chinese words of its operations, groups and events.
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
    eventsIntro: '服务推送到应用通知地址的事件。如何设置地址、验签和应答，见[接收 Webhook](/docs/webhooks)。',
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
    fields: '字段',
    webhookHeaders: '请求头',
    answer: '应答',
    status: '状态码',
    verify: '使用事件之前必须验签：[接收 Webhook](/docs/webhooks#verify-the-signature)提供五种语言的示例。',
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

/** The Chinese title of each operation, by its operationId. */
export const CHINESE_OPERATIONS: Readonly<Record<string, string>> = {
  getToken: '获取访问令牌',
  revokeToken: '吊销访问令牌',
  getOauthMetadata: 'OAuth 授权服务器元数据',
  listOwnDisputes: '查询争议列表',
  getOwnDispute: '查询争议',
  placePayment: '下单',
  queryPayment: '查询订单',
  closePayment: '关闭订单',
  capturePayment: '对已授权订单请款（capture）',
  refundPayment: '退款',
  explainOwnOrder: '查询订单当前状态的原因',
  getOwnTimeline: '查询订单时间线',
  listPayments: '查询订单列表',
  listOwnRefunds: '查询退款列表',
  getRefund: '查询退款',
  getPublicKeys: '付款码与收据的公钥',
  getDidDocument: '公钥的 DID 文档',
  callResource: '调用付费资源',
  queryCall: '查询按次付费订单',
  refundCall: '按次付费订单退款',
  listResources: '查询付费资源与价格',
  listOwnEvents: '拉取事件',
  resendOwnEvent: '重新投递事件',
  getOwnWebhook: '查询 Webhook',
  setOwnWebhook: '设置 Webhook',
  deleteOwnWebhook: '删除 Webhook',
  rotateOwnWebhookSecret: '更换 Webhook 签名密钥',
  testOwnWebhook: '发送测试消息',
  listOwnDeliveries: '查询投递记录',
  listUsers: '查询付款人列表',
  putUser: '创建或更新付款人',
  getUser: '查询付款人',
  updateUser: '更新付款人',
  getCoinBalance: '查询虚拟币余额',
  debitCoins: '扣减虚拟币',
  listCoinEntries: '查询虚拟币流水',
  listLimits: '查询支付限额',
  getOwnApp: '查询当前应用',
  listChannelConfigs: '查询渠道配置列表',
  getChannelConfig: '查询渠道配置',
  writeChannelConfig: '写入渠道配置',
  getChannelSchema: '查询渠道配置项',
  testChannel: '测试渠道配置',
  registerChannelNotices: '注册渠道通知',
  fetchChannelCertificates: '下载渠道证书',
  toggleChannel: '启用或停用渠道',
  uploadCertificate: '上传证书或密钥',
  listCertificates: '查询证书与密钥',
  makeCertificateDefault: '设为默认证书',
  deleteCertificate: '删除证书或密钥',
  downloadCertificate: '下载证书或公钥',
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
