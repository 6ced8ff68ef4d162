/** Most bytes of a header with a proof. */
const MAX_BYTES = 4096;
const MAX_DEPTH = 20;

/** What is wrong with a header, as the end of a sentence. */
export class HeaderMalformed extends Error {}

/**
 * The JSON object of a base64 header: at most 4 KB and 20 levels, in the one form that an encoder gives. Throws
 * HeaderMalformed.
 */
export function readHeaderObject(header: string, encoding: 'base64' | 'base64url'): Record<string, unknown> {
  if (header.length > MAX_BYTES) throw new HeaderMalformed('is longer than 4 KB');
  const bytes = Buffer.from(header, encoding);
  if (bytes.toString(encoding) !== header) throw new HeaderMalformed(`is not ${encoding}`);
  const value = parse(bytes, encoding);
  if (depthOf(value) > MAX_DEPTH) throw new HeaderMalformed('is nested too deeply');
  return objectOf(value, 'is not a JSON object');
}

/** The value as an object; throws HeaderMalformed with the given words. */
export function objectOf(value: unknown, otherwise: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new HeaderMalformed(otherwise);
  return value as Record<string, unknown>;
}

function parse(bytes: Buffer, encoding: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HeaderMalformed(`is not ${encoding}-encoded JSON`);
  }
}

/** 4 KB of brackets are at most 4096 levels, which recursion bears. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
