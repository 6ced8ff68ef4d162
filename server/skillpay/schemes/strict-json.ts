/** Maximum size of a header with a proof of payment (bytes). A payment scheme may allow more. */
const MAX_BYTES = 4096;
const MAX_DEPTH = 20;

/** A header is malformed. The message is the end of a sentence that begins with the header's name. */
export class HeaderMalformed extends Error {}

/** The encoding of a header. `either` = base64 or base64url, with or without padding. */
type HeaderEncoding = 'base64' | 'base64url' | 'either';

/**
 * Decodes a header that contains a JSON object in base64. Throws HeaderMalformed if the header is too long, is not
 * encoded canonically, is nested too deeply, or contains a field twice.
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

/** Returns undefined if the header is not exactly what encoding the bytes again gives, e.g. has wrong padding. */
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

/** Returns the value if it is an object. Otherwise throws HeaderMalformed with the given text. */
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
  // JSON.parse keeps the last of two fields with the same name, but another program may keep the first. So duplicate
  // names are refused.
  if (writtenMembers(text) !== membersOf(value)) throw new HeaderMalformed('names a member twice');
  return value;
}

/** Counts the fields in a JSON text. Each string that is followed by a colon is the name of a field. */
function writtenMembers(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, member) => sum + membersOf(member), 0);
  return Array.isArray(value) ? inside : inside + Object.keys(value).length;
}

/** Recursion cannot overflow the stack: a header of 8 KB contains at most 6144 levels. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
