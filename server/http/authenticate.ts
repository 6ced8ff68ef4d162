import { Forbidden, TooManyRequests, Unauthenticated } from '../errors.ts';
import { authenticateAdmin, requireConfirmed, requireEnrolled, requireRole } from './admin-auth.ts';
import { refuseBadCredential } from './bad-credential.ts';
import type { AdminCaller, AppCaller } from './callers.ts';
import { isWithin } from '../addresses.ts';
import type { Auth } from './contract.ts';
import type { AskedKey } from '../payments/idempotency.ts';
import type { EdgeContext } from './edge.ts';
import { requireAllProjects } from './within-reach.ts';
import { setRateLimitHeaders } from './rate-limit.ts';

/** Finds out who calls and whether the contract lets them; throws 401, 403 or 429. */
export async function authenticate(
  ctx: EdgeContext,
  auth: Auth,
  asked?: AskedKey,
): Promise<AdminCaller | AppCaller | undefined> {
  if (auth === 'none') {
    requireAdminNetwork(ctx);
    return undefined;
  }
  if (auth !== 'any-token' && 'admin' in auth) {
    const admin = await authenticateAdmin(ctx);
    ctx.state.caller = admin;
    requireAdminNetwork(ctx);
    if (!auth.enrolling) requireEnrolled(admin);
    requireRole(admin, auth.admin);
    requireAllProjects(admin, auth.reach);
    if (auth.confirmed) requireConfirmed(admin, auth.confirmed);
    return admin;
  }
  const app = await authenticateApp(ctx, asked);
  if (auth !== 'any-token') requireScope(app, auth.scope);
  return app;
}

/** Checks the credential that a path below `/api` asks for when no route matched, so that the tree cannot be probed. */
export async function authenticateUnknown(ctx: EdgeContext): Promise<void> {
  if (ctx.path.startsWith('/api/v1/')) await authenticate(ctx, { admin: 'viewer', reach: 'own' });
  else if (ctx.path.startsWith('/api/v2/')) await authenticate(ctx, 'any-token');
  else if (ctx.path === '/api' || ctx.path.startsWith('/api/')) {
    if (!ctx.get('authorization') && !ctx.get('cookie')) throw new Unauthenticated();
    await authenticateAdmin(ctx).catch(() => authenticateApp(ctx));
  }
}

function requireAdminNetwork(ctx: EdgeContext): void {
  const { adminNetworks } = ctx.edge;
  if (!ctx.path.startsWith('/api/v1/') || isWithin(adminNetworks, ctx.state.ip)) return;
  throw new Forbidden('ip_not_allowed', 'Your IP address is not allowed to use the console.');
}

/** Which application calls, by `Authorization: Bearer` and nothing else (RFC 6750 §2.1); counts its own limit. */
export async function authenticateApp(ctx: EdgeContext, asked?: AskedKey): Promise<AppCaller> {
  const header = ctx.req.headers.authorization;
  if (header === undefined) throw new Unauthenticated();
  ctx.state.credential = true;
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const app = await ctx.edge.authenticators
    .app(token, ctx.state.ip, asked)
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
