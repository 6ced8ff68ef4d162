import { z } from 'zod';
import type { Answer } from '../exchange.ts';
import type { Merchant } from './account.ts';
import { badParameter, refuse } from './refusals.ts';

const Id = z.string().min(1).max(32);

/** In whose name a direct merchant asks. */
export const DirectMchid = { mchid: Id };
/** In whose name a partner asks (pay.weixin.qq.com/doc/v3/partner, every call of basic payment). */
export const PartnerMchids = { sp_mchid: Id, sub_mchid: Id };
/** The same with the app, as in a create. */
export const DirectNames = { appid: Id, ...DirectMchid };
/** The same with the apps; the sub-merchant's may be left out. */
export const PartnerNames = { sp_appid: Id, sub_appid: Id.optional(), ...PartnerMchids };

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
