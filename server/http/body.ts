import type { IncomingMessage } from 'node:http';
import { AppError, InvalidRequest } from '../errors.ts';
import type { Accepts, Contract } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import { readMultipart } from './multipart.ts';
import { requireExactNumber, requireUniqueMembers } from './exact-json.ts';
import { requirePlainText, requirePlainTree } from './plain-text.ts';

/** JSON and forms: 100 KB. Channel notices (`raw`): 256 KB, more than any channel sends. */
const limits = { parsed: 100 * 1024, raw: 256 * 1024 };
const nothing = Buffer.alloc(0);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A body as it came and as it was read. */
export interface ReadBody {
  value: unknown;
  raw: Buffer;
}

/** Reads the body in one of the media types that the contract accepts; throws 413, 415 or 400. */
export async function readBody(ctx: EdgeContext, contract: Contract): Promise<ReadBody> {
  // The caller may have gone while its credential was checked; its stream would never end.
  if (ctx.req.destroyed && !ctx.req.readableEnded) throw incomplete();
  const accepts = contract.accepts ?? ['json'];
  if (accepts.includes('raw')) return { value: undefined, raw: await readBytes(ctx.req, limits.raw) };
  if (!hasBody(ctx.req)) return { value: undefined, raw: nothing };
  requireIdentity(ctx.req);
  const type = acceptedType(ctx.req, accepts);
  if (type === 'multipart') return { value: await readMultipart(ctx), raw: nothing };
  const raw = await readBytes(ctx.req, limits.parsed);
  if (raw.length === 0) return { value: undefined, raw };
  const text = decode(raw);
  return { value: type === 'json' ? parseJson(text) : parseForm(text), raw };
}

/** The bytes of a request up to `limit`; throws 413 as soon as there are more, 400 when the caller breaks off. */
export function readBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else reject(tooLarge(limit));
    });
    req.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks)));
    req.on('error', () => reject(incomplete()));
    // Every request closes in the end; only one that closes before its end broke off.
    req.on('close', () => req.readableEnded || reject(incomplete()));
  });
}

function hasBody(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function requireIdentity(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'];
  if (encoding && encoding !== 'identity') throw wrongType('Compressed request bodies are not supported.');
}

const mediaTypes: Record<string, Accepts> = {
  'application/json': 'json',
  'application/x-www-form-urlencoded': 'form',
  'multipart/form-data': 'multipart',
};

function acceptedType(req: IncomingMessage, accepts: readonly Accepts[]): Accepts {
  const [name = '', ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';');
  const mediaType = name.trim();
  const type = mediaTypes[mediaType] ?? (/^application\/[\w.-]+\+json$/.test(mediaType) ? 'json' : undefined);
  if (!type || !accepts.includes(type)) throw wrongType(`The body must be ${accepts.join(' or ')}.`);
  const charset = parameters.find((parameter) => parameter.trim().startsWith('charset='))?.split('=')[1];
  if (charset && !/^"?(utf-8|utf8|us-ascii)"?$/.test(charset.trim())) throw wrongType('The body must be UTF-8.');
  return type;
}

function decode(raw: Buffer): string {
  try {
    return utf8.decode(raw);
  } catch {
    throw new InvalidRequest('The body is not valid UTF-8.', [], 'body_malformed');
  }
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidRequest('The body is not valid JSON.', [], 'body_malformed');
  }
  requirePlainTree(value);
  // Only now: what calls back for each member would run out of stack in a body that is too deep.
  JSON.parse(text, requireExactNumber);
  requireUniqueMembers(text);
  return value;
}

function parseForm(text: string): Record<string, string> {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    requirePlainText(name + value, '');
    if (name in form)
      throw new InvalidRequest('A parameter was sent more than once.', [
        { pointer: `/${name}`, code: 'duplicate', detail: 'sent more than once' },
      ]);
    form[name] = value;
  }
  return form;
}

function incomplete(): InvalidRequest {
  return new InvalidRequest('The request body is incomplete.', [], 'body_incomplete');
}

function tooLarge(limit: number): AppError {
  return new AppError('body_too_large', 413, `The body is larger than ${limit / 1024} KB.`);
}

function wrongType(message: string): AppError {
  return new AppError('media_type_unsupported', 415, message);
}
