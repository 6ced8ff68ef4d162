// Codes of a second factor: time-based codes of an authenticator (TOTP), and recovery codes.

import { hash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Place, Encryption } from '../db/encryption.ts';
import type { SecondFactorRow } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { Unavailable } from '../errors.ts';

const HOW_MANY = 10;
/** Letters and digits that are not easily confused (Crockford's base 32). */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 24;
const GROUP = /.{6}(?=.)/g;

/** Creates a recovery code with 120 random bits, too many to guess, so a fast hash is sufficient (ASVS 6.5.2). */
export function newRecoveryCode(): string {
  const letters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET[byte & 31]).join('');
  return letters.replaceAll(GROUP, '$&-');
}

/** Normalises a recovery code that a user typed. Returns undefined if it does not have the form of one. */
export function readRecoveryCode(typed: string): string | undefined {
  const letters = typed.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return /^[0-9a-hjkmnp-tv-z]{24}$/.test(letters) ? letters : undefined;
}

/** Replaces all recovery codes of an account and returns the new ones. Only their hashes are stored. */
export async function replaceRecoveryCodes(tx: Tx, adminId: string, at: Date): Promise<string[]> {
  const codes = Array.from({ length: HOW_MANY }, newRecoveryCode);
  await tx.recoveryCodes.delete({ adminId });
  await tx.recoveryCodes.insertMany(
    codes.map((code) => ({ adminId, codeHash: hashOf(readRecoveryCode(code) ?? ''), createdAt: at, usedAt: null })),
  );
  return codes;
}

/**
 * Marks a recovery code as used. Returns false if the account has no unused code with these letters. Of two concurrent
 * uses only one succeeds.
 */
async function takeRecoveryCode(tx: Tx, adminId: string, letters: string, at: Date): Promise<boolean> {
  return (await tx.recoveryCodes.update({ adminId, codeHash: hashOf(letters), usedAt: null }, { usedAt: at })) === 1;
}

function hashOf(letters: string): string {
  return hash('sha256', letters);
}

/** Creates a TOTP secret in base32 with 160 bits (RFC 4226 §4). */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/**
 * Returns the URI that an authenticator app reads from a QR code. The app shows `issuer` beside the account. Default
 * parameters (SHA1, six digits, thirty seconds) are omitted, so that the QR code fits on a terminal of 24 lines.
 */
export function totpUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const uri = new URL(totp(secret, { issuer, label: account }).toString());
  for (const known of ['algorithm', 'digits', 'period']) uri.searchParams.delete(known);
  return uri.href;
}

const STEP_MS = 30_000;

/**
 * Returns the 30-second time step to which a code belongs. The current and the previous step are accepted, because
 * typing and transmission take time (RFC 6238 §5.2). Returns undefined for any other code. The comparison takes
 * constant time.
 */
export function stepOfCode(secret: string, code: string, at: Date): bigint | undefined {
  const known = totp(secret);
  const isOf = [0, STEP_MS].map(
    (late) => known.validate({ token: code, timestamp: at.getTime() - late, window: 0 }) !== null,
  );
  const late = isOf.indexOf(true);
  return late < 0 ? undefined : BigInt(TOTP.counter({ timestamp: at.getTime() }) - late);
}

/** Creates the TOTP calculation with parameters that every authenticator app supports. */
function totp(secret: string, names: { issuer?: string; label?: string } = {}): TOTP {
  return new TOTP({ ...names, secret, algorithm: 'SHA1', digits: 6, period: 30 });
}

export type TakenCode = 'code' | 'recovery code';

/** The code is missing or wrong. This error rolls the transaction back, and the caller converts it to a response. */
export class CodeRefused extends Error {
  readonly why: 'missing' | 'wrong';

  constructor(why: 'missing' | 'wrong') {
    super(`The code is ${why}.`);
    this.name = 'CodeRefused';
    this.why = why;
  }
}

/** The secret of a second factor cannot be decrypted, because this replica has another master key (503). */
class SecondFactorUnreadable extends Unavailable {
  constructor(cause: unknown) {
    super('second_factor_unreadable', 'The second factor of the account cannot be decrypted.', {
      retryable: false,
      hint: 'Check that Security.MasterKey contains the same keys on every replica. Until then, log in with a recovery code, or remove the second factor with payctl admin reset-second-factor --offline.',
      cause,
    });
  }
}

/**
 * Uses a code of an account. The row of the second factor is locked, so that no replica accepts the same or an older
 * code again. Returns undefined without a second factor, throws CodeRefused if the code is missing or wrong.
 */
export async function takeCode(
  tx: Tx,
  encryption: Pick<Encryption, 'open'>,
  { adminId, code, at }: { adminId: string; code: string | undefined; at: Date },
): Promise<TakenCode | undefined> {
  const factor = await tx.secondFactors.lock({ adminId });
  if (!factor?.encrypted) return undefined;
  if (code === undefined) throw new CodeRefused('missing');
  const letters = readRecoveryCode(code);
  if (letters !== undefined) {
    if (await takeRecoveryCode(tx, adminId, letters, at)) return 'recovery code';
    throw new CodeRefused('wrong');
  }
  const step = stepOfCode(openSecret(encryption, factor, 'encrypted'), withoutBlanks(code), at);
  if (step === undefined || step <= (factor.lastStep ?? -1n)) throw new CodeRefused('wrong');
  await tx.secondFactors.update({ adminId }, { lastStep: step });
  return 'code';
}

/** Removes the spaces from a code, because authenticator apps show the digits in groups. */
export function withoutBlanks(code: string): string {
  return code.replaceAll(' ', '');
}

/** Returns where a TOTP secret is stored (its place). The encrypted secret cannot be decrypted at another place. */
export function placeOfSecret(adminId: string, column: 'encrypted' | 'pending_encrypted'): Place {
  return { table: 'second_factors', id: adminId, column, version: 1 };
}

/** Decrypts the TOTP secret of an account. Throws SecondFactorUnreadable. */
export function openSecret(
  encryption: Pick<Encryption, 'open'>,
  { adminId, encrypted, pendingEncrypted }: SecondFactorRow,
  column: 'encrypted' | 'pending_encrypted',
): string {
  try {
    return encryption.open(
      placeOfSecret(adminId, column),
      (column === 'encrypted' ? encrypted : pendingEncrypted) ?? '',
    );
  } catch (cause) {
    throw new SecondFactorUnreadable(cause);
  }
}
