import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from 'zod';

/** An address to listen on. With port 0 the operating system chooses the port. */
export interface Listen {
  host: string;
  port: number;
}

/** A key that encrypts channel secrets: 32 bytes, identified by the first 8 hex digits of their SHA-256. */
export interface MasterKey {
  id: string;
  key: Buffer;
}

function readBy<Out>(read: (text: string) => Out | undefined): z.ZodType<Out> {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.issues.push({ code: 'custom', message: 'not accepted', input: undefined });
    return z.NEVER;
  });
}

/** Parses `host:port`. An IPv6 host must be in brackets. */
export const listen = readBy((text): Listen | undefined => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  if (!match || Number(match[3]) > 65535) return undefined;
  if (match[1] !== undefined && isIP(match[1]) !== 6) return undefined;
  return { host: match[1] ?? match[2] ?? '', port: Number(match[3]) };
});

/** Parses an http or https address without a path, and returns its origin without a slash at the end. */
export const origin = readBy((text) => {
  const url = httpUrl(text);
  return url && url.pathname === '/' && !/[?#]/.test(text) ? url.origin : undefined;
});

/** Parses an http or https URL. Refuses a query, a fragment, a user name and a password. The text stays unchanged. */
export const address = readBy((text) => (httpUrl(text) && !/[?#]/.test(text) ? text : undefined));

function httpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' ? url : undefined;
}

/** Parses an IP address range. An address without a prefix length means exactly that address. */
export const network = readBy((text) => {
  const [host = '', prefix, ...rest] = text.split('/');
  const version = isIP(host);
  if (version === 0 || host.includes('%') || rest.length > 0) return undefined;
  const bits = version === 4 ? 32 : 128;
  if (prefix === undefined) return `${host}/${bits}`;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits ? `${host}/${Number(prefix)}` : undefined;
});

/** How the parts of a database URL are written, for error messages, which never quote the URL. */
export const PERCENT_ENCODING =
  'characters such as @, / and # in user and password must be percent-encoded (%40, %2F, %23)';

/** Whether a part of the password may be read as the host: before its query the URL has another @ than that of the host. */
function isAmbiguous(text: string): boolean {
  const fromHost = text.replace(/^[^/]*:\/\/[^/?#@]*@?/, '');
  return fromHost.replace(/^([^/?#@]*\/[^?#@]+)\?\w+=.*$/s, '$1').includes('@');
}

/** Accepts `pglite://<folder>` or `postgres://…/<database>`. The text stays unchanged, because the driver parses it. */
export const databaseUrl = readBy((text) => {
  if (text.includes('\0')) return undefined;
  if (text.startsWith('pglite://')) return text.length > 'pglite://'.length ? text : undefined;
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text) || isAmbiguous(text)) return undefined;
  const url = new URL(text);
  return (url.hostname !== '' || url.searchParams.has('host')) && url.pathname.length > 1 ? text : undefined;
});

/** Accepts only the URL of a PostgreSQL server, because the embedded database has no read replicas. */
export const replicaUrl = databaseUrl.refine((url) => !url.startsWith('pglite://'));

/** Parses the base64 text of exactly 32 bytes, as `openssl rand -base64 32` prints it. */
export const masterKey = readBy((text) => {
  const key = Buffer.from(text, 'base64');
  return key.length === 32 && key.toString('base64') === text ? toMasterKey(key) : undefined;
});

/** Creates a master key. Its id is derived from its bytes, so that an encrypted record can name its key. */
export function toMasterKey(key: Buffer): MasterKey {
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
}
