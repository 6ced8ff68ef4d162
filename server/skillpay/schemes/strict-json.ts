/** Most bytes of a header with a proof, unless its dialect says otherwise. */
const MAX_BYTES = 4096;
const MAX_DEPTH = 20;

/** What is wrong with a header, as the end of a sentence. */
export class HeaderMalformed extends Error {}

/** How the bytes of a header are written; `either` = in one of both alphabets, with or without padding. */
type HeaderEncoding = 'base64' | 'base64url' | 'either';

/**
 * The JSON object of a base64 header: at most 4 KB and 20 levels, in a form that an encoder gives, and with one meaning. Throws
 * HeaderMalformed.
 */
export function readHeaderObject(
  header: string,
  encoding: HeaderEncoding,
  maxBytes = MAX_BYTES,
): Record<string, unknown> {
  if (header.length > maxBytes) throw new HeaderMalformed(`is longer than ${maxBytes / 1024} KB`);
  const words = encoding === 'either' ? 'base64' : encoding;
  const bytes = encoding === 'either' ? bytesOfEither(header) : bytesOf(header, encoding);
  if (!bytes) throw new HeaderMalformed(`is not ${words}`);
  const value = parse(bytes, words);
  if (depthOf(value) > MAX_DEPTH) throw new HeaderMalformed('is nested too deeply');
  return objectOf(value, 'is not a JSON object');
}

/** Only the one form that an encoder gives: no other alphabet, no other padding, no bits that mean nothing. */
function bytesOf(header: string, encoding: 'base64' | 'base64url'): Buffer | undefined {
  const bytes = Buffer.from(header, encoding);
  return bytes.toString(encoding) === header ? bytes : undefined;
}

function bytesOfEither(header: string): Buffer | undefined {
  const isUrlSafe = /[-_]/.test(header);
  if (isUrlSafe && /[+/]/.test(header)) return undefined;
  const bare = header.replace(/={1,2}$/, '');
  if (bare !== header && header.length % 4 !== 0) return undefined;
  return bytesOf(isUrlSafe ? bare : bare.replaceAll('+', '-').replaceAll('/', '_'), 'base64url');
}

/** The value as an object; throws HeaderMalformed with the given words. */
export function objectOf(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new HeaderMalformed(otherwise);
  return value as Record<string, unknown>;
}

function parse(bytes: Buffer, encoding: string): unknown {
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new HeaderMalformed(`is not ${encoding}-encoded JSON`);
  }
  // The parser takes the last one of two, and another reader the first.
  if (writtenMembers(text) !== membersOf(value)) throw new HeaderMalformed('names a member twice');
  return value;
}

/** How many members a JSON text writes: its strings that a colon follows. */
function writtenMembers(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member) => sum + membersOf(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}

/** 8 KB of brackets are at most 6144 levels, which recursion bears. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
