import { z } from 'zod';
import { type FieldError, InvalidRequest, NotFound } from '../errors.ts';
import { readBody } from './body.ts';
import { triedClient, withoutEmpty } from './oauth-request.ts';
import { requirePlainText } from './plain-text.ts';
import type { Contract, RequestFacts } from './contract.ts';
import type { EdgeContext } from './edge.ts';

/** What the reader of a contract gives; the handler sees it with the contract's own types. */
export interface ReadInput {
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
  request: RequestFacts;
}

const none = Object.freeze({});
const noBytes = Buffer.alloc(0);

/** Makes the function that reads path, query, headers and body of a request by a contract; it throws 404, 413, 415 or 400. */
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
    return { ...read, body: body ? parse(body, sent, '') : undefined, request: facts(ctx, raw) };
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

/** The router takes a malformed escape as it stands, so two paths would name the same thing. */
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
    if (strict && !known) throw queryFault(name, 'unknown_parameter', 'is not a parameter of this operation');
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
  return new InvalidRequest(`The query parameter ${shown} ${detail}.`, [{ pointer: `/query/${shown}`, code, detail }]);
}

function parse(schema: z.ZodType, value: unknown, prefix: string): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new InvalidRequest(
    'The request is not valid.',
    result.error.issues.slice(0, 50).map((issue) => fieldError(issue, prefix)),
  );
}

function fieldError(issue: z.core.$ZodIssue, prefix: string): FieldError {
  const path = issue.path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const code = issue.code === 'custom' && typeof issue.params?.code === 'string' ? issue.params.code : issue.code;
  return { pointer: prefix + path, code, detail: issue.message };
}

/** Reads the `Idempotency-Key` header, bare or quoted (≤ 255 visible characters); throws a 400 when it is malformed. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text;
  if (!/^[\x21-\x7e]{1,255}$/.test(key) || key.includes('"')) {
    throw new InvalidRequest('Idempotency-Key must be 1 to 255 visible characters, bare or quoted.', [
      { pointer: '/headers/idempotency-key', code: 'invalid', detail: 'must be 1 to 255 visible characters' },
    ]);
  }
  return key;
}
