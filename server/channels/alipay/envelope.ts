import type { UnknownCause } from '../../payments/channel.ts';

/** The outside of an answer; `signed` is the exact raw text of the response member that the signature covers. */
export interface Envelope {
  signed: string;
  /** The method's own member, or `error_response`, which can only be a refusal. */
  isError: boolean;
  /** Empty when the answer has none. */
  sign: string;
  certSerial: string;
}

/** The answer cannot be read; `why` is the stable word for it. */
export class UnreadableAnswer extends Error {
  readonly why: Extract<UnknownCause, 'unparsable' | 'duplicate_key'>;
  constructor(why: UnreadableAnswer['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableAnswer';
    this.why = why;
  }
}

/** Takes an answer apart without trusting it; throws UnreadableAnswer for anything but one JSON object with unique keys. */
export function readEnvelope(body: Uint8Array, method: string): Envelope {
  const text = decodeJson(body);
  const members = topLevelMembers(text);
  const name = `${method.replaceAll('.', '_')}_response`;
  const own = members.get(name);
  const signed = own ?? members.get('error_response');
  if (!signed?.startsWith('{')) throw new UnreadableAnswer('unparsable', `The response has no object ${name}.`);
  return {
    signed,
    isError: own === undefined,
    sign: stringOf(members.get('sign')),
    certSerial: stringOf(members.get('alipay_cert_sn')),
  };
}

function decodeJson(body: Uint8Array): string {
  try {
    // The signature is over bytes: nothing may be lost in decoding, not even a byte order mark.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    JSON.parse(text);
    return text;
  } catch {
    throw new UnreadableAnswer('unparsable', `The response (${body.byteLength} bytes) is not UTF-8 JSON.`);
  }
}

/** The raw text of each top-level member of valid JSON; refuses a key that occurs twice in any object. */
function topLevelMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  const open: (Set<string> | null)[] = [];
  let awaitsKey = false;
  let key: string | undefined;
  let from = 0;
  const endMember = (at: number): void => {
    if (key !== undefined) members.set(key, text.slice(from, at).trim());
    key = undefined;
  };

  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      if (awaitsKey) {
        const name = addKey(open.at(-1), text.slice(at, end));
        awaitsKey = false;
        if (open.length === 1) [key, from] = [name, text.indexOf(':', end) + 1];
      }
      at = end - 1;
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null);
      awaitsKey = char === '{';
    } else if (char === '}' || char === ']') {
      if (open.length === 1) endMember(at);
      open.pop();
      awaitsKey = false;
    } else if (char === ',') {
      if (open.length === 1) endMember(at);
      awaitsKey = open.at(-1) instanceof Set;
    }
  }
  return members;
}

/** Keys are compared as they are meant, so `"\u0073ign"` is a second `"sign"`. */
function addKey(keys: Set<string> | null | undefined, raw: string): string {
  const name = stringOf(raw);
  if (keys?.has(name)) throw new UnreadableAnswer('duplicate_key', `Duplicate key ${raw}.`);
  keys?.add(name);
  return name;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function stringOf(raw: string | undefined): string {
  const value: unknown = raw?.startsWith('"') ? JSON.parse(raw) : '';
  return typeof value === 'string' ? value : '';
}
