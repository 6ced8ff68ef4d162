import { errorCodes, type ErrorCode, type PublishedError } from '../error-codes/error-codes.ts';
import { AppError } from '../errors.ts';
import type { Answer } from '../payments/idempotency.ts';
import type { EdgeContext, RefusalPage } from './edge.ts';
import { type Changed, translateFault } from './faults.ts';

/**
 * Returns the response to a failed request: a problem document (RFC 9457) for programs, the format of RFC 6749 §5.2 for
 * OAuth clients, a page for browsers. Details of unexpected errors are logged and not sent.
 */
export function refusalAnswer(ctx: EdgeContext, error: unknown): Answer {
  const refusal = error instanceof AppError ? error : translateFault(error, changedBy(ctx));
  logFault(ctx, refusal);
  if (ctx.edge.refusalPage && isForReader(ctx)) return pageOf(ctx, refusal, ctx.edge.refusalPage);
  const oauth = ctx.state.contract ? ctx.state.contract.style === 'oauth' : ctx.path.startsWith('/oauth/');
  const document = oauth ? oauthDocument(refusal) : problemDocument(refusal, ctx.state.id);
  const headers = refusalHeaders(ctx, refusal);
  headers['content-type'] = oauth ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8';
  // RFC 6749 §5.2 has no 415, so a wrong media type is a 400.
  const status = oauth && refusal.status === 415 ? 400 : refusal.status;
  return { status, headers, body: JSON.stringify(document) };
}

/** Paths that programs call: they always get JSON, even if the client's default `Accept` includes HTML. */
const FOR_PROGRAMS = /^\/(api|oauth|notify|health|\.well-known)(\/|$)|\.json$/;

function isForReader({ path, req, state: { contract } }: EdgeContext): boolean {
  if (contract ? contract.raw !== 'html' : FOR_PROGRAMS.test(path)) return false;
  return /\btext\/html\b/.test(req.headers.accept ?? '');
}

function pageOf(ctx: EdgeContext, refusal: AppError, make: RefusalPage): Answer {
  const { code, status } = refusal;
  // A path that begins with `//` or `/\` is not linked, because the link would lead to another host.
  const address = ctx.method === 'GET' && /^\/(?![/\\])/.test(ctx.url) ? ctx.url : undefined;
  const { headers, body } = make({ code, status, requestId: ctx.state.id, address, headers: ctx.req.headers });
  return { status, headers: { ...refusalHeaders(ctx, refusal), 'cache-control': 'no-store', ...headers }, body };
}

/** GET, HEAD and OPTIONS only read (`never`), so the client may always repeat them. */
function changedBy({ method, edge }: EdgeContext): Changed {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return 'never';
  return edge.requests.hasChanged() ? 'something' : 'nothing';
}

function logFault(ctx: EdgeContext, refusal: AppError): void {
  if (refusal.status < 500) return;
  const level = refusal.status === 500 ? 'error' : 'warn';
  const { clientRequestId, route } = ctx.state;
  ctx.edge.logger[level]({ clientRequestId, route, err: refusal.cause ?? refusal }, refusal.code);
}

function problemDocument({ code, status, message, options }: AppError, requestId: string): Record<string, unknown> {
  const known: PublishedError = errorCodes[code];
  return {
    ...options.extra,
    type: options.type ?? `/docs/errors/${code}`,
    title: known.title,
    status,
    detail: message,
    code,
    requestId,
    errors: options.errors?.length ? options.errors : undefined,
    hint: options.hint,
    retryable: options.retryable ?? known.retryable ?? false,
    channel: options.channel,
  };
}

function oauthDocument({ code, status, message }: AppError): Record<string, unknown> {
  return {
    error: status === 500 ? 'server_error' : (oauthCodes[code] ?? code),
    error_description: message.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "'"),
  };
}

/** RFC 6749 §5.2 defines few error codes; the service's own codes are mapped to them. */
const oauthCodes: Partial<Record<ErrorCode, string>> = {
  body_incomplete: 'invalid_request',
  body_malformed: 'invalid_request',
  body_too_deep: 'invalid_request',
  body_too_large: 'invalid_request',
  media_type_unsupported: 'invalid_request',
  method_not_allowed: 'invalid_request',
  not_found: 'invalid_request',
  unauthenticated: 'invalid_client',
  rate_limited: 'temporarily_unavailable',
  change_unknown: 'temporarily_unavailable',
  database_busy: 'temporarily_unavailable',
  database_full: 'temporarily_unavailable',
  database_unavailable: 'temporarily_unavailable',
};

function refusalHeaders(ctx: EdgeContext, { status, options }: AppError): Record<string, string> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.retryAfter !== undefined) headers['Retry-After'] = String(Math.max(1, Math.ceil(options.retryAfter)));
  const oauth = ctx.state.contract?.style === 'oauth';
  if (status === 401 && !oauth && !headers['WWW-Authenticate']) {
    // RFC 6750 §3.1: no error code if no credential was sent.
    headers['WWW-Authenticate'] = ctx.state.credential ? 'Bearer error="invalid_token"' : 'Bearer';
  }
  return headers;
}
