import { z } from 'zod';
import { DirectMchid, DirectNames, PartnerMchids, PartnerNames } from './names.ts';

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

const OpenId = z.string().min(1).max(128);

/** What a create says, whoever makes it. */
const Order = {
  description: z.string().min(1).max(127),
  out_trade_no: OutTradeNo,
  notify_url: Url,
  time_expire: Time.optional(),
  ...Extras,
  amount: z.object({ total: Fen, currency: z.literal('CNY').default('CNY') }),
  scene_info: z
    .object({
      payer_client_ip: z.union([z.ipv4(), z.ipv6()]),
      device_id: z.string().min(1).max(32).optional(),
      store_info: z.object({ id: z.string().min(1).max(32) }).optional(),
      h5_info: z.object({ type: z.enum(['Wap', 'iOS', 'Android']) }).optional(),
    })
    .optional(),
};

/** POST /v3/pay/transactions/*; what only one product needs is checked by `productNeeds`. */
const DirectCreateBody = z.object({ ...DirectNames, ...Order, payer: z.object({ openid: OpenId }).optional() });

/**
 * POST /v3/pay/partner/transactions/* (pay.weixin.qq.com/docs/partner, "JSAPI/小程序下单"): the payer by the partner's app or by
 * the sub-merchant's.
 */
const PartnerCreateBody = z.object({
  ...PartnerNames,
  ...Order,
  payer: z.object({ sp_openid: OpenId.optional(), sub_openid: OpenId.optional() }).optional(),
});
/** A create by either set of paths. */
export const CREATE_BODIES = { direct: DirectCreateBody, partner: PartnerCreateBody };
/** A create that was read. */
export type CreateBody = z.infer<typeof DirectCreateBody> | z.infer<typeof PartnerCreateBody>;

/**
 * POST /v3/pay/transactions/codepay ("付款码支付"), whoever makes it: no address for notices and no expiry; the code has 18 digits
 * and begins with 10 to 15; a shop is named by WeChat's number of it or by the merchant's own.
 */
const Codepay = {
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
};
const DirectCodepayBody = z.strictObject({ ...DirectNames, ...Codepay });
const PartnerCodepayBody = z.strictObject({ ...PartnerNames, ...Codepay });
/** A charge by either set of paths. */
export const CODEPAY_BODIES = { direct: DirectCodepayBody, partner: PartnerCodepayBody };
/** A charge that was read. */
export type CodepayBody = z.infer<typeof DirectCodepayBody> | z.infer<typeof PartnerCodepayBody>;

/** POST …/reverse; a partner may leave its app out ("撤销", sp_appid). */
export const REVERSE_BODIES = {
  direct: z.object(DirectNames),
  partner: z.object({ ...PartnerNames, sp_appid: PartnerNames.sp_appid.optional() }),
};

/** POST …/close. */
export const CLOSE_BODIES = { direct: z.object(DirectMchid), partner: z.object(PartnerMchids) };

/** The query of …/out-trade-no/{no} and …/id/{id}. */
export const QUERIES = CLOSE_BODIES;

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
    /** Only a partner's, and then it must be there ("退款申请"). */
    sub_mchid: PartnerMchids.sub_mchid.optional(),
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
  sub_mchid: PartnerMchids.sub_mchid.optional(),
});
export type AbnormalBody = z.infer<typeof AbnormalBody>;

/** The first member that a product needs and the body lacks. */
export function productNeeds(product: string, body: CreateBody): string | undefined {
  if ('sp_mchid' in body) {
    const { sp_openid: spOpenid, sub_openid: subOpenid } = body.payer ?? {};
    if (product === 'jsapi' && !spOpenid && !subOpenid) return '/payer/sp_openid';
    if (subOpenid && !body.sub_appid) return '/sub_appid';
  } else if (product === 'jsapi' && !body.payer) return '/payer/openid';
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
