// Verifies tokens of applications and sessions of administrators, applies the rate limits of applications, and counts
// failed attempts.
import type { IncomingHttpHeaders } from 'node:http';
import { addressBlock, addressNetwork, isWithin } from '../addresses.ts';
import { AppError, Forbidden, TooManyRequests, Unauthenticated } from '../errors.ts';
import type { AdminCaller, AdminCredential, AppCaller, AppNeeds, Auth, Confirmed, Role } from './contract.ts';
import { HOST_PREFIX, SESSION_COOKIE, checkCsrf, isSafe, readCookies } from './cookies.ts';
import { type EdgeContext, setRateLimitHeaders } from './edge.ts';
import { requireAllProjects } from './project-scope.ts';

/** Authenticates the caller and checks the authorization that the contract requires. Throws 401, 403 or 429. */
export async function authenticate(
  ctx: EdgeContext,
  auth: Auth,
  needs?: AppNeeds,
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
    requireAllProjects(admin, auth.projectScope);
    if (auth.confirmed) requireConfirmed(admin, auth.confirmed);
    return admin;
  }
  const app = await authenticateApp(ctx, needs);
  if (auth !== 'any-token') requireScope(app, auth.scope);
  return app;
}

/** A caller without a token gets 401 for every path below `/api`, so it cannot find out which paths exist. */
export async function authenticateUnknown(ctx: EdgeContext): Promise<void> {
  if (ctx.path.startsWith('/api/v1/')) await authenticate(ctx, { admin: 'viewer', projectScope: 'own' });
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

/** Accepts `Authorization: Bearer` only (RFC 6750 §2.1) and counts the request for the rate limit. */
async function authenticateApp(ctx: EdgeContext, needs?: AppNeeds): Promise<AppCaller> {
  const header = ctx.req.headers.authorization;
  if (header === undefined) throw new Unauthenticated();
  ctx.state.credential = true;
  const token = /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '';
  const app = await ctx.edge.authenticators
    .app(token, ctx.state.ip, needs)
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

/**
 * Uses the JWT of `Authorization: Bearer`, or of the cookie if the header is absent. A wrong header is rejected even if
 * the cookie is valid. With the cookie, methods that change data also need the CSRF token.
 */
async function authenticateAdmin(ctx: EdgeContext): Promise<AdminCaller> {
  const credential = readAdminCredential(ctx.req.headers, ctx.edge.secure, isSafe(ctx.method));
  if (!credential) throw new Unauthenticated();
  ctx.state.credential = true;
  const admin = await (
    credential.token === ''
      ? Promise.reject(new Unauthenticated())
      : ctx.edge.authenticators.admin(credential, ctx.state.ip)
  ).catch((error: unknown) => refuseBadCredential(ctx, error));
  if (credential.via === 'cookie') await checkCsrf(ctx, admin.jti);
  return admin;
}

function requireEnrolled({ secondFactor }: AdminCaller): void {
  if (secondFactor !== 'missing') return;
  throw new Forbidden('second_factor_enrolment_required', 'Your account needs a second factor and has none yet.', {
    hint: 'Enrol a second factor with payctl second-factor enable, or with POST /api/v1/me/second-factor/start.',
  });
}

const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

function requireRole({ role }: AdminCaller, needed: Role): void {
  if (RANK[role] >= RANK[needed]) return;
  throw new Forbidden('role_insufficient', `Your role is ${role}, but this operation needs the role ${needed}.`);
}

/** Throws 403 unless the session was confirmed within the last five minutes, by the rule `wanted` of `Confirmed`. */
export function requireConfirmed({ confirmed, secondFactor }: AdminCaller, wanted: keyof Confirmed): void {
  if (confirmed[wanted]) return;
  const [what, sent] =
    secondFactor === 'used'
      ? ['The password and a code of the second factor must be confirmed', 'password and code']
      : ['The password must be confirmed', 'the password'];
  throw new Forbidden('password_confirmation_required', `${what} for this operation.`, {
    hint: `Send ${sent} to POST /api/v1/me/confirm, or log in again, and repeat the request in the new session within five minutes.`,
  });
}

/**
 * Records in the audit log that a confirmation was missing. If the database fails, the caller still gets status 403.
 */
export async function noteUnconfirmed(ctx: EdgeContext, error: unknown): Promise<void> {
  const { caller, id, ip, route } = ctx.state;
  if (!(error instanceof AppError) || error.code !== 'password_confirmation_required') return;
  if (caller?.kind !== 'admin') return;
  const refused = { operation: `${ctx.method} ${route}`, ip, requestId: id };
  await ctx.edge.authenticators.noteUnconfirmed(caller, refused).catch((cause: unknown) => {
    ctx.edge.logger.warn({ err: cause }, 'refused confirmation not recorded');
  });
}

/** The administrator's token: from the header, or from the cookie if the header is absent. */
export function readAdminCredential(
  headers: IncomingHttpHeaders,
  secure: boolean,
  safe: boolean,
): AdminCredential | undefined {
  const { authorization } = headers;
  if (authorization !== undefined)
    return { token: /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '', via: 'bearer', safe };
  const tokens = sessionCookies(headers, secure);
  if (tokens.length > 1) throw new Forbidden('csrf_failed', 'The session cookie was sent more than once.');
  return tokens[0] ? { token: tokens[0], via: 'cookie', safe } : undefined;
}

/**
 * Returns the session cookies of a request that may be used. Over https, a browser must send the cookie with the prefix
 * `__Host-`, because another host of the same domain can set a cookie without the prefix. A client that sends no
 * `Sec-Fetch-Site` header counts as a program, not as a browser; its cookie may have no prefix.
 */
function sessionCookies({ cookie, 'sec-fetch-site': site }: IncomingHttpHeaders, secure: boolean): string[] {
  const own = secure ? readCookies(cookie, HOST_PREFIX + SESSION_COOKIE) : [];
  return own.length > 0 || (secure && site !== undefined) ? own : readCookies(cookie, SESSION_COOKIE);
}

/** The limit of failed attempts per network is this many times the limit per address. */
const NETWORK_TIMES = 10;

/**
 * Counts an invalid token or session for the IP address and its network; above the limit, throws 429 instead. Valid
 * tokens are not counted, so failures of other callers at the same address do not block them.
 */
async function refuseBadCredential(ctx: EdgeContext, error: unknown): Promise<never> {
  const limit = ctx.edge.badCredentialsPerMinute;
  if (error instanceof Unauthenticated && limit > 0) {
    const { ip } = ctx.state;
    const quotas = await Promise.all([
      ctx.edge.rateLimits.consume(`bad-credential:${addressBlock(ip)}`, limit, 60),
      ctx.edge.rateLimits.consume(`bad-credential-network:${addressNetwork(ip)}`, NETWORK_TIMES * limit, 60),
    ]);
    const quota = quotas.find(({ allowed }) => !allowed);
    if (!quota) throw error;
    setRateLimitHeaders(ctx, quota, 60);
    throw new TooManyRequests('Too many failed authentication attempts from this IP address.', quota.resetSeconds);
  }
  throw error;
}
