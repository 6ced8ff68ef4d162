import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { clientAddress } from '../addresses.ts';
import { inSpan } from '../tracing.ts';
import { beginWork, currentWork } from '../work.ts';
import { timesSent } from './before-koa.ts';
import type { EdgeContext, EdgeMiddleware } from './edge.ts';
import { refusalAnswer } from './refusal-answer.ts';
import type { HeaderPairs } from './security-headers.ts';

/** How much is kept of the id that a client has for its request. */
const LONGEST_CLIENT_ID = 128;
/** Methods that are counted by name. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);

/**
 * The outermost step: gives each request an id and an address, each answer its security headers, and says in the log
 * and in the metrics how it ended. Bodies, queries and headers are never logged.
 */
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
      // Balancers ask all the time.
      ctx.path.startsWith('/health') ? serve() : inSpan('request', { kind: 'server', headers: ctx.req.headers }, serve),
    );
  };
}

/** How old a list, an export or a figure may be that was read at a replica (seconds). */
export const REPLICA_LAG = 'Replica-Lag';

/** The step behind it: whatever is thrown further in is answered. */
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
  // Node keeps the first of several; whoever stands in front may have looked at another one, so none of them counts.
  if (isRepeated(req, 'authorization')) req.headers.authorization = '';
  // Ours alone leads to one request: a client's may come twice, or on purpose be another's. It stands beside it in the log.
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

/** Behind a proxy that is not trusted everybody has one address, so that the bad credentials of one lock everybody out. It is said once. */
function warnOfProxy(): (ctx: EdgeContext) => void {
  let isSaid = false;
  return ({ req, edge }) => {
    if (isSaid || edge.trustedProxies > 0 || req.headers['x-forwarded-for'] === undefined) return;
    isSaid = true;
    edge.logger.warn(
      { hint: 'Server.TrustedProxies' },
      'a request came with X-Forwarded-For, and no proxy is trusted: behind a proxy everybody counts as one address',
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
  // By the route's pattern, never by the path.
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
