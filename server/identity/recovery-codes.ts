import { hash, randomBytes } from 'node:crypto';
import type { Tx } from '../db/store.ts';

/** How many an administrator gets at once. */
const HOW_MANY = 10;
/** Letters and digits that nobody takes for others (Crockford's base 32). */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 24;
const GROUP = /.{6}(?=.)/g;

/** A code to be written down: 120 random bits in four groups, so a plain hash of it is enough (ASVS 6.5.2). */
export function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte & 31]).join('');
  return letters.replaceAll(GROUP, '$&-');
}

/** The letters of a recovery code however it was typed; undefined when it has not the form of one. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return /^[0-9a-hjkmnp-tv-z]{24}$/.test(letters) ? letters : undefined;
}

/** Puts new codes in the place of all that an account has; they are shown now and never again. */
export async function replaceRecoveryCodes(tx: Tx, adminId: string, at: Date): Promise<string[]> {
  const codes = Array.from({ length: HOW_MANY }, newRecoveryCode);
  await tx.recoveryCodes.delete({ adminId });
  await tx.recoveryCodes.insertMany(
    codes.map((code) => ({ adminId, codeHash: hashOf(readRecoveryCode(code) ?? ''), createdAt: at, usedAt: null })),
  );
  return codes;
}

/** Uses a code up; says whether it was one of the account's that is left. Of two uses at once one counts. */
export async function takeRecoveryCode(tx: Tx, adminId: string, letters: string, at: Date): Promise<boolean> {
  return (await tx.recoveryCodes.update({ adminId, codeHash: hashOf(letters), usedAt: null }, { usedAt: at })) === 1;
}

function hashOf(letters: string): string {
  return hash('sha256', letters);
}
