// Cookies of the console session, and the CSRF check of requests that carry them.
import { timingSafeEqual } from 'node:crypto';
import { Forbidden } from '../errors.ts';
import type { EdgeContext } from './edge.ts';

/** The cookie of a console session; over https it is also set with `HOST_PREFIX`. */
export const SESSION_COOKIE = 'auth_token';
/** Scripts of the pages can read this cookie. Over https it is also set with `HOST_PREFIX`. */
export const CSRF_COOKIE = 'csrf_token';
/** Browsers accept a cookie with this prefix only from this host over https. */
export const HOST_PREFIX = '__Host-';

/**
 * All values of a cookie, in the header's sequence. If there are several, another host of the domain has set a cookie
 * of the same name.
 */
export function readCookies(header: string | undefined, name: string): string[] {
  if (!header?.includes(name)) return [];
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1).replace(/^"(.*)"$/, '$1'));
}

/** All session cookies of a request, with and without the prefix. */
export function sentSessions(header: string | undefined): string[] {
  return [...readCookies(header, HOST_PREFIX + SESSION_COOKIE), ...readCookies(header, SESSION_COOKIE)];
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a method only reads (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return safeMethods.has(method);
}

/**
 * Throws 403 unless `X-CSRF-Token` equals the CSRF cookie, was made for this session, and was sent by a page of this
 * service.
 */
export async function checkCsrf(ctx: EdgeContext, jti: string): Promise<void> {
  if (isSafe(ctx.method)) return;
  checkSameSite(ctx);
  const values = csrfCookies(ctx);
  const sent = ctx.get('x-csrf-token');
  if (values.length !== 1 || !sent || !sameText(values[0] ?? '', sent)) throw refused();
  if (!(await ctx.edge.authenticators.csrfMatches(sent, jti))) throw refused();
}

/** Over https the `__Host-` cookie is used if it was sent, because no other host of the domain can set it. */
function csrfCookies({ req: { headers }, edge: { secure } }: EdgeContext): string[] {
  const own = secure ? readCookies(headers.cookie, HOST_PREFIX + CSRF_COOKIE) : [];
  return own.length > 0 ? own : readCookies(headers.cookie, CSRF_COOKIE);
}

/**
 * Throws 403 if the header `Sec-Fetch-Site`, or else `Origin`, shows that the request comes from another site. Clients
 * other than browsers send neither header and are accepted.
 */
export function checkSameSite(ctx: EdgeContext): void {
  const site = ctx.get('sec-fetch-site');
  if (site) {
    if (site !== 'same-origin' && site !== 'none') throw refused();
    return;
  }
  const origin = ctx.get('origin');
  if (origin && origin !== ctx.edge.publicOrigin) throw refused();
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

function refused(): Forbidden {
  return new Forbidden('csrf_failed', 'The CSRF check failed.', {
    hint: 'Send the value of the cookie csrf_token (with https: __Host-csrf_token) in the header X-CSRF-Token, from a page of this service.',
  });
}
