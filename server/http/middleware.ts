// Middleware around every request: log, errors, CORS, entity tags, and the mark of a staging service.
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { hash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { clientAddress } from '../addresses.ts';
import { beginWork, currentWork, inSpan } from '../work.ts';
import { timesSent } from './server.ts';
import type { EdgeContext, EdgeMiddleware, HeaderPairs } from './edge.ts';
import { refusalAnswer } from './refusal-answer.ts';

const LONGEST_CLIENT_ID = 128;
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

/** The outermost middleware: logs and measures each request. Bodies, queries and headers are never logged. */
export function observe(headers: HeaderPairs): EdgeMiddleware {
  const noteProxy = warnOfProxy();
  return (ctx, next) => {
    const started = performance.now();
    begin(ctx, headers);
    noteProxy(ctx);
    const serve = async (span?: Span) => {
      await next();
      if (ctx.draining || ctx.leaving) ctx.set('Connection', 'close');
      finish(ctx, (performance.now() - started) / 1000);
      if (span) describe(span, ctx);
    };
    return beginWork({ requestId: ctx.state.id }, () =>
      // Health checks are not traced, because load balancers send them very often.
      ctx.path.startsWith('/health') ? serve() : inSpan('request', { kind: 'server', headers: ctx.req.headers }, serve),
    );
  };
}

/** Response header of data from a database replica. Its value is the maximum age of the data in seconds. */
export const REPLICA_LAG = 'Replica-Lag';

export const onError: EdgeMiddleware = (ctx, next) =>
  ctx.edge.requests.run(async () => {
    try {
      await next();
      const lag = ctx.edge.requests.lag();
      if (lag !== undefined) ctx.set(REPLICA_LAG, lag.toFixed(3));
    } catch (error) {
      const { status, headers, body } = refusalAnswer(ctx, error);
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  });

function begin(ctx: EdgeContext, headers: HeaderPairs): void {
  const { req, res, state } = ctx;
  const sent = req.headers['x-request-id'];
  // If the header `Authorization` was sent twice, Node keeps the first value, but a proxy may have checked the second
  // value. So neither value is accepted.
  if (isRepeated(req, 'authorization')) req.headers.authorization = '';
  // The client's id is not used as the request id, because clients may send the same id again. The log shows both ids.
  state.id = randomUUID();
  if (typeof sent === 'string' && sent !== '')
    state.clientRequestId = sent.slice(0, LONGEST_CLIENT_ID).replaceAll(/[^\x20-\x7e]/g, '?');
  state.ip = clientAddress(req, ctx.edge.trustedProxies);
  state.route = '(none)';
  state.credential = false;
  for (const [name, value] of headers) res.setHeader(name, value);
  res.setHeader('X-Request-Id', state.id);
  if (mayCarryCredential(ctx)) res.setHeader('Cache-Control', 'no-store');
}

/**
 * Returns a function that warns once if requests arrive through a proxy that is not configured as trusted. Then all
 * clients seem to have the address of the proxy, so failed logins of one client block all clients.
 */
function warnOfProxy(): (ctx: EdgeContext) => void {
  let isLogged = false;
  return ({ req, edge }) => {
    if (isLogged || edge.trustedProxies > 0 || req.headers['x-forwarded-for'] === undefined) return;
    isLogged = true;
    edge.logger.warn(
      { hint: 'Server.TrustedProxies' },
      'a request has X-Forwarded-For, but no proxy is trusted: behind a proxy all clients count as one address',
    );
  };
}

function describe(span: Span, { state, status, method }: EdgeContext): void {
  const { clientId, payWay, orderNo, refundNo } = currentWork();
  const verb = methods.has(method) ? method : 'other';
  span.updateName(`${verb} ${state.route}`).setAttributes({
    'http.request.method': verb,
    'http.route': state.route,
    'http.response.status_code': status,
    'pay.request_id': state.id,
    'pay.client_id': clientId,
    'pay.pay_way': payWay,
    'pay.order_no': orderNo,
    'pay.refund_no': refundNo,
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
}

function isRepeated(req: IncomingMessage, name: string): boolean {
  return req.headers[name] !== undefined && timesSent(req, name) > 1;
}

function mayCarryCredential({ path, req }: EdgeContext): boolean {
  if (path.startsWith('/api/') || path.startsWith('/oauth/')) return true;
  return req.headers.authorization !== undefined || req.headers.cookie !== undefined;
}

function finish(ctx: EdgeContext, seconds: number): void {
  const { clientRequestId, ip, route, caller, triedClient } = ctx.state;
  // Metrics use the route's pattern, because the path would create a time series for each id.
  const method = methods.has(ctx.method) ? ctx.method : 'other';
  ctx.edge.metrics?.requests.observe({ method, route, status: String(ctx.status) }, seconds);
  const who = caller === undefined ? undefined : caller.kind === 'app' ? caller.clientId : caller.username;
  const level = route.startsWith('/health') ? 'debug' : 'info';
  ctx.edge.logger[level](
    {
      clientRequestId,
      method: ctx.method,
      route,
      status: ctx.status,
      ms: Math.round(seconds * 1e5) / 100,
      ip,
      caller: who,
      ...(triedClient !== undefined && ctx.status >= 400 && { clientId: triedClient }),
    },
    'request',
  );
}

/** Lets pages of the given origins call `/api/v2` and `/oauth`, without cookies. */
export function cors(origins: readonly string[], exposed: readonly string[]): EdgeMiddleware {
  const allowed = new Set(origins);
  const expose = exposed.join(', ');
  return (ctx, next) => {
    if (!ctx.path.startsWith('/api/v2/') && !ctx.path.startsWith('/oauth/')) return next();
    ctx.vary('Origin');
    const origin = ctx.req.headers.origin;
    if (origin === undefined || !allowed.has(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    if (ctx.method !== 'OPTIONS' || !ctx.req.headers['access-control-request-method']) {
      ctx.set('Access-Control-Expose-Headers', expose);
      return next();
    }
    ctx.set('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, DELETE');
    ctx.set(
      'Access-Control-Allow-Headers',
      'Accept-Payment, Authorization, Content-Type, Idempotency-Key, Payment-Authorization, Payment-Proof, PAYMENT-SIGNATURE, X-Out-Trade-No, X-Request-Id, Access-Control-Expose-Headers',
    );
    ctx.set('Access-Control-Max-Age', '600');
    ctx.status = 204;
    return undefined;
  };
}

/** Cached entity tags of bodies that are sent many times. */
const known = new WeakMap<Buffer, string>();

/**
 * Sets an entity tag on cacheable responses, and sends 304 without a body if the client has the current version
 * (RFC 9110 §8.8.3, §13.1.2). Middleware that changes a body must be registered after this one, so that the tag matches
 * the sent body.
 */
export const validate: EdgeMiddleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  if (ctx.status !== 200 || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  const caching = ctx.res.getHeader('Cache-Control');
  if (caching === undefined || String(caching).includes('no-store')) return;
  const tag = typeof body === 'string' ? tagOf(body) : tagOfBuffer(body);
  ctx.set('ETag', tag);
  if ((ctx.method === 'GET' || ctx.method === 'HEAD') && matchesTag(ctx.get('If-None-Match'), tag)) ctx.status = 304;
};

/** Koa's `fresh` is not used: `fetch` adds `Cache-Control: no-cache`, and Koa would send the full response. */
function matchesTag(condition: string, tag: string): boolean {
  return condition.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

function tagOfBuffer(body: Buffer): string {
  const tag = known.get(body) ?? tagOf(body);
  known.set(body, tag);
  return tag;
}

/** The tag is computed from the sent bytes, so that each compressed form of a file has its own tag. */
function tagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/** Headers that every response of a staging service has, so that clients do not mistake it for production. */
export const STAGING_HEADERS: HeaderPairs = [['X-Pay-Environment', 'staging']];

/** The ribbon's stylesheet is a file, because pages allow no inline styles. */
export const STAGING_STYLE_PATH = '/staging.css';

export const STAGING_STYLE = `
#pay-environment { position: fixed; inset: 0 0 auto 0; z-index: 2147483647; box-sizing: border-box; height: 1.75rem; margin: 0; padding: 0 0.5rem; overflow: hidden; background: #f6c344; color: #241a00; font: 600 0.8125rem/1.75rem system-ui, sans-serif; text-align: center; text-overflow: ellipsis; white-space: nowrap; }
html { padding-top: 1.75rem; scroll-padding-top: 1.75rem; }
body { min-height: calc(100dvh - 1.75rem) !important; }
`;

const LINK = `<link rel="stylesheet" href="${STAGING_STYLE_PATH}">`;
const RIBBON = `<p id="pay-environment" role="note">Staging: no real money · <span lang="zh-CN">预发布环境，非真实交易</span></p>`;

export const stagingMark: EdgeMiddleware = async (ctx, next) => {
  await next();
  const { body } = ctx;
  if (!ctx.response.is('html') || !(typeof body === 'string' || Buffer.isBuffer(body))) return;
  ctx.body = withRibbon(String(body));
};

/** A fragment without head and body stays unchanged. */
function withRibbon(page: string): string {
  return page.replace(/<\/head>/i, `${LINK}$&`).replace(/<body\b[^>]*>/i, `$&${RIBBON}`);
}
