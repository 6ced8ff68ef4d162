import { errors, jwtVerify } from 'jose';
import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { Unauthenticated } from '../errors.ts';

/** Each kind of token has its own issuer, audience and signing key. */
interface TokenKind {
  readonly typ: string;
  readonly issuer: string;
  readonly audience: string;
  readonly key: Uint8Array;
  readonly ttlSeconds: number;
  /** The form of owner ids. Tokens with other owner ids are rejected, because the database could not look them up. */
  readonly subject: RegExp;
}

/** The form of token ids and client ids: printable ASCII. */
export const PRINTABLE_NAME = /^[\x21-\x7e]{1,64}$/;

/** If the `generation` stored with the owner is no longer the same as in the token, the token is invalid. */
interface TokenClaims {
  readonly subject: string;
  readonly generation: number;
  readonly scope?: string;
}

/** A token with a valid signature and form. Whether it was revoked is checked in the database. */
export interface GenuineToken extends TokenClaims {
  readonly jti: string;
  readonly expiresAt: Date;
}

export interface TokenMint {
  readonly ttlSeconds: number;
  issue(claims: TokenClaims): Promise<{ token: string; jti: string }>;
  /** Verifies a token. Throws `Unauthenticated` if the token is not genuine, is of another kind, or has expired. */
  verify(token: string): Promise<GenuineToken>;
}

const hmac = { name: 'HMAC', hash: 'SHA-256' };
/** Maximum length of a token. Valid tokens are far shorter, and longer ones are rejected without verification. */
const maxLength = 4096;
/** Size of the cache that saves verifying a signature again. A merchant sends the same token for an hour. */
const MOST_KNOWN = 1_000;

/**
 * Creates the functions that issue and verify one kind of token. Tokens are signed with HS256, and `typ`, `iss`, `aud`,
 * `exp` and `jti` are required (RFC 8725 §3.1, §3.11; RFC 9068 §4).
 */
export function createMint(
  { typ, issuer, audience, key, ttlSeconds, subject: owners }: TokenKind,
  now: () => Date,
): TokenMint {
  // jose signs with WebCrypto, which sends every HMAC to another thread. So tokens are only verified with jose, most of
  // them once. The key is imported once; otherwise jose would import it again for each token.
  const imported = crypto.subtle.importKey('raw', new Uint8Array(key), hmac, false, ['sign', 'verify']);
  // node:crypto takes five times as long with bytes, from which it makes a key for each token.
  const signing = createSecretKey(key);
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', typ })).toString('base64url');
  const issue = async ({ subject, generation, scope }: TokenClaims) => {
    const jti = randomUUID();
    const issuedAt = Math.floor(now().getTime() / 1000);
    const claims = {
      gen: generation,
      ...(scope === undefined ? {} : { scope, client_id: subject }),
      iss: issuer,
      aud: audience,
      sub: subject,
      jti,
      iat: issuedAt,
      exp: issuedAt + ttlSeconds,
    };
    const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
    const token = `${signed}.${createHmac('sha256', signing).update(signed).digest('base64url')}`;
    return { token, jti };
  };
  // The key of this map is the token's digest and not the token. So the duration of a look-up reveals nothing about a
  // token. Also, no token is kept in memory.
  const known = new Map<string, GenuineToken>();
  const verify = async (token: string): Promise<GenuineToken> => {
    if (token === '' || token.length > maxLength) throw new Unauthenticated();
    const digest = hash('sha256', token);
    const before = known.get(digest);
    if (before && before.expiresAt > now()) return before;
    known.delete(digest);
    const genuine = await verifyAnew(token);
    const [oldest] = known.size < MOST_KNOWN ? [] : known.keys();
    if (oldest !== undefined) known.delete(oldest);
    known.set(digest, genuine);
    return genuine;
  };
  const verifyAnew = async (token: string): Promise<GenuineToken> => {
    const { payload } = await jwtVerify(token, await imported, {
      algorithms: ['HS256'],
      typ,
      issuer,
      audience,
      requiredClaims: ['exp', 'jti', 'sub', 'gen'],
      currentDate: now(),
    }).catch(refuse);
    return readClaims(payload, owners);
  };
  return { ttlSeconds, issue, verify };
}

function readClaims({ sub, jti, exp, gen, scope }: Record<string, unknown>, owners: RegExp): GenuineToken {
  if (typeof sub !== 'string' || typeof jti !== 'string' || typeof exp !== 'number' || typeof gen !== 'number') {
    throw new Unauthenticated();
  }
  if (!owners.test(sub) || !PRINTABLE_NAME.test(jti)) throw new Unauthenticated();
  return {
    subject: sub,
    jti,
    generation: gen,
    expiresAt: new Date(exp * 1000),
    scope: typeof scope === 'string' ? scope : undefined,
  };
}

function refuse(error: unknown): never {
  if (error instanceof errors.JOSEError || error instanceof TypeError) throw new Unauthenticated();
  throw error;
}

/** Creates a CSRF token: a random text, a dot, and the HMAC of the session's token id (`jti`) and the random text. */
export function newCsrfToken(key: Uint8Array, jti: string): string {
  const random = randomBytes(16).toString('base64url');
  return `${random}.${macOf(key, jti, random)}`;
}

/** Whether a CSRF token belongs to this session. */
export function csrfMatches(key: Uint8Array, value: string, jti: string): boolean {
  const [random = '', mac = '', ...rest] = value.split('.');
  if (rest.length > 0) return false;
  const sent = Buffer.from(mac);
  const right = Buffer.from(macOf(key, jti, random));
  return sent.length === right.length && timingSafeEqual(sent, right);
}

function macOf(key: Uint8Array, jti: string, random: string): string {
  // The length of the token id (`jti`) is included. Without it, another pair of token id and random text could give the
  // same input of the HMAC.
  return createHmac('sha256', key).update(`${jti.length}:${jti}${random}`).digest('base64url');
}

/** Keys of 32 bytes. Each has one purpose, so that a signature for one purpose is never valid for another. */
interface IdentityKeys {
  readonly adminTokens: Uint8Array;
  readonly accessTokens: Uint8Array;
  readonly csrf: Uint8Array;
  /** Hashes user names in the names of counters, because a user may type a password in the name field. */
  readonly counters: Uint8Array;
}

/** Derives all keys (HKDF-SHA-256, RFC 5869). After a change of `JWT.SecretKey` every token is invalid. */
export function deriveKeys(secretKey: string): IdentityKeys {
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', secretKey, 'unified-payment-service', purpose, 32));
  return {
    adminTokens: derive('administrator-jwt'),
    accessTokens: derive('oauth-access-token'),
    csrf: derive('csrf'),
    counters: derive('counters'),
  };
}
