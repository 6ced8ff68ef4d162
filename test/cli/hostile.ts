import type { FakeAnswer } from './fakes/api.ts';

/** A merchant text with a window title, a C1 colour, a reversed reading order and an overwritten line. */
export const ATTACK = 'owned\u001B]0;title\u0007\u009B31m\u202Egnp.exe\u2066\u007F\u0000\rpaid';

const OBEYED =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /\r(?!\n)|[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u206F]/;
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const OURS = /\u001B\[[\d;?]*[A-Zmhl]/g;

/** The first control character in a text, except colours and cursor moves of payctl. */
export function drawnByOthers(text: string): string | undefined {
  return OBEYED.exec(text.replace(OURS, ''))?.[0];
}

/** Members that payctl parses; an attack in them would end the command before it prints. */
const READ =
  /(At|No|Id|_id|Until|token|expires_in|type|status|state|fulfilment|currency|payWay|mode|kind|code|alg|kty|crv|kid|x|qrCode|fingerprint|serialNumber|nextCursor|sequence|ok|from|to|amounts?|price)$/;

/** Appends the attack to every text of an answer, errors included. */
export function hostile(answer: FakeAnswer): FakeAnswer {
  const { body, text } = answer;
  return {
    ...answer,
    ...(body === undefined ? {} : { body: withAttack(body, '') }),
    ...(text?.startsWith(': hello') ? { text: text.replace(/^data: (.*)$/m, (_, data: string) => spoilt(data)) } : {}),
  };
}

function spoilt(data: string): string {
  return `data: ${JSON.stringify(withAttack(JSON.parse(data), ''))}`;
}

function withAttack(value: unknown, name: string): unknown {
  if (typeof value === 'string') return READ.test(name) ? value : `${value}${ATTACK}`;
  if (Array.isArray(value)) return value.map((item) => withAttack(item, name));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, withAttack(member, key)]);
  return { ...Object.fromEntries(members), remark: ATTACK };
}
