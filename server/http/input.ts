// Parses path, query, headers and body of a request by its route's contract, and the parameters of OAuth.
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { notKnown } from '../../config/nearest.ts';
import { AppError, type FieldError, InvalidRequest, NotFound } from '../errors.ts';
import { issueWords } from '../issue-words.ts';
import { announcesBody } from './server.ts';
import type { Accepts, Contract, RequestFacts } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import { escapeName, readJson, requirePlainText, unknownMembers } from './strict-text.ts';
import { incomplete, mostBytesOf, readMultipart, streamedBody } from './uploads.ts';

export interface ReadInput {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
  request: RequestFacts;
}

const none = Object.freeze({});
const noBytes = Buffer.alloc(0);
const MOST_FAULTS = 50;
/** JSON and forms: 100 KB. Channel notifications (`raw`): 256 KB, more than any channel sends. */
const limits = { parsed: 100 * 1024, raw: 256 * 1024 };
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Creates the function that parses path, query, headers and body by a contract; it throws 404, 413, 415 or 400. */
export function inputReader(contract: Contract): (ctx: EdgeContext) => Promise<ReadInput> {
  const { params, query, headers, body } = contract;
  const takesBody = body !== undefined || contract.accepts !== undefined;
  const isOAuth = contract.style === 'oauth';
  return async (ctx) => {
    const read = {
      params: params ? readParams(params, ctx) : none,
      query: readQuery(query, ctx),
      headers: headers ? readHeaders(headers, ctx) : none,
    };
    const { value, raw } = takesBody ? await readBody(ctx, contract) : { value: undefined, raw: noBytes };
    if (isOAuth) ctx.state.triedClient = triedClient(ctx.req.headers.authorization, value);
    const sent = isOAuth ? withoutEmpty(value) : value;
    const isStrict = ctx.path.startsWith('/api/');
    return { ...read, body: body ? parseBody(body, sent, isStrict) : undefined, request: facts(ctx, raw) };
  };
}

function facts(ctx: EdgeContext, rawBody: Buffer): RequestFacts {
  const { id, ip, route } = ctx.state;
  return { id, ip, method: ctx.method, route, search: ctx.querystring, headers: ctx.req.headers, rawBody };
}

function readParams(schema: z.ZodObject, { params, path }: EdgeContext): unknown {
  if (path.includes('%') && !isDecodable(path)) throw new NotFound();
  for (const [name, value] of Object.entries(params)) requirePlainText(value, `/path/${name}`);
  const result = schema.safeParse(params);
  if (!result.success) throw new NotFound();
  return result.data;
}

/**
 * Whether every percent escape in a path is valid. The router keeps an invalid escape such as `%zz` as text, so `%zz`
 * and `%25zz` would address the same object.
 */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function readQuery(schema: z.ZodObject | undefined, ctx: EdgeContext): unknown {
  if (ctx.querystring === '') return schema ? parse(schema, {}, '/query') : none;
  const strict = ctx.path.startsWith('/api/');
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(ctx.querystring)) {
    requirePlainText(name + value, '/query');
    const known = schema !== undefined && Object.hasOwn(schema.shape, name);
    if (strict && !known) throw queryFault(name, 'unknown_parameter', notKnown(name, Object.keys(schema?.shape ?? {})));
    if (strict && name in query) throw queryFault(name, 'duplicate', 'was sent more than once');
    if (known) query[name] ??= value;
  }
  return schema ? parse(schema, query, '/query') : none;
}

function readHeaders(schema: z.ZodObject, ctx: EdgeContext): unknown {
  const picked: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = ctx.req.headers[name];
    if (value === undefined) continue;
    picked[name] = String(value);
    requirePlainText(picked[name], `/headers/${name}`);
  }
  return parse(schema, picked, '/headers');
}

function queryFault(name: string, code: string, detail: string): InvalidRequest {
  const shown = name.slice(0, 64);
  return new InvalidRequest(sentence(`The query parameter ${shown} ${detail}`), [
    { pointer: `/query/${shown}`, code, detail },
  ]);
}

/** With `isStrict` an unknown field is refused: a misspelt `refundAmount` would otherwise refund the full amount. */
function parseBody(schema: z.ZodType, sent: unknown, isStrict: boolean): unknown {
  if (!isStrict) return parse(schema, sent, '');
  return parse(schema, sent, '', unknownMembers(schema, sent).take(MOST_FAULTS).toArray());
}

function parse(schema: z.ZodType, value: unknown, prefix: string, unknown: readonly FieldError[] = []): unknown {
  const result = schema.safeParse(value, { error: issueWords });
  const [first] = unknown;
  if (result.success && !first) return result.data;
  const faults = [...unknown, ...(result.error?.issues ?? []).map((issue) => fieldError(issue, prefix))];
  const words = first ? sentence(`The field ${first.pointer.slice(1)} ${first.detail}`) : 'The request is not valid.';
  throw new InvalidRequest(words, faults.slice(0, MOST_FAULTS));
}

function sentence(words: string): string {
  return words.endsWith('?') ? words : `${words}.`;
}

function fieldError(issue: z.core.$ZodIssue, prefix: string): FieldError {
  const path = issue.path.map((part) => `/${escapeName(String(part))}`).join('');
  const code = issue.code === 'custom' && typeof issue.params?.code === 'string' ? issue.params.code : issue.code;
  return { pointer: prefix + path, code, detail: issue.message };
}

/** Reads the `Idempotency-Key` header, bare or quoted (≤ 255 visible characters); throws a 400 if it is malformed. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = idempotencyKeyOf(header);
  if (key === undefined) {
    throw new InvalidRequest('Idempotency-Key must be 1 to 255 visible characters, bare or quoted.', [
      { pointer: '/headers/idempotency-key', code: 'invalid', detail: 'must be 1 to 255 visible characters' },
    ]);
  }
  return key;
}

/** The key of an `Idempotency-Key` header; undefined if the header is missing or malformed. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text;
  return /^[\x21-\x7e]{1,255}$/.test(key) && !key.includes('"') ? key : undefined;
}

interface ReadBody {
  value: unknown;
  raw: Buffer;
}

/** Parses the body in a media type that the contract accepts; throws 413, 415 or 400. */
async function readBody(ctx: EdgeContext, contract: Contract): Promise<ReadBody> {
  // If the client disconnected while its token was verified, reading the body would wait forever.
  if (ctx.req.destroyed && !ctx.req.readableEnded) throw incomplete();
  const accepts = contract.accepts ?? ['json'];
  if (accepts.includes('raw')) return { value: undefined, raw: await readBytes(ctx.req, limits.raw) };
  if (accepts.includes('stream')) return { value: streamOf(ctx.req), raw: noBytes };
  if (!announcesBody(ctx.req)) return { value: undefined, raw: noBytes };
  requireIdentity(ctx.req);
  const type = acceptedType(ctx.req, accepts);
  const raw = await readBytes(ctx.req, type === 'multipart' ? mostBytesOf(contract.uploads) : limits.parsed);
  if (type === 'multipart') return { value: await readMultipart(ctx, raw, contract.uploads), raw: noBytes };
  if (raw.length === 0) return { value: undefined, raw };
  const text = decode(raw);
  return { value: type === 'json' ? readJson(text) : parseForm(text), raw };
}

/**
 * Returns the body as a stream. A multipart body is refused, because the headers of its parts would become part of the
 * file.
 */
function streamOf(req: IncomingMessage): AsyncIterable<Uint8Array> {
  requireIdentity(req);
  if (/^multipart\//i.test(req.headers['content-type'] ?? ''))
    throw wrongType('The body must be the bytes of the file, not multipart data.');
  return streamedBody(req);
}

/** The bytes of a request up to `limit`; throws 413 as soon as there are more, 400 if the connection breaks. */
function readBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge(limit));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      // Frees the memory at once, because the rest of the refused body may still arrive for a while.
      chunks.length = 0;
      reject(tooLarge(limit));
    });
    req.on('end', () => resolve(chunks.length === 1 ? (chunks[0] ?? noBytes) : Buffer.concat(chunks)));
    req.on('error', () => reject(incomplete()));
    // Every request emits `close`; the body is incomplete only if `close` comes before `end`.
    req.on('close', () => req.readableEnded || reject(incomplete()));
  });
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
  if (!type || !accepts.includes(type)) throw wrongType(`The body must be in the format ${accepts.join(' or ')}.`);
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

function tooLarge(limit: number): AppError {
  return new AppError('body_too_large', 413, `The body is larger than ${limit / 1024} KB.`);
}

function wrongType(message: string): AppError {
  return new AppError('media_type_unsupported', 415, message);
}

const MOST_CHARACTERS = 64;

/** Removes OAuth parameters without a value: they count as omitted (RFC 6749 §3.2). */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!Object.values(value).includes('')) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== ''));
}

/** Id and secret of an `Authorization: Basic` header as sent; undefined for any other header. */
export function basicPair(header: string): { id: string; secret: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) };
}

/** The unverified client id of a token request, shortened, for the log. */
function triedClient(authorization: string | undefined, body: unknown): string | undefined {
  const named = typeof body === 'object' && body !== null && 'client_id' in body ? body.client_id : undefined;
  const id = (authorization === undefined ? undefined : basicPair(authorization)?.id) ?? named;
  return typeof id === 'string' ? id.slice(0, MOST_CHARACTERS).toWellFormed() : undefined;
}
