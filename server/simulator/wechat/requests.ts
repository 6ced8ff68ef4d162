/** Checks the signature and the merchant ids of a request, defines the schemas of the bodies, and builds refusals. */
import type { Context } from 'koa';
import { z } from 'zod';
import {
  type Authorization,
  isFresh,
  readAuthorization,
  requestText,
  verifyRsa,
} from '../../channels/wechat/signature.ts';
import type { Account } from '../accounts.ts';
import type { Answer } from '../exchange.ts';
import type { Call as CallName, FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { type Part, rawBodyOf, readParts } from '../requests.ts';
import { type Merchant, findAccount, merchantKeyOf, readMerchant } from './account.ts';

/** A request that passed all checks. The `plan` function of a route receives it. */
export interface WechatRequest extends Caller {
  core: Core;
  /**
   * `partner` only for a basic payment path with `/partner`; otherwise `direct`, even if a partner sent the request.
   */
  mode: 'direct' | 'partner';
  /** The parts of the path that match the groups of the route's pattern, decoded. An example is the order number. */
  parts: readonly string[];
  query: URLSearchParams;
  /** The base URL that the client called, without a slash at the end. */
  base: string;
  rawBody: Buffer;
  contentType: string;
}

/** A request that was checked but not performed yet. `act` performs it. */
export interface Planned {
  orderNo?: string;
  act(fault: FaultName | undefined): Answer | Promise<Answer>;
}

/** `call` is the name by which a fault (a deliberate error) is set for the route. */
export interface CallRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: RegExp;
  call: CallName;
  plan(request: WechatRequest): Planned;
}

/** Builds a planned request whose response is already known. The response is usually a refusal. */
export function settled(answer: Answer, orderNo?: string): Planned {
  return { orderNo, act: () => answer };
}

/** Returns the parts of a form. wechatpayv3 for Python sends the boundary only in the first line of the body. */
export function readForm(contentType: string, body: Buffer): Part[] | undefined {
  const isNamed = !/^multipart\/form-data$/i.test(contentType);
  const boundary = isNamed ? undefined : /^--([^\r\n]{1,70})\r\n/.exec(body.toString('latin1', 0, 80))?.[1];
  return readParts(boundary === undefined ? contentType : `${contentType}; boundary=${boundary}`, body);
}

/** Builds a refusal in WeChat Pay's format: `{ code, message, detail? }`. */
export function refuse(status: number, code: string, message: string, detail?: object): Answer {
  return { status, body: JSON.stringify({ code, message, ...(detail ? { detail } : {}) }), headers: JSON_TYPE };
}

/**
 * Builds the refusal for a product that the merchant may not use. NO_AUTH is in the error list of every create call.
 * The message is as merchants report it (befinal/node-tenpay, issue 49). That WeChat Pay makes this check before the
 * checks of the order is inferred.
 */
export function notOpened(): Answer {
  return refuse(403, 'NO_AUTH', '商户号该产品权限未开通，请前往商户平台>产品中心检查后重试');
}

/** Builds a success response with a body. */
export function success(members: object): Answer {
  return { status: 200, body: JSON.stringify(members) };
}

/** Builds a response without a body: for a wrong path or method, or a successful close. */
export function empty(status: number): Answer {
  return { status, body: '' };
}

/** Builds the refusal of an invalid parameter; `field` is the JSON pointer of the parameter. */
export function badParameter(field: string, message: string): Answer {
  return refuse(400, 'PARAM_ERROR', `参数错误: ${message}`, { field, issue: message, location: 'body' });
}

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

export interface Caller {
  account: Account;
  merchant: Merchant;
}

/** On these paths, a request without the header Accept or User-Agent is refused before its signature is checked. */
const PICKY = /^\/v3\/(?:refund|certificates|merchant-service\/complaint-notifications)(?:\/|$)/;

/** Checks a request as strictly and in the same sequence as WeChat Pay does. A refusal by these checks is unsigned. */
export function enter(ctx: Context, core: Core, path: string): Caller | Answer {
  if (PICKY.test(path) && (!ctx.get('user-agent') || !ctx.get('accept'))) {
    return refuse(400, 'INVALID_REQUEST', 'Http头缺少Accept或User-Agent');
  }
  const authorization = readAuthorization(ctx.get('authorization'));
  if (!authorization) return signError('Http头Authorization值格式错误，请参考《微信支付商户REST API签名规则》');
  // The timestamp is compared with real time; the simulated clock is used only for expiry and notifications.
  if (!isFresh(authorization.timestamp, new Date())) {
    return signError('Http头Authorization中的timestamp与发起请求的时间不得超过5分钟');
  }
  const account = findAccount(core, authorization.mchid);
  if (!account) return signError('Http头Authorization中的mchid有误');
  return checkSignature(ctx, { account, merchant: readMerchant(account) }, authorization);
}

/** Whether `enter` refused the request. */
export function isRefused(entered: Caller | Answer): entered is Answer {
  return 'status' in entered;
}

function checkSignature(
  ctx: Context,
  caller: Caller,
  { serial, timestamp, nonce, signature }: Authorization,
): Caller | Answer {
  const key = merchantKeyOf(caller.merchant, serial);
  if (!key) return signError('商户证书序列号(serial_no)有误，请使用签名私钥匹配的证书序列号');
  const target = ctx.originalUrl;
  const text = requestText({ method: ctx.method, target, timestamp, nonce, body: signedBody(ctx) });
  return verifyRsa(text, signature, key) ? caller : signError('错误的签名，验签失败');
}

/** Returns the bytes that the signature covers. In a form these are the bytes of the part `meta`, without the file. */
function signedBody(ctx: Context): Buffer {
  const parts = readForm(ctx.get('content-type'), rawBodyOf(ctx));
  return parts ? (parts.find(({ name }) => name === 'meta')?.bytes ?? Buffer.alloc(0)) : rawBodyOf(ctx);
}

function signError(message: string): Answer {
  return refuse(401, 'SIGN_ERROR', message, { location: 'authorization' });
}

const Id = z.string().min(1).max(32);

const DirectMchid = { mchid: Id };
/** The merchant numbers in a partner's request (pay.weixin.qq.com/doc/v3/partner, every call of basic payment). */
const PartnerMchids = { sp_mchid: Id, sub_mchid: Id };
const DirectNames = { appid: Id, ...DirectMchid };
const PartnerNames = { sp_appid: Id, sub_appid: Id.optional(), ...PartnerMchids };

/** A partner's `sp_mchid` and `sp_appid` are stored as `mchid` and `appid`. */
export interface Names {
  mchid: string;
  appid?: string | undefined;
  subMchid?: string | undefined;
  subAppid?: string | undefined;
}

interface DirectBody {
  mchid: string;
  appid?: string | undefined;
}
interface PartnerBody {
  sp_mchid: string;
  sp_appid?: string | undefined;
  sub_mchid: string;
  sub_appid?: string | undefined;
}

/** Reads the merchant numbers and app ids of a parsed body or query. */
export function namesIn(body: DirectBody | PartnerBody): Names {
  if (!('sp_mchid' in body)) return { mchid: body.mchid, appid: body.appid };
  return { mchid: body.sp_mchid, appid: body.sp_appid, subMchid: body.sub_mchid, subAppid: body.sub_appid };
}

/** Writes merchant numbers and app ids as fields of a response or a notification. */
export function namesOf({ mchid, appid, subMchid, subAppid }: Names): Record<string, unknown> {
  if (subMchid === undefined) return { mchid, appid };
  return {
    sp_mchid: mchid,
    sub_mchid: subMchid,
    sp_appid: appid,
    ...(subAppid === undefined ? {} : { sub_appid: subAppid }),
  };
}

/**
 * Returns the refusal of wrong merchant numbers or app ids in a request that `merchant` signed; undefined if they are
 * correct.
 */
export function refuseNames(merchant: Merchant, { mchid, appid, subMchid, subAppid }: Names): Answer | undefined {
  if (mchid !== merchant.mchid) {
    const member = subMchid === undefined ? 'mchid' : 'sp_mchid';
    return badParameter(`/${member}`, `${member} differs from the mchid of the signature`);
  }
  const wrong = refuseSub(merchant, subMchid);
  if (wrong) return wrong;
  if (appid !== undefined && !merchant.appIds.includes(appid))
    return refuse(400, 'APPID_MCHID_NOT_MATCH', '商户号与appid不匹配');
  const sub = merchant.subMerchants.find((one) => one.mchid === subMchid);
  if (subAppid !== undefined && !sub?.appIds.includes(subAppid))
    return refuse(400, 'APPID_MCHID_NOT_MATCH', 'sub_mchid与sub_appid不匹配');
  return undefined;
}

/**
 * Returns the refusal of a wrong sub-merchant; undefined if it is correct. The messages are those that merchants report
 * (developers.weixin.qq.com/community, "受理机构必须传入sub_mch_id", "普通商户不允许传sub_mch_id", "受理关系不存在"). The error code for
 * "普通商户不允许传sub_mch_id" is inferred, because no report contains it.
 */
export function refuseSub({ subMerchants }: Merchant, subMchid: string | undefined): Answer | undefined {
  const isPartner = subMerchants.length > 0;
  if (subMchid === undefined) return isPartner ? refuse(400, 'PARAM_ERROR', '受理机构必须传入sub_mch_id') : undefined;
  if (!isPartner) return refuse(400, 'PARAM_ERROR', '普通商户不允许传sub_mch_id');
  const isRelated = subMerchants.some(({ mchid }) => mchid === subMchid);
  return isRelated ? undefined : refuse(403, 'NO_AUTH', '受理关系不存在');
}

const Url = z
  .string()
  .max(255)
  .regex(/^https?:\/\/[^\s?#]+$/, 'an absolute address without a query');
const Fen = z.int().min(1).max(10_000_000_000);
const OutTradeNo = z.string().regex(/^[0-9A-Za-z_\-*]{6,32}$/);
const OutRefundNo = z.string().regex(/^[0-9A-Za-z_\-|*@]{1,64}$/);
/** A refund's reason is limited in bytes (pay.weixin.qq.com, "申请退款": 不可超过80个字节长度), other texts in characters. */
const Reason = z.string().refine((text) => Buffer.byteLength(text) <= 80, 'longer than 80 bytes');
const Time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)$/, 'RFC 3339 with an offset');

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

const Extras = {
  attach: z.string().min(1).max(128).optional(),
  goods_tag: z.string().min(1).max(32).optional(),
  support_fapiao: z.boolean().optional(),
  detail: Detail.optional(),
  settle_info: z.object({ profit_sharing: z.boolean().optional() }).optional(),
};

const OpenId = z.string().min(1).max(128);

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

/** The body of POST /v3/pay/transactions/*. `productNeeds` checks the fields that one product requires. */
const DirectCreateBody = z.object({ ...DirectNames, ...Order, payer: z.object({ openid: OpenId }).optional() });

/**
 * The body of POST /v3/pay/partner/transactions/* (pay.weixin.qq.com/docs/partner, "JSAPI/小程序下单"). `sp_openid` belongs
 * to the partner's app, `sub_openid` to the sub-merchant's app.
 */
const PartnerCreateBody = z.object({
  ...PartnerNames,
  ...Order,
  payer: z.object({ sp_openid: OpenId.optional(), sub_openid: OpenId.optional() }).optional(),
});
export const CREATE_BODIES = { direct: DirectCreateBody, partner: PartnerCreateBody };
export type CreateBody = z.infer<typeof DirectCreateBody> | z.infer<typeof PartnerCreateBody>;

/**
 * POST /v3/pay/transactions/codepay ("付款码支付") has no notify_url and no expiry. A shop is named by its id at WeChat Pay
 * (`id`) or by the merchant's own shop id (`out_id`).
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
export const CODEPAY_BODIES = { direct: DirectCodepayBody, partner: PartnerCodepayBody };
export type CodepayBody = z.infer<typeof DirectCodepayBody> | z.infer<typeof PartnerCodepayBody>;

/** The body of POST …/reverse. A partner may omit its app id ("撤销", sp_appid). */
export const REVERSE_BODIES = {
  direct: z.object(DirectNames),
  partner: z.object({ ...PartnerNames, sp_appid: PartnerNames.sp_appid.optional() }),
};

export const CLOSE_BODIES = { direct: z.object(DirectMchid), partner: z.object(PartnerMchids) };

/** A query of an order has the same fields as the body of a close request, but as query parameters. */
export const QUERIES = CLOSE_BODIES;

export const RefundBody = z
  .object({
    transaction_id: z.string().optional(),
    out_trade_no: OutTradeNo.optional(),
    out_refund_no: OutRefundNo,
    reason: Reason.optional(),
    notify_url: Url.optional(),
    amount: z.object({ refund: Fen, total: Fen, currency: z.literal('CNY') }),
    funds_account: z.enum(['AVAILABLE', 'UNSETTLED']).optional(),
    /** A partner must send this field. A direct merchant must not send it ("退款申请"). */
    sub_mchid: PartnerMchids.sub_mchid.optional(),
  })
  .refine((body) => (body.transaction_id === undefined) !== (body.out_trade_no === undefined), {
    path: ['out_trade_no'],
    message: 'send either out_trade_no or transaction_id, not both',
  });
export type RefundBody = z.infer<typeof RefundBody>;

/** POST …/apply-abnormal-refund. */
export const AbnormalBody = z.object({
  out_refund_no: OutRefundNo,
  type: z.enum(['MERCHANT_BANK_CARD', 'USER_BANK_CARD']),
  sub_mchid: PartnerMchids.sub_mchid.optional(),
});
export type AbnormalBody = z.infer<typeof AbnormalBody>;

/** Returns the JSON pointer of the first field that the product requires and the body lacks; undefined if none. */
export function productNeeds(product: string, body: CreateBody): string | undefined {
  if ('sp_mchid' in body) {
    const { sp_openid: spOpenid, sub_openid: subOpenid } = body.payer ?? {};
    if (product === 'jsapi' && !spOpenid && !subOpenid) return '/payer/sp_openid';
    if (subOpenid && !body.sub_appid) return '/sub_appid';
  } else if (product === 'jsapi' && !body.payer) return '/payer/openid';
  return product === 'h5' && !body.scene_info?.h5_info ? '/scene_info/h5_info' : undefined;
}

/** Parses a body by its schema. `field` is the JSON pointer of the first invalid field. */
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
