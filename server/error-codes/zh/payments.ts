// The Chinese texts of the error codes in `../payments.ts`.
import type { ErrorWords } from '../error-codes.ts';
import type { catalogCodes, credentialsCodes, paymentsCodes, skillpayCodes } from '../payments.ts';

export const paymentsWords = {
  amount_invalid: {
    title: '金额无效',
    meaning: '金额必须是正的十进制数，以主单位（如元）计不超过 100000000，小数位数不超过该币种的位数。',
    remedy: '以主单位（如元）发送金额，格式为数字或十进制字符串。',
  },
  approval_not_independent: {
    title: '审批人不独立',
    meaning:
      '审批账号的创建时间晚于申请，或审批账号不独立于申请方。如果审批账号由提出申请的管理员创建，则不独立；如果同一名管理员在最近 30 天内创建或修改过双方的账号，也不独立；这名管理员可以就是申请方或审批方。申请由应用提出时，为该应用发放或变更凭据视为修改该应用。',
    remedy: '请另一名管理员审批；你仍可驳回该申请。',
  },
  approval_by_asker: {
    title: '申请人不能自行审批',
    meaning: '提出申请的管理员试图审批自己的申请。',
    remedy: '请另一名管理员审批。',
  },
  approval_decided: {
    title: '审批已有结果',
    meaning: '该审批申请此前已被批准或驳回，或需要审批的退款已经结束。',
    remedy: '查询审批单可知由谁决定，查询退款、争议或异常可知后续结果。',
  },
  bill_being_read: {
    title: '账单读取中',
    meaning: '服务处理该账单期间，同一账单又开始了另一次读取，或渠道为该账户指明了另一收款方。本次请求未生效。',
    remedy: '查询该账单的状态，如仍有需要再重试请求。',
  },
  bill_malformed: {
    title: '不是该日的账单',
    meaning: '文件损坏，或不是所请求账户和日期的账单。`fault` 指明问题，`line`、`column` 指明位置。整个文件已被拒绝。',
    remedy: '从渠道商户平台重新下载账单，不做改动直接上传。',
  },
  bill_not_read: {
    title: '尚无账单',
    meaning: '服务尚无该日的账单，无法对账。',
    remedy: '先从渠道拉取账单，或导入账单文件，再重试请求。',
  },
  bills_not_configured: {
    title: '未配置账单',
    meaning: '项目中没有可用于读取该渠道、该账户账单的渠道配置。',
    remedy: '完善渠道配置。',
  },
  channel_answer_unusable: {
    title: '渠道响应无效',
    meaning:
      '渠道已响应，但服务无法使用该响应，`cause` 说明原因：响应无法解析、未通过验签、与订单不符，或指出本服务的凭据或时钟有误。',
    remedy: '查询订单；服务也会继续向渠道查询该订单。',
  },
  channel_outcome_unknown: {
    title: '结果未知',
    meaning: '渠道未在规定时间内返回可用的响应，操作可能已经生效。',
    remedy: '查询订单，或用相同的 Idempotency-Key、merchantOrderNo 或 merchantRefundNo 重试请求。',
  },
  channel_refusal_inconclusive: {
    title: '渠道拒绝，但结果未定',
    meaning:
      '渠道拒绝了请求，但订单仍可能被支付，因此并未结束。`cause` 说明原因。`unlisted`：渠道给出的拒绝原因，本服务无法识别。`trade_may_exist`：该原因表明渠道侧已有或可能有此订单的交易。`repeated`：本服务此前已发送过该请求，渠道当时可能已受理。`channel` 中有渠道返回的错误码和说明。',
    remedy:
      '按渠道给出的说明修正，然后用相同的 Idempotency-Key 或 merchantOrderNo 重发同一请求，或关闭订单。订单结束之前，不要以其他方式再次向付款人收款。',
  },
  channel_refused: {
    title: '渠道拒绝',
    meaning: '渠道拒绝了该请求，`channel` 中有渠道返回的错误码和说明。支付被渠道拒绝时，也返回此错误码。',
    remedy:
      '如果原因是付款人余额不足、银行拒绝或渠道风控，请让付款人更换支付方式，用新的 Idempotency-Key 重新下单。如果产品未签约、商户号受限或凭证被拒，请联系服务的运维人员。如果参数有误，请修正后重新请求。测试支付被拒：在模拟器上创建一笔 0.02 元的订单，见[使用模拟器测试](/docs/simulator#amounts-that-decide)。',
  },
  dispute_closed: {
    title: '争议已结案',
    meaning: '渠道已对该争议作出裁决，不能再答复或接受。',
    remedy: '查询该争议，查看裁决结果。',
  },
  exception_resolved: {
    title: '异常已处理',
    meaning: '该异常（须由管理员处理的情况）此前已处理完毕。',
    remedy: '查看订单的时间线，了解处理结果。',
  },
  merchant_number_used: {
    title: '商户单号已被使用',
    meaning: '该 merchantOrderNo 或 merchantRefundNo 已用于另一笔订单或退款。',
    remedy: '使用新的单号，或以相同的内容重试请求。',
  },
  order_already_paid: {
    title: '订单已支付',
    meaning: '该订单已经支付。',
    remedy: '如需退回款项，请对该订单退款。',
  },
  order_not_paid: {
    title: '订单未支付',
    meaning: '该订单尚未支付，没有可退的款项。',
    remedy: '先查询订单，支付完成后再退款。',
  },
  refund_exceeds_refundable: {
    title: '超出可退金额',
    meaning: '申请的退款金额超过订单的可退金额。',
    remedy: '退款金额不要超过订单的 `refundableAmount`。',
  },
  refund_in_progress: {
    title: '退款处理中',
    meaning:
      '该订单有另一笔退款正在处理，结果未知。再次申请相同金额的退款时，如果既没有 merchantRefundNo 也没有 Idempotency-Key，可能是重复请求，因此会被拒绝。该订单有任何退款正在处理时，不能接受争议。',
    remedy:
      '查询正在处理的退款。如需对同一金额再退一次，请传 merchantRefundNo 或 Idempotency-Key。如需接受争议，请等待该退款结束。',
  },
  refund_limit_reached: {
    title: '退款次数已达上限',
    meaning: '该订单的退款次数已达渠道上限。',
    remedy: '以其他方式退款给付款人。',
  },
  refund_not_abnormal: {
    title: '退款不是异常状态',
    meaning: '该退款不处于 `abnormal` 状态，无须人工处理。',
    remedy: '查询该退款的状态。',
  },
  refund_not_released: {
    title: '退款金额未释放',
    meaning: '渠道已完成该退款，或仍可能完成，因此该退款的金额继续被预留，不能释放给其他退款。',
    remedy: '让服务向渠道查询该退款（payctl refund sync），再查询该退款的状态。',
  },
  refund_not_retryable: {
    title: '退款不可重试',
    meaning: '只有失败或异常的退款可以重试。',
    remedy: '查询该退款的状态。',
  },
  refund_window_over: {
    title: '已过退款期限',
    meaning: '订单时间过久，渠道不再接受退款。',
    remedy: '以其他方式退款给付款人。',
  },
  refunds_blocked: {
    title: '退款被阻止',
    meaning:
      '该订单有未处理的异常（须由管理员处理的情况），处理完毕之前不能退款。订单的 `refundsBlockedBy` 字段指明异常类型。',
    remedy: '请管理员处理该异常。如果异常类型是已接受的争议，请等待渠道裁决该争议。',
  },
  profit_sharing_unsupported: {
    title: '不支持分账',
    meaning:
      'channelOptions.wechat.profitSharing 为 true。微信支付会冻结该笔资金，直到分账或解冻；本服务不提供分账，也不提供解冻。',
    remedy: '不要传 profitSharing。',
  },
  webhook_not_configured: {
    title: '未配置 Webhook',
    meaning: '应用没有启用的 Webhook，订单也没有 notifyUrl。',
    remedy: '为应用配置并启用 Webhook。',
  },
} as const satisfies Readonly<Record<keyof typeof paymentsCodes, ErrorWords>>;

export const skillpayWords = {
  fulfilment_failed_refund_failed: {
    title: '交付失败，退款失败',
    meaning: '已支付订单的交付最终失败，且渠道未能退款，须人工处理。',
    remedy:
      '请联系商户。管理员用 `payctl exception list` 查看，用 `payctl refund retry` 或 `payctl refund resolve` 处理。',
  },
  fulfilment_failed_refund_pending: {
    title: '交付失败，退款中',
    meaning: '已支付订单的交付最终失败，服务正在退款。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求，或查询订单。',
  },
  fulfilment_in_progress: {
    title: '交付处理中',
    meaning: '该按次付费订单正在交付。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求。',
  },
  fulfilment_unavailable: {
    title: '暂时无法交付',
    meaning: '该订单暂时无法交付，仍为已支付状态。',
    remedy: '按响应头 Retry-After 等待后，原样重试请求，不会再次收费。',
  },
  order_closed: {
    title: '订单已关闭',
    meaning: '该按次付费订单在支付前已关闭。',
    remedy: '不带 X-Out-Trade-No 重新调用资源，获取新的报价。',
  },
  order_refunded: {
    title: '订单已退款',
    meaning:
      '款项已全部退回或正在全部退回，因此不再交付内容。如果内容此前尚未交付，应用发起部分退款，或付款人在争议中胜诉一部分金额，也会终止交付。',
    remedy:
      '如需再次购买内容，请不带 X-Out-Trade-No 重新调用资源，并支付新的报价。部分退款之后，剩余款项也可以退款。如果退款失败，用相同的 X-Out-Trade-No 重试即可取得内容。',
  },
  proof_unverified: {
    title: '付款凭证未核实',
    meaning: '渠道既未确认也未拒绝该付款凭证。已完成的支付仍然有效。',
    remedy: '用相同的付款凭证重试同一请求。',
  },
  payment_id_used: {
    title: '支付标识已被使用',
    meaning: 'x402 payload 中的 `payment-identifier` 此前已用于另一个 payload。',
    remedy: '新的支付使用新的标识；重试时 payload 保持不变。',
  },
  payment_expired: {
    title: '报价已过期',
    meaning:
      '该按次付费报价已过期且未支付。如果响应带有 `data`，其中是使用另一单号的新报价。支付旧报价或新报价之后，都会交付本次调用。',
    remedy: '支付 `data` 中的新报价。没有 `data` 时，不带 X-Out-Trade-No 重新调用资源，获取新的报价。',
  },
  payment_required: {
    title: '需要付费',
    meaning: '该资源需要付费，`data` 和响应头说明了付费方式。',
    remedy: '支付报价，然后在请求头 X-Out-Trade-No 中带上该报价的订单号，重试请求。',
  },
  proof_invalid: {
    title: '付款凭证无效',
    meaning: 'PAYMENT-SIGNATURE 或 Payment-Proof 格式错误，与报价或 X-Out-Trade-No 不符，或被渠道拒绝。',
    remedy: '原样发送客户端或智能体为该订单生成的凭证。',
  },
  partial_refund_before_delivery: {
    title: '只能全额退款',
    meaning: '该订单的内容尚未交付。该商品交付后不可退款，交付前只能全额退款。',
    remedy: '如需全额退款，不传 refundAmount；如需取得内容，请调用资源。',
  },
  refund_after_fulfilment: {
    title: '交付后不可退款',
    meaning: '该商品的内容一经交付即不可退款。',
    remedy: '请联系运营方。',
  },
  resource_mismatch: {
    title: '资源或输入不一致',
    meaning: '该按次付费订单是为另一个资源或另一个请求体创建的，与本次请求不同。',
    remedy: '发送与首次调用相同的资源和请求体，或不发送请求体。',
  },
  resource_required: {
    title: '缺少资源',
    meaning: '请求没有指明资源。只有项目恰好有一个资源时，才可以省略 `resource`。',
    remedy: '发送 `resource`；GET /api/v2/skillpay/resources 列出全部资源。',
  },
  too_many_offers: {
    title: '未支付报价过多',
    meaning: '该应用未支付的报价已达上限。',
    remedy: '支付这些报价，或等待其过期。',
  },
} as const satisfies Readonly<Record<keyof typeof skillpayCodes, ErrorWords>>;

export const catalogWords = {
  biz_no_used: {
    title: 'bizNo 已被使用',
    meaning: '该应用已将此 bizNo 用于另一笔金额不同的扣减。',
    remedy: '使用新的 bizNo，或以相同金额重试该扣减。',
  },
  coin_disabled: {
    title: '虚拟币已停用',
    meaning: '该虚拟币已停用，不能消费。',
    remedy: '启用该虚拟币。',
  },
  coins_insufficient: {
    title: '虚拟币余额不足',
    meaning: '账户可用的虚拟币少于请求的数量，未扣减。',
    remedy: '扣减数量不超过 `available`。',
  },
  coins_spent: {
    title: '虚拟币已被消费',
    meaning: '随该订单发放的虚拟币已被消费，因此不能全额退款。',
    remedy: '减少退款金额，或修改该虚拟币的收回规则。',
  },
  not_on_sale: {
    title: '商品不可售',
    meaning: '商品已停用，或不在销售时间内。',
    remedy: '选择其他商品。',
  },
  out_of_stock: {
    title: '库存不足',
    meaning: '商品已无库存。',
    remedy: '选择其他商品，或增加库存。',
  },
  price_mismatch: {
    title: '价格不一致',
    meaning: '金额与商品价格不一致。',
    remedy: '不传金额，或传商品价格。',
  },
  project_disabled: {
    title: '项目已停用',
    meaning: '该项目已停用；已有订单仍会继续处理。',
    remedy: '启用该项目。',
  },
  project_unknown: {
    title: '项目不存在',
    meaning: '该项目不存在。',
    remedy: '使用已有项目的编码。',
  },
  user_blocked: {
    title: '用户已被封禁',
    meaning: '该用户已被封禁，不能支付；仍可退款。',
    remedy: '解除封禁。',
  },
  user_limit_reached: {
    title: '已达购买上限',
    meaning: '该用户已达到此商品的购买上限。',
    remedy: '选择其他商品。',
  },
} as const satisfies Readonly<Record<keyof typeof catalogCodes, ErrorWords>>;

export const credentialsWords = {
  certificate_exists: {
    title: '证书已存在',
    meaning: '相同的证书或密钥此前已上传，`id` 是它的编号。',
    remedy: '使用已有的证书或密钥。',
  },
  certificate_not_trusted: {
    title: '证书未受信任',
    meaning: '没有管理员信任该证书或密钥，因此不会用它验签。',
    remedy: '请管理员与渠道后台核对指纹，然后设为信任。',
  },
  certificate_pair_mismatch: {
    title: '证书与私钥不匹配',
    meaning: '该证书与将要一起使用的私钥不匹配。',
    remedy: '先上传与之匹配的证书或私钥，再将两者中的任意一个设为默认，服务会将另一个也设为默认。',
  },
  certificate_unusable: {
    title: '证书不可用',
    meaning: '使用该证书后，渠道配置将无法工作。',
    remedy: '修正 `detail` 中指出的问题，再重试请求。',
  },
  channel_disabled: {
    title: '渠道已停用',
    meaning: '该项目已停用此渠道；已有订单仍会继续处理。',
    remedy: '换用其他 payWay，或启用该渠道。',
  },
  channel_not_configured: {
    title: '渠道未配置',
    meaning: '该项目没有此渠道的完整配置，因此无法使用该渠道。',
    remedy: '完善渠道配置；测试配置可以看到缺少什么。',
  },
  configuration_broken: {
    title: '配置无法解密',
    meaning: '用现有的任何主密钥都无法解密该渠道配置中保存的密钥。',
    remedy: '检查 Security.MasterKey，或重新设置该配置的密钥。',
  },
  debug_refuses_live: {
    title: 'Debug 模式拒绝正式配置',
    meaning: 'Debug 开启时，存在密钥公开的测试应用，因此拒绝正式（live）配置。',
    remedy: '设置 Debug = false。',
  },
  production_refuses_simulator: {
    title: '生产环境拒绝模拟器',
    meaning: '模拟器的订单不涉及真实资金，因此生产环境拒绝模拟器配置。',
    remedy: '使用渠道的正式账号或沙箱，或使用预发布服务（Server.Environment）。',
  },
  staging_refuses_live: {
    title: '预发布环境拒绝正式配置',
    meaning: 'Server.Environment 为 staging，该环境不得产生真实资金往来，因此拒绝正式配置。',
    remedy: '使用渠道的沙箱或模拟器；正式配置只用于生产环境。',
  },
  trust_not_needed: {
    title: '无须信任',
    meaning: '该类证书或密钥用于签名，只有用于验签的才需要信任。',
    remedy: '直接使用即可，无须管理员设为信任。证书列表会显示哪些需要信任。',
  },
} as const satisfies Readonly<Record<keyof typeof credentialsCodes, ErrorWords>>;
