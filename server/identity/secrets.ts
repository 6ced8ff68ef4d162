import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A client secret: `pays_` and 32 random bytes; shown once, never stored. */
export function newClientSecret(): string {
  return `pays_${randomBytes(32).toString('base64url')}`;
}

/** A client id: `app_` and 20 random letters and digits. */
export function newClientId(): string {
  const alphabet = '0123456789abcdefghijklmnopqrstuv';
  return `app_${Array.from(randomBytes(20), (byte) => alphabet[byte & 31]).join('')}`;
}

/** What is stored of a client secret; 256 random bits need no slow hash (ASVS 6.5.2). */
export function hashSecret(secret: string): string {
  return hash('sha256', secret);
}

/** What may be shown of a secret later: its prefix and its last four characters. */
export function secretHint(secret: string): string {
  return `${secret.slice(0, 5)}…${secret.slice(-4)}`;
}

/** Whether a secret has this hash, in constant time. */
export function secretMatches(secret: string, hash: string): boolean {
  const sent = Buffer.from(hashSecret(secret));
  const right = Buffer.from(hash);
  return sent.length === right.length && timingSafeEqual(sent, right);
}
