/** The cookie of a console session, which has a second name where the service is reached by https. */
export const SESSION_COOKIE = 'auth_token';
/** The csrf value of the session, which pages read; it has the second name as well. */
export const CSRF_COOKIE = 'csrf_token';
/** Of a cookie with a name that begins so, browsers know that this very host has set it, over https. */
export const HOST_PREFIX = '__Host-';

/** All values that a Cookie header gives a name, in order; more than one means that somebody planted a cookie. */
export function readCookies(header: string | undefined, name: string): string[] {
  if (!header?.includes(name)) return [];
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1).replace(/^"(.*)"$/, '$1'));
}

/** Every session that a browser sent, whichever name it has. */
export function sentSessions(header: string | undefined): string[] {
  return [...readCookies(header, HOST_PREFIX + SESSION_COOKIE), ...readCookies(header, SESSION_COOKIE)];
}
