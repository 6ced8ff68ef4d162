import type { Answer } from '../exchange.ts';

/** A refusal as WeChat writes it: `{ code, message, detail? }`. */
export function refuse(status: number, code: string, message: string, detail?: object): Answer {
  return { status, body: JSON.stringify({ code, message, ...(detail ? { detail } : {}) }), headers: JSON_TYPE };
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

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
