import type { ErrorWords } from '../error-codes.ts';
import type { paymentsCodes } from '../payments.ts';

/** The words of these codes in Chinese. */
export const paymentsWords = {
  amount_invalid: {
    title: '金额无效',
    meaning: '金额必须是正的十进制数，小数位数不超过该币种的位数，最大 100000000。',
    remedy: '以主单位（如元）发送数字或十进制字符串。',
  },
  approval_not_independent: {
    title: '审批人不独立',
    meaning:
      '审批账号的创建时间晚于申请，或申请方与审批账号掌握在同一人手中：审批账号由申请人创建；或 30 天内有同一名管理员（包括申请人或审批人自己）创建或修改过双方。为应用发放或更换凭据也算修改。',
    remedy: '请另一名管理员审批，或驳回。',
  },
  approval_by_asker: {
    title: '申请人不能自行审批',
    meaning: '提出申请的管理员试图自己审批。',
    remedy: '请另一名管理员审批。',
  },
  approval_decided: {
    title: '审批已有结果',
    meaning: '该申请此前已被批准或驳回，或退款已经结束。',
    remedy: '查询审批单可知由谁决定，查询退款、争议或异常可知后续结果。',
  },
  bill_being_read: {
    title: '账单读取中',
    meaning: '同一账单又开始了另一次读取，只有较晚的一次有效。',
    remedy: '查询该账单，如仍有需要再重试请求。',
  },
  bill_malformed: {
    title: '不是该日的账单',
    meaning: '文件损坏，或不是该账户该日的账单；`fault`、`line`、`column` 指明位置。文件内容全部不计。',
    remedy: '从渠道商户平台重新下载账单，不做改动直接上传。',
  },
  bill_not_read: {
    title: '尚无账单',
    meaning: '该日还没有账单，无法对账。',
    remedy: '先拉取或导入账单。',
  },
  bills_not_configured: {
    title: '未配置账单',
    meaning: '项目中没有可用于拉取或读取该渠道、该账户账单的配置。',
    remedy: '完善渠道配置。',
  },
  channel_answer_unusable: {
    title: '渠道响应无效',
    meaning: '渠道已响应，但响应无法解析、未通过验签、与订单不符，或指出本服务的凭据或时钟有误；`cause` 说明是哪一种。',
    remedy: '查询订单；服务会继续核实。',
  },
  channel_outcome_unknown: {
    title: '结果未知',
    meaning: '渠道未在规定时间内返回可用的响应，操作可能已经生效。',
    remedy: '查询订单，或用相同的 Idempotency-Key 或商户单号重试请求。',
  },
  channel_refusal_inconclusive: {
    title: '渠道拒绝，但结果未定',
    meaning:
      '渠道拒绝了请求，但订单并未因此结束。`cause` 说明原因：`unlisted`：本服务不认识该拒绝原因；`trade_may_exist`：该原因表明此订单的交易已存在或可能存在；`repeated`：此前的请求可能已被受理。`channel` 中有渠道返回的错误码和说明。',
    remedy:
      '按渠道给出的说明修正后，用相同的 Idempotency-Key 或商户单号重发同一请求，或关闭订单。订单结束之前，不要以其他方式再次向付款人收款。',
  },
  channel_refused: {
    title: '渠道拒绝',
    meaning: '渠道拒绝了该请求，`channel` 中有渠道返回的错误码和说明。',
    remedy: '按渠道给出的说明修正。',
  },
  dispute_closed: {
    title: '争议已结案',
    meaning: '渠道已对该争议作出裁决，不能再答复或接受。',
    remedy: '查询该争议，查看裁决结果。',
  },
  exception_resolved: {
    title: '异常已处理',
    meaning: '该异常此前已处理完毕。',
    remedy: '查看订单的时间线。',
  },
  merchant_number_used: {
    title: '商户单号已被使用',
    meaning: '该 merchantOrderNo 或 merchantRefundNo 已用于另一笔订单或退款。',
    remedy: '使用新的单号，或以相同的内容重试请求。',
  },
  order_already_paid: {
    title: '订单已支付',
    meaning: '该订单已经支付。',
    remedy: '改为退款。',
  },
  order_not_paid: {
    title: '订单未支付',
    meaning: '该订单尚未支付，没有可退的款项。',
    remedy: '先查询订单。',
  },
  refund_exceeds_refundable: {
    title: '超出可退金额',
    meaning: '退款金额超过订单的可退金额。',
    remedy: '退款金额不超过 refundableAmount。',
  },
  refund_in_progress: {
    title: '退款处理中',
    meaning: '该订单有退款正在处理，结果未知：申请退款时指相同金额的退款，接受争议时指任何一笔退款。',
    remedy: '查询该退款；如需对同一金额再退一次，请传 merchantRefundNo 或 Idempotency-Key。争议待该退款结束后再接受。',
  },
  refund_limit_reached: {
    title: '退款次数已达上限',
    meaning: '渠道不再接受该订单的退款。',
    remedy: '以其他方式退款给付款人。',
  },
  refund_not_abnormal: {
    title: '退款不是异常状态',
    meaning: '该退款不处于 abnormal 状态，无须处理。',
    remedy: '先查询退款。',
  },
  refund_not_released: {
    title: '退款金额未释放',
    meaning: '渠道已有或可能已有该退款，因此不能释放其金额。',
    remedy: '同步该退款后再查看。',
  },
  refund_not_retryable: {
    title: '退款不可重试',
    meaning: '只有失败或异常的退款可以重试。',
    remedy: '先查询退款。',
  },
  refund_window_over: {
    title: '已过退款期限',
    meaning: '订单时间过久，渠道不再接受退款。',
    remedy: '以其他方式退款给付款人。',
  },
  refunds_blocked: {
    title: '退款被阻止',
    meaning: '该订单有未处理的异常，须先处理；订单的 refundsBlockedBy 指明异常类型。',
    remedy: '请管理员处理该异常。如果是已接受的争议，请等待渠道裁决。',
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
    remedy: '先为应用配置 Webhook。',
  },
} as const satisfies Readonly<Record<keyof typeof paymentsCodes, ErrorWords>>;
