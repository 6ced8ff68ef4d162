/** Requests: the check of their signature, the merchants that they name, the schemas of their bodies, and the refusals. */
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

/** One request that was let in. */
export interface Asked extends Caller {
  core: Core;
  /** By which of the two sets of paths: a partner's have /partner in them. */
  mode: 'direct' | 'partner';
  /** The decoded parts of the path that the route names. */
  parts: readonly string[];
  query: URLSearchParams;
  /** Where the channel was asked, without a slash at the end. */
  base: string;
  rawBody: Buffer;
  contentType: string;
}

/** What a request is about, and what it does. */
export interface Planned {
  orderNo?: string;
  act(fault: FaultName | undefined): Answer | Promise<Answer>;
}

/** One route: a verb, a path, the word that faults are set on, and what it does. */
export interface CallRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: RegExp;
  call: CallName;
  plan(asked: Asked): Planned;
}

/** A request that can only be answered in one way. */
export function settled(answer: Answer, orderNo?: string): Planned {
  return { orderNo, act: () => answer };
}

/** The parts of a form. wechatpayv3 for Python does not name its boundary, so it is taken from the first line then. */
export function readForm(contentType: string, body: Buffer): Part[] | undefined {
  const isNamed = !/^multipart\/form-data$/i.test(contentType);
  const boundary = isNamed ? undefined : /^--([^\r\n]{1,70})\r\n/.exec(body.toString('latin1', 0, 80))?.[1];
  return readParts(boundary === undefined ? contentType : `${contentType}; boundary=${boundary}`, body);
}

/** A refusal as WeChat writes it: `{ code, message, detail? }`. */
export function refuse(status: number, code: string, message: string, detail?: object): Answer {
  return { status, body: JSON.stringify({ code, message, ...(detail ? { detail } : {}) }), headers: JSON_TYPE };
}

/**
 * The merchant has not opened the product: NO_AUTH is among the codes of every create; its words as merchants report them (befinal/node-tenpay,
 * issue 49). That it comes before what is wrong with the order is our inference.
 */
export function notOpened(): Answer {
  return refuse(403, 'NO_AUTH', '商户号该产品权限未开通，请前往商户平台>产品中心检查后重试');
}

/** A success with a body. */
export function tell(members: object): Answer {
  return { status: 200, body: JSON.stringify(members) };
}

/** An answer without any body: a wrong path or verb, or a close that was done. */
export function empty(status: number): Answer {
  return { status, body: '' };
}

/** The request could not be read; `field` is where. */
export function badParameter(field: string, message: string): Answer {
  return refuse(400, 'PARAM_ERROR', `参数错误: ${message}`, { field, issue: message, location: 'body' });
}

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

/** Whoever signed the request. */
export interface Caller {
  account: Account;
  merchant: Merchant;
}

/** Paths that want to know who is asking before they look at the signature. */
const PICKY = /^\/v3\/(?:refund|certificates|merchant-service\/complaint-notifications)(?:\/|$)/;

/** Lets a request in as strictly, and in the same order, as WeChat does; a refusal here is never signed. */
export function enter(ctx: Context, core: Core, path: string): Caller | Answer {
  if (PICKY.test(path) && (!ctx.get('user-agent') || !ctx.get('accept'))) {
    return refuse(400, 'INVALID_REQUEST', 'Http头缺少Accept或User-Agent');
  }
  const authorization = readAuthorization(ctx.get('authorization'));
  if (!authorization) return signError('Http头Authorization值格式错误，请参考《微信支付商户REST API签名规则》');
  // The real time: the simulated clock is for expiry and notices only.
  if (!isFresh(authorization.timestamp, new Date())) {
    return signError('Http头Authorization中的timestamp与发起请求的时间不得超过5分钟');
  }
  const account = findAccount(core, authorization.mchid);
  if (!account) return signError('Http头Authorization中的mchid有误');
  return checkSignature(ctx, { account, merchant: readMerchant(account) }, authorization);
}

/** Whether this is an answer and not somebody who was let in. */
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

/** Of a form only `meta` is signed: the file beside it is not. */
function signedBody(ctx: Context): Buffer {
  const parts = readForm(ctx.get('content-type'), rawBodyOf(ctx));
  return parts ? (parts.find(({ name }) => name === 'meta')?.bytes ?? Buffer.alloc(0)) : rawBodyOf(ctx);
}

function signError(message: string): Answer {
  return refuse(401, 'SIGN_ERROR', message, { location: 'authorization' });
}

const Id = z.string().min(1).max(32);

/** In whose name a direct merchant asks. */
const DirectMchid = { mchid: Id };
/** In whose name a partner asks (pay.weixin.qq.com/doc/v3/partner, every call of basic payment). */
const PartnerMchids = { sp_mchid: Id, sub_mchid: Id };
/** The same with the app, as in a create. */
const DirectNames = { appid: Id, ...DirectMchid };
/** The same with the apps; the sub-merchant's may be left out. */
const PartnerNames = { sp_appid: Id, sub_appid: Id.optional(), ...PartnerMchids };

/** Whoever is named, in one form; without a sub-merchant it is a direct merchant's request. */
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

/** The names in a body or query that was read. */
export function namesIn(body: DirectBody | PartnerBody): Names {
  if (!('sp_mchid' in body)) return { mchid: body.mchid, appid: body.appid };
  return { mchid: body.sp_mchid, appid: body.sp_appid, subMchid: body.sub_mchid, subAppid: body.sub_appid };
}

/** The same as members of an answer or a notice. */
export function namesOf({ mchid, appid, subMchid, subAppid }: Names): Record<string, unknown> {
  if (subMchid === undefined) return { mchid, appid };
  return {
    sp_mchid: mchid,
    sub_mchid: subMchid,
    sp_appid: appid,
    ...(subAppid === undefined ? {} : { sub_appid: subAppid }),
  };
}

/** What is wrong about the names of a request that this merchant signed. */
export function refuseNames(merchant: Merchant, { mchid, appid, subMchid, subAppid }: Names): Answer | undefined {
  if (mchid !== merchant.mchid) {
    const member = subMchid === undefined ? 'mchid' : 'sp_mchid';
    return badParameter(`/${member}`, `${member} is not that of the signature`);
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
 * A partner takes no money of its own, a direct merchant has nobody below it, and a partner acts only for merchants that it
 * brought. The words are those that merchants report (developers.weixin.qq.com/community, "受理机构必须传入sub_mch_id",
 * "普通商户不允许传sub_mch_id", "受理关系不存在"); the code of the second was not found.
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
