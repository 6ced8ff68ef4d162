import { z } from 'zod';

const Url = z
  .string()
  .max(255)
  .regex(/^https?:\/\/[^\s?#]+$/, 'an absolute address without a query');
const Fen = z.int().min(1).max(10_000_000_000);
const OutTradeNo = z.string().regex(/^[0-9A-Za-z_\-*]{6,32}$/);
const OutRefundNo = z.string().regex(/^[0-9A-Za-z_\-|*@]{1,64}$/);
/** The document limits it in bytes (pay.weixin.qq.com, "申请退款": 不可超过80个字节长度); other texts are counted in characters. */
const Reason = z.string().refine((text) => Buffer.byteLength(text) <= 80, 'longer than 80 bytes');
const Time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$/, 'RFC 3339 with an offset');

/** Goods as the payer sees them. */
const Detail = z.object({
  goods_detail: z
    .array(
      z.object({
        merchant_goods_id: z.string().regex(/^[0-9A-Za-z_-]{1,32}$/),
        goods_name: z.string().min(1).max(256).optional(),
        quantity: z.int().min(1),
        unit_price: z.int().min(0),
      }),
    )
    .min(1)
    .optional(),
});

/** Members that every create may have. */
const Extras = {
  attach: z.string().min(1).max(128).optional(),
  goods_tag: z.string().min(1).max(32).optional(),
  support_fapiao: z.boolean().optional(),
  detail: Detail.optional(),
  settle_info: z.object({ profit_sharing: z.boolean().optional() }).optional(),
};

/** POST /v3/pay/transactions/*; what only one product needs is checked by `productNeeds`. */
export const CreateBody = z.object({
  appid: z.string().min(1).max(32),
  mchid: z.string().min(1).max(32),
  description: z.string().min(1).max(127),
  out_trade_no: OutTradeNo,
  notify_url: Url,
  time_expire: Time.optional(),
  ...Extras,
  amount: z.object({ total: Fen, currency: z.literal('CNY').default('CNY') }),
  payer: z.object({ openid: z.string().min(1).max(128) }).optional(),
  scene_info: z
    .object({
      payer_client_ip: z.union([z.ipv4(), z.ipv6()]),
      device_id: z.string().min(1).max(32).optional(),
      store_info: z.object({ id: z.string().min(1).max(32) }).optional(),
      h5_info: z.object({ type: z.enum(['Wap', 'iOS', 'Android']) }).optional(),
    })
    .optional(),
});
export type CreateBody = z.infer<typeof CreateBody>;

/**
 * POST /v3/pay/transactions/codepay ("付款码支付"): no address for notices and no expiry; the code has 18 digits and begins with
 * 10 to 15; a shop is named by WeChat's number of it or by the merchant's own.
 */
export const CodepayBody = z.strictObject({
  appid: z.string().min(1).max(32),
  mchid: z.string().min(1).max(32),
  description: z.string().min(1).max(127),
  out_trade_no: OutTradeNo,
  ...Extras,
  payer: z.object({ auth_code: z.string().regex(/^1[0-5]\d{16}$/, '18 digits that begin with 10 to 15') }),
  amount: z.object({ total: Fen, currency: z.literal('CNY').default('CNY') }),
  scene_info: z.object({
    device_ip: z.union([z.ipv4(), z.ipv6()]),
    device_id: z.string().min(1).max(32).optional(),
    store_info: z
      .object({
        id: z
          .string()
          .regex(/^\d{1,32}$/)
          .optional(),
        out_id: z
          .string()
          .regex(/^[0-9A-Za-z]{1,256}$/)
          .optional(),
      })
      .refine(({ id, out_id: outId }) => id !== undefined || outId !== undefined, 'id or out_id')
      .optional(),
  }),
});
export type CodepayBody = z.infer<typeof CodepayBody>;

/** POST …/reverse. */
export const ReverseBody = z.object({ appid: z.string(), mchid: z.string() });

/** POST …/close. */
export const CloseBody = z.object({ mchid: z.string() });

/** POST /v3/refund/domestic/refunds. */
export const RefundBody = z
  .object({
    transaction_id: z.string().optional(),
    out_trade_no: OutTradeNo.optional(),
    out_refund_no: OutRefundNo,
    reason: Reason.optional(),
    notify_url: Url.optional(),
    amount: z.object({ refund: Fen, total: Fen, currency: z.literal('CNY') }),
    funds_account: z.enum(['AVAILABLE', 'UNSETTLED']).optional(),
  })
  .refine((body) => (body.transaction_id === undefined) !== (body.out_trade_no === undefined), {
    path: ['out_trade_no'],
    message: 'either out_trade_no or transaction_id',
  });
export type RefundBody = z.infer<typeof RefundBody>;

/** POST …/apply-abnormal-refund. */
export const AbnormalBody = z.object({
  out_refund_no: OutRefundNo,
  type: z.enum(['MERCHANT_BANK_CARD', 'USER_BANK_CARD']),
});
export type AbnormalBody = z.infer<typeof AbnormalBody>;

/** The first member that a product needs and the body lacks. */
export function productNeeds(product: string, body: CreateBody): string | undefined {
  if (product === 'jsapi' && !body.payer) return '/payer/openid';
  return product === 'h5' && !body.scene_info?.h5_info ? '/scene_info/h5_info' : undefined;
}

/** Reads a body by its schema; a text says what is wrong, with the pointer to it. */
export function readBody<T>(
  schema: z.ZodType<T>,
  raw: Buffer,
): { ok: true; body: T } | { ok: false; field: string; issue: string } {
  try {
    const result = schema.safeParse(JSON.parse(raw.toString('utf8')));
    if (result.success) return { ok: true, body: result.data };
    const [issue] = result.error.issues;
    return { ok: false, field: `/${issue?.path.join('/') ?? ''}`, issue: issue?.message ?? 'invalid' };
  } catch {
    return { ok: false, field: '/', issue: 'the body is not JSON' };
  }
}
