import type { IncomingHttpHeaders } from 'node:http';
import { AppError, Forbidden, Unauthenticated } from '../errors.ts';
import type { AdminCaller, AdminCredential, Confirmed, Role } from './callers.ts';
import type { EdgeContext } from './edge.ts';
import { refuseBadCredential } from './bad-credential.ts';
import { checkCsrf, isSafe } from './csrf.ts';
import { HOST_PREFIX, readCookies, SESSION_COOKIE } from './cookies.ts';

/**
 * Who the administrator is: the JWT of `Authorization: Bearer`, or of the cookie only when there is no such header.
 * A bad header is never rescued by a good cookie. With the cookie, unsafe methods need the csrf value.
 */
export async function authenticateAdmin(ctx: EdgeContext): Promise<AdminCaller> {
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

/** Throws 403 when everybody must have a second factor and this administrator has none yet. */
export function requireEnrolled({ secondFactor }: AdminCaller): void {
  if (secondFactor !== 'missing') return;
  throw new Forbidden('second_factor_enrolment_required', 'Every administrator must have a second factor here.', {
    hint: 'Enrol one: payctl second-factor enable, or POST /api/v1/me/second-factor/start.',
  });
}

const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

/** Throws 403 unless the administrator has at least this role. */
export function requireRole({ role }: AdminCaller, needed: Role): void {
  if (RANK[role] >= RANK[needed]) return;
  throw new Forbidden('role_insufficient', `Your role is ${role}; this needs the role ${needed}.`);
}

/** Throws 403 unless the session was given password and second factor within the last minutes. */
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

/** Has it noted when an error says that a session lacks a confirmation; without a database the refusal still stands. */
export async function noteUnconfirmed(ctx: EdgeContext, error: unknown): Promise<void> {
  const { caller, id, ip, route } = ctx.state;
  if (!(error instanceof AppError) || error.code !== 'password_confirmation_required') return;
  if (caller?.kind !== 'admin') return;
  const refused = { operation: `${ctx.method} ${route}`, ip, requestId: id };
  await ctx.edge.authenticators.noteUnconfirmed(caller, refused).catch((cause: unknown) => {
    ctx.edge.logger.warn({ err: cause }, 'refused confirmation not recorded');
  });
}

/** The administrator credential of a request: the header, or the cookie when there is no header; undefined without either. */
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
 * A page of another host of the domain can plant `auth_token`, but not a cookie whose name begins with `__Host-`. So over
 * https that one counts; the plain name counts for programs, which say nothing of the page that a request comes from.
 */
function sessionCookies({ cookie, 'sec-fetch-site': site }: IncomingHttpHeaders, secure: boolean): string[] {
  const own = secure ? readCookies(cookie, HOST_PREFIX + SESSION_COOKIE) : [];
  return own.length > 0 || (secure && site !== undefined) ? own : readCookies(cookie, SESSION_COOKIE);
}
