// Codes of a second factor: of an authenticator (TOTP), and for recovery.

import { hash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Place, Encryption } from '../db/encryption.ts';
import type { SecondFactorRow } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { Unavailable } from '../errors.ts';

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
async function takeRecoveryCode(tx: Tx, adminId: string, letters: string, at: Date): Promise<boolean> {
  return (await tx.recoveryCodes.update({ adminId, codeHash: hashOf(letters), usedAt: null }, { usedAt: at })) === 1;
}

function hashOf(letters: string): string {
  return hash('sha256', letters);
}

/** A secret for one-time codes, in base32, as authenticators take it (RFC 4226 §4: 160 bits). */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/**
 * The address by which an authenticator takes a secret in, drawn as a QR code; `issuer` is what it shows beside the account. What every
 * authenticator takes for granted (SHA1, six digits, thirty seconds) is left out, so that the code fits a terminal of 24 rows.
 */
export function totpUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const uri = new URL(totp(secret, { issuer, label: account }).toString());
  for (const known of ['algorithm', 'digits', 'period']) uri.searchParams.delete(known);
  return uri.href;
}

const STEP_MS = 30_000;

/**
 * The step of 30 seconds that a code belongs to: the present one, or the one before it, because typing and the network take time
 * (RFC 6238 §5.2); undefined when it is neither's code. A code counts for a minute at most. Compared in constant time.
 */
export function stepOfCode(secret: string, code: string, at: Date): bigint | undefined {
  const known = totp(secret);
  const isOf = [0, STEP_MS].map(
    (late) => known.validate({ token: code, timestamp: at.getTime() - late, window: 0 }) !== null,
  );
  const late = isOf.indexOf(true);
  return late < 0 ? undefined : BigInt(TOTP.counter({ timestamp: at.getTime() }) - late);
}

/** What every authenticator can do. */
function totp(secret: string, names: { issuer?: string; label?: string } = {}): TOTP {
  return new TOTP({ ...names, secret, algorithm: 'SHA1', digits: 6, period: 30 });
}

/** What a code was, once it was used. */
export type TakenCode = 'code' | 'recovery code';

/** An account has a second factor, and what was sent is not one of its codes. Rolls the transaction back; a caller makes a refusal of it. */
export class CodeRefused extends Error {
  readonly why: 'missing' | 'wrong';

  constructor(why: 'missing' | 'wrong') {
    super(`The code is ${why}.`);
    this.name = 'CodeRefused';
    this.why = why;
  }
}

/** The secret cannot be decrypted: the master key of this replica is another one (503). */
class SecondFactorUnreadable extends Unavailable {
  constructor(cause: unknown) {
    super('second_factor_unreadable', 'The second factor of the account cannot be decrypted.', {
      retryable: false,
      hint: 'Check Security.MasterKey. A recovery code works meanwhile; payctl admin reset-second-factor --offline removes the second factor.',
      cause,
    });
  }
}

/**
 * Uses a code of an account up, under the lock of its second factor: a step of the authenticator counts once, and none before
 * it afterwards, whichever replica is asked. Undefined when the account has no second factor; throws CodeRefused.
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

/** The digits of a code, which authenticators show in two groups. */
export function withoutBlanks(code: string): string {
  return code.replaceAll(' ', '');
}

/** Where a secret stands in the database. */
export function placeOfSecret(adminId: string, column: 'encrypted' | 'pending_encrypted'): Place {
  return { table: 'second_factors', id: adminId, column, version: 1 };
}

/** The secret of an account; throws SecondFactorUnreadable. */
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
