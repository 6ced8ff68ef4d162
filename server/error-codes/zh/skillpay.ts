import type { ErrorWords } from '../error-codes.ts';
import type { skillpayCodes } from '../skillpay.ts';

/** The words of these codes in Chinese. */
export const skillpayWords = {
  fulfilment_failed_refund_failed: {
    title: '交付失败，退款失败',
    meaning: '已支付订单的交付最终失败，且渠道未能退款，须人工处理。',
    remedy: '请联系商户。管理员：`payctl exception list`、`payctl refund retry` 或 `payctl refund resolve`。',
  },
  fulfilment_failed_refund_pending: {
    title: '交付失败，退款中',
    meaning: '已支付订单的交付最终失败，服务正在退款。',
    remedy: '按 Retry-After 等待后重试，或查询订单。',
  },
  fulfilment_in_progress: {
    title: '交付处理中',
    meaning: '该按次付费订单正在交付。',
    remedy: '按 Retry-After 等待后，原样重试请求。',
  },
  fulfilment_unavailable: {
    title: '暂时无法交付',
    meaning: '该订单暂时无法交付，仍为已支付状态。',
    remedy: '按 Retry-After 等待后，原样重试请求，不会再次收费。',
  },
  order_closed: {
    title: '订单已关闭',
    meaning: '该按次付费订单在支付前已关闭。',
    remedy: '不带 X-Out-Trade-No 重新调用资源，获取新的报价。',
  },
  order_refunded: {
    title: '订单已退款',
    meaning: '款项已退回或正在退回：全部款项，或交付前由应用退回、因争议败诉退回的部分款项。内容不再交付。',
    remedy: '不带 X-Out-Trade-No 重新调用资源，获取新的报价。剩余款项可以退款。如果退款失败，原样重试即可取得内容。',
  },
  proof_unverified: {
    title: '付款凭证未核实',
    meaning: '渠道没有答复付款凭证是否有效。不会有任何损失：已支付的仍为已支付。',
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
      '该按次付费报价已过期且未支付。如果带有 `data`，其中是取代它的新报价，有自己的单号；支付其中任意一个都可以兑换本次调用。',
    remedy: '支付 `data` 中的新报价；没有 `data` 时，不带 X-Out-Trade-No 重新调用资源。',
  },
  payment_required: {
    title: '需要付费',
    meaning: '该资源需要付费，`data` 和响应头说明了付费方式。',
    remedy: '付费后，带上 X-Out-Trade-No 重试请求。',
  },
  proof_invalid: {
    title: '付款凭证无效',
    meaning: 'PAYMENT-SIGNATURE 或 Payment-Proof 格式错误，与报价或 X-Out-Trade-No 不符，或被渠道拒绝。',
    remedy: '原样发送客户端或智能体为该订单生成的凭证。',
  },
  partial_refund_before_delivery: {
    title: '只能全额退款',
    meaning: '该商品交付后不可退款，因此交付前只能全额退款。',
    remedy: '不传 refundAmount 以退回全部款项，或调用资源获取内容。',
  },
  refund_after_fulfilment: {
    title: '交付后不可退款',
    meaning: '该商品的内容一经交付即不可退款。',
    remedy: '请联系运营方。',
  },
  resource_mismatch: {
    title: '资源或输入不一致',
    meaning: '该按次付费订单是为另一个资源或另一组输入创建的。',
    remedy: '发送与首次调用相同的请求体，或不发送请求体。',
  },
  resource_required: {
    title: '缺少资源',
    meaning: '该项目没有技能或有多个技能，因此必须指明资源。',
    remedy: '发送 `resource`；GET /api/v2/skillpay/resources 列出全部资源。',
  },
  too_many_offers: {
    title: '未支付报价过多',
    meaning: '该应用未支付的报价已达上限。',
    remedy: '支付这些报价，或等待其过期。',
  },
} as const satisfies Readonly<Record<keyof typeof skillpayCodes, ErrorWords>>;
