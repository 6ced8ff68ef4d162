import type { Context } from 'koa';
import {
  isFresh,
  readAuthorization,
  requestText,
  verifyRsa,
  type Authorization,
} from '../../channels/wechat/signature.ts';
import type { Account } from '../accounts.ts';
import { rawBodyOf } from '../body.ts';
import type { Core } from '../half.ts';
import type { Answer } from '../exchange.ts';
import { findAccount, merchantKeyOf, readMerchant, type Merchant } from './account.ts';
import { readForm } from './form.ts';
import { refuse } from './refusals.ts';

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
