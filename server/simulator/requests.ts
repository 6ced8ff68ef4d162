/** Reads the bodies, forms and files of requests to the simulator, checks who sent a request, and refuses requests. */
import type { Context, Next } from 'koa';
import { z } from 'zod';
import { issueWords } from '../issue-words.ts';

/**
 * A refusal by the simulator itself instead of a channel. It becomes a JSON error response. `code` stays the same in
 * all versions, so programs can rely on it.
 */
export class SimulatorRefusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'SimulatorRefusal';
    this.status = status;
    this.code = code;
  }
}

const MOST_BYTES = 1024 * 1024;
/** In bytes. A form may be larger than other bodies, because PayPal accepts 50 MB of files in one call. */
const MOST_BYTES_OF_FORM = 64 * 1024 * 1024;
const KEY = Symbol('raw body');

/** Reads the body of every request, so that signatures can be checked over the exact bytes. */
export async function readBody(ctx: Context, next: Next): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  const most = /^multipart\//i.test(ctx.get('content-type')) ? MOST_BYTES_OF_FORM : MOST_BYTES;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new SimulatorRefusal(413, 'too_large', `The body is larger than ${most / MOST_BYTES} MB.`);
    chunks.push(chunk);
  }
  keepBody(ctx, Buffer.concat(chunks));
  await next();
}

/** Stores `body` as the raw body of the request. */
export function keepBody(ctx: Context, body: Buffer): void {
  (ctx.state as Record<symbol, Buffer>)[KEY] = body;
}

/** Returns the exact bytes of the request's body. */
export function rawBodyOf(ctx: Context): Buffer {
  return (ctx.state as Record<symbol, Buffer | undefined>)[KEY] ?? Buffer.alloc(0);
}

/** Refuses a Host header that is not a loopback name, because a web page could reach the simulator by DNS rebinding. */
export function refuseForeignHost(ctx: Context): void {
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(ctx.get('host')))
    throw new SimulatorRefusal(403, 'not_local', 'The Host header must be localhost, 127.0.0.1 or [::1].');
}

/** Refuses cross-site form posts by Sec-Fetch-Site, or by Origin if the browser does not send Sec-Fetch-Site. */
export function refuseCrossSite(ctx: Context): void {
  const [site, origin] = [ctx.get('sec-fetch-site'), ctx.get('origin')];
  const isExternal =
    site === '' ? origin !== '' && URL.parse(origin)?.host !== ctx.get('host') : site !== 'same-origin';
  if (isExternal)
    throw new SimulatorRefusal(403, 'cross_site', 'The simulator refuses form posts from pages of other sites.');
}

/** Parses the JSON body of a control API call; throws SimulatorRefusal when it does not match the schema. */
export function bodyOf<T>(ctx: Context, schema: z.ZodType<T>): T {
  const text = rawBodyOf(ctx).toString('utf8');
  let input: unknown;
  try {
    input = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new SimulatorRefusal(400, 'invalid_json', 'The body is not valid JSON.');
  }
  const result = schema.safeParse(input, { error: issueWords });
  if (!result.success) throw new SimulatorRefusal(400, 'invalid_request', z.prettifyError(result.error));
  return result.data;
}

/** Returns a query parameter; undefined when it is missing or empty. */
export function queryText(ctx: Context, name: string): string | undefined {
  const value = ctx.query[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** One part of a multipart/form-data body. `fileName` is set only for files. */
export interface Part {
  name: string;
  type: string;
  fileName: string | undefined;
  bytes: Buffer;
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** Splits a multipart form into its parts. Returns undefined for another media type or an incomplete body. */
export function readParts(contentType: string, body: Buffer): Part[] | undefined {
  const boundary = /^multipart\/form-data;\s*boundary="?([\w'()+,./:=? -]{1,70}?)"?\s*$/i.exec(contentType)?.[1];
  if (boundary === undefined) return undefined;
  const mark = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const from = at + mark.length;
    if (body.subarray(from, from + 2).toString('latin1') === '--') return parts;
    const next = body.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), from);
    const headEnd = body.indexOf(HEAD_END, from);
    if (next < 0 || headEnd < 0 || headEnd > next) return undefined;
    const head = body.subarray(from, headEnd).toString('utf8');
    const value = (pattern: RegExp) => pattern.exec(head)?.[1];
    parts.push({
      name: value(/content-disposition:[^\r\n]*;\s*name="([^"]*)"/i) ?? '',
      type: value(/content-type:\s*([^\r\n;]*)/i)?.trim() ?? '',
      fileName: value(/content-disposition:[^\r\n]*;\s*filename="([^"]*)"/i),
      bytes: body.subarray(headEnd + HEAD_END.length, next),
    });
    at = next + 2;
  }
  return undefined;
}

/** The first bytes of a file of each type, in hexadecimal. */
const BEGINS = {
  jpg: ['ffd8ff'],
  png: ['89504e470d0a1a0a'],
  gif: ['474946383761', '474946383961'],
  bmp: ['424d'],
  pdf: ['255044462d'],
} as const;
type FileKind = keyof typeof BEGINS;

/** Whether the first bytes and the name of a file match one of the file types in `kinds`; `jpeg` counts as `jpg`. */
export function isOfKind(bytes: Buffer, fileName: string, kinds: readonly FileKind[]): boolean {
  const ending = fileName.toLowerCase().replace(/^.*\./, '').replace('jpeg', 'jpg');
  const start = bytes.subarray(0, 16).toString('hex');
  return kinds.some((kind) => kind === ending && BEGINS[kind].some((begin) => start.startsWith(begin)));
}
