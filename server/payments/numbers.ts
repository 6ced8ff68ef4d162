import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A number that is valid at all three channels: letter, yyyyMMddHHmmss (UTC), 10 random base32 characters. */
export function newNumber(letter: 'P' | 'R' | 'X', at: Date): string {
  const stamp = at.toISOString().replace(/\D/g, '').slice(0, 14);
  let random = '';
  for (const byte of randomBytes(10)) random += ALPHABET[byte & 31];
  return letter + stamp + random;
}
