import { SignJWT, errors, jwtVerify } from 'jose';
import { createHmac, hash, hkdfSync, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { Unauthenticated } from '../errors.ts';

/** One kind of token: who makes it, for whom, and the key that only this kind uses. */
interface TokenKind {
  readonly typ: string;
  readonly issuer: string;
  readonly audience: string;
  readonly key: Uint8Array;
  readonly ttlSeconds: number;
  /** The form of an owner's id: the database could not look up another one. */
  readonly subject: RegExp;
}

/** The ids of tokens and applications: printable ASCII. */
export const PRINTABLE_NAME = /^[\x21-\x7e]{1,64}$/;

/** What a token of ours says about its owner; `generation` must equal the owner's, or the token is dead. */
interface TokenClaims {
  readonly subject: string;
  readonly generation: number;
  readonly scope?: string;
}

/** A token that was found genuine; whether it still counts is for the database to say. */
export interface GenuineToken extends TokenClaims {
  readonly jti: string;
  readonly expiresAt: Date;
}

/** Issues and checks tokens of one kind. */
export interface TokenMint {
  readonly ttlSeconds: number;
  issue(claims: TokenClaims): Promise<{ token: string; jti: string }>;
  /** Throws `Unauthenticated` unless the token is genuine, of this kind and not expired. */
  verify(token: string): Promise<GenuineToken>;
}

const hmac = { name: 'HMAC', hash: 'SHA-256' };
/** A genuine token is far shorter; longer ones are not worth a look. */
const maxLength = 4096;
/** Tokens whose signature need not be computed again: a merchant sends the same one for an hour. */
const MOST_KNOWN = 1_000;

/** Makes the mint of one kind: HS256, `typ`, `iss`, `aud`, `exp` and `jti` required (RFC 8725 §3.1, §3.11; RFC 9068 §4). */
export function createMint(
  { typ, issuer, audience, key, ttlSeconds, subject: owners }: TokenKind,
  now: () => Date,
): TokenMint {
  // Imported once: jose would do it again for each token.
  const imported = crypto.subtle.importKey('raw', new Uint8Array(key), hmac, false, ['sign', 'verify']);
  const issue = async ({ subject, generation, scope }: TokenClaims) => {
    const jti = randomUUID();
    const issuedAt = Math.floor(now().getTime() / 1000);
    const token = await new SignJWT({ gen: generation, ...(scope === undefined ? {} : { scope, client_id: subject }) })
      .setProtectedHeader({ alg: 'HS256', typ })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setJti(jti)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + ttlSeconds)
      .sign(await imported);
    return { token, jti };
  };
  // By a digest: how long a look takes says nothing about a token, and the memory holds none.
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

/** Makes the csrf value of a session: `random.HMAC(key, jti ‖ random)`. */
export function newCsrfToken(key: Uint8Array, jti: string): string {
  const random = randomBytes(16).toString('base64url');
  return `${random}.${encrypt(key, jti, random)}`;
}

/** Whether the value was made for this session. */
export function csrfMatches(key: Uint8Array, value: string, jti: string): boolean {
  const [random = '', mac = '', ...rest] = value.split('.');
  if (rest.length > 0) return false;
  const sent = Buffer.from(mac);
  const right = Buffer.from(encrypt(key, jti, random));
  return sent.length === right.length && timingSafeEqual(sent, right);
}

function encrypt(key: Uint8Array, jti: string, random: string): string {
  // The length of the jti keeps (jti, random) pairs apart.
  return createHmac('sha256', key).update(`${jti.length}:${jti}${random}`).digest('base64url');
}

/** Keys of 32 bytes, each for one purpose, so that nothing signed for one is ever valid for another. */
interface IdentityKeys {
  readonly adminTokens: Uint8Array;
  readonly accessTokens: Uint8Array;
  readonly csrf: Uint8Array;
  /** Names in counters: somebody may type a password where the name belongs. */
  readonly counters: Uint8Array;
}

/** Derives all keys from `JWT.SecretKey` (HKDF-SHA-256, RFC 5869); another secret gives other keys, so every token ends. */
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
