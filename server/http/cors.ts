import type { EdgeMiddleware } from './edge.ts';

/**
 * Opens `/api/v2` and `/oauth` to pages of the given origins, without credentials (cookies are never allowed).
 * `exposed` are answer headers that such a page may read.
 */
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
