import type { Answer } from '../exchange.ts';

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
