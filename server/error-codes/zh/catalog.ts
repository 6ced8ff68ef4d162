import type { catalogCodes } from '../catalog.ts';
import type { ErrorWords } from '../error-codes.ts';

/** The words of these codes in Chinese. */
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
