import { Forbidden, TooManyRequests, Unauthenticated } from '../errors.ts';
import { refuseBadCredential } from './bad-credential.ts';
import type { AppCaller } from './callers.ts';
import type { EdgeContext } from './edge.ts';
import { setRateLimitHeaders } from './rate-limit.ts';

/** Which application calls, by `Authorization: Bearer` and nothing else (RFC 6750 §2.1); counts its own limit. */
export async function authenticateApp(ctx: EdgeContext): Promise<AppCaller> {
  const header = ctx.req.headers.authorization;
  if (header === undefined) throw new Unauthenticated();
  ctx.state.credential = true;
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const app = await ctx.edge.authenticators
    .app(token, ctx.state.ip)
    .catch((error: unknown) => refuseBadCredential(ctx, error));
  await countRequest(ctx, app);
  return app;
}

/** Throws 403 `insufficient_scope` (RFC 6750 §3.1) unless the app has the scope or `admin`. */
export function requireScope(app: AppCaller, scope: string): void {
  if (app.scopes.has(scope) || app.scopes.has('admin')) return;
  throw new Forbidden('insufficient_scope', `The scope ${scope} is required.`, {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

async function countRequest(ctx: EdgeContext, app: AppCaller): Promise<void> {
  const limit = app.rateLimit ?? ctx.edge.perAppLimit;
  if (limit <= 0) return;
  const quota = await ctx.edge.rateLimits.consume(`app:${app.clientId}`, limit, 60);
  setRateLimitHeaders(ctx, quota, 60);
  if (!quota.allowed) throw new TooManyRequests('Rate limit exceeded.', quota.resetSeconds);
}
