import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Makes the csrf value of a session: `random.HMAC(key, jti ‖ random)`. */
export function newCsrfToken(key: Uint8Array, jti: string): string {
  const random = randomBytes(16).toString('base64url');
  return `${random}.${seal(key, jti, random)}`;
}

/** Whether the value was made for this session. */
export function csrfMatches(key: Uint8Array, value: string, jti: string): boolean {
  const [random = '', mac = '', ...rest] = value.split('.');
  if (rest.length > 0) return false;
  const sent = Buffer.from(mac);
  const right = Buffer.from(seal(key, jti, random));
  return sent.length === right.length && timingSafeEqual(sent, right);
}

function seal(key: Uint8Array, jti: string, random: string): string {
  // The length of the jti keeps (jti, random) pairs apart.
  return createHmac('sha256', key).update(`${jti.length}:${jti}${random}`).digest('base64url');
}
