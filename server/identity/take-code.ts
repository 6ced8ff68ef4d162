import type { SecondFactorRow } from '../db/entities/identity.ts';
import type { Place, Sealing } from '../credentials/sealing.ts';
import type { Tx } from '../db/store.ts';
import { Unavailable } from '../errors.ts';
import { readRecoveryCode, takeRecoveryCode } from './recovery-codes.ts';
import { stepOfCode } from './totp.ts';

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
export class SecondFactorUnreadable extends Unavailable {
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
  sealing: Pick<Sealing, 'open'>,
  { adminId, code, at }: { adminId: string; code: string | undefined; at: Date },
): Promise<TakenCode | undefined> {
  const factor = await tx.secondFactors.lock({ adminId });
  if (!factor?.sealed) return undefined;
  if (code === undefined) throw new CodeRefused('missing');
  const letters = readRecoveryCode(code);
  if (letters !== undefined) {
    if (await takeRecoveryCode(tx, adminId, letters, at)) return 'recovery code';
    throw new CodeRefused('wrong');
  }
  const step = stepOfCode(openSecret(sealing, factor, 'sealed'), withoutBlanks(code), at);
  if (step === undefined || step <= (factor.lastStep ?? -1n)) throw new CodeRefused('wrong');
  await tx.secondFactors.update({ adminId }, { lastStep: step });
  return 'code';
}

/** The digits of a code, which authenticators show in two groups. */
export function withoutBlanks(code: string): string {
  return code.replaceAll(' ', '');
}

/** Where a secret stands in the database. */
export function placeOfSecret(adminId: string, column: 'sealed' | 'pending_sealed'): Place {
  return { table: 'second_factors', id: adminId, column, version: 1 };
}

/** The secret of an account; throws SecondFactorUnreadable. */
export function openSecret(
  sealing: Pick<Sealing, 'open'>,
  { adminId, sealed, pendingSealed }: SecondFactorRow,
  column: 'sealed' | 'pending_sealed',
): string {
  try {
    return sealing.open(placeOfSecret(adminId, column), (column === 'sealed' ? sealed : pendingSealed) ?? '');
  } catch (cause) {
    throw new SecondFactorUnreadable(cause);
  }
}
