import type { Sealing } from '../credentials/sealing.ts';
import type { Tx } from '../db/store.ts';
import { type AppError, TooManyRequests } from '../errors.ts';
import { type CheckPorts, type FailureLine, recordFailure } from './check-password.ts';
import type { Attempt } from './login-limits.ts';
import type { Actor } from './ports.ts';
import { readRecoveryCode } from './recovery-codes.ts';
import { CodeRefused, takeCode, type TakenCode } from './take-code.ts';

/** What checking a code needs. */
export interface CodePorts extends Pick<CheckPorts, 'store' | 'limits' | 'audit'> {
  sealing: Pick<Sealing, 'open'>;
  now: () => Date;
}

/** Whose code it is, where it came from, and what becomes of one that does not count. */
export interface CodeCheck {
  attempt: Attempt;
  actor: Actor;
  account: { id: string; hasFactor: boolean };
  code: string | undefined;
  refusalOf: (refused: CodeRefused) => AppError;
  /** Where wrong codes are counted, if not with the attempt. */
  counted?: Attempt;
  /** What the line of a failure says, if it is not about the code. */
  failure?: FailureLine;
  /** It is the turn of somebody else: a code that may not be looked at is a failed login, too. */
  isOutOfTurn?: boolean;
}

/**
 * Runs `work` in the transaction that uses the code up, so that it is used only if all else is done. A code that is missing or
 * wrong counts as a failed login, and wrong ones are counted by themselves: they are few enough to be tried one by one.
 */
export async function withCode<T>(
  ports: CodePorts,
  { attempt, actor, account, code, refusalOf, counted = attempt, failure, isOutOfTurn = false }: CodeCheck,
  work: (tx: Tx, used: TakenCode | undefined) => Promise<T>,
): Promise<T> {
  const { store, limits, sealing, now } = ports;
  // Recovery codes are too long to be guessed: a way in for whoever has to wait because of others.
  const isShort = code !== undefined && readRecoveryCode(code) === undefined;
  try {
    if (account.hasFactor && isShort) await limits.admitCode(counted);
    return await store.transaction(async (tx) => {
      // The row of the account comes before that of its second factor, as wherever both are locked.
      await tx.admins.lock({ id: account.id });
      return work(tx, await takeCode(tx, sealing, { adminId: account.id, code, at: now() }));
    });
  } catch (error) {
    const isRefused = error instanceof CodeRefused;
    if (!isRefused && !(isOutOfTurn && error instanceof TooManyRequests)) throw error;
    // First, because a failed login that is one too many is told otherwise.
    if (isRefused && error.why === 'wrong' && isShort) await limits.codeFailed(counted);
    await recordFailure(ports, actor, attempt, failure ?? { after: { secondFactor: isRefused ? error.why : 'wrong' } });
    throw isRefused ? refusalOf(error) : error;
  }
}
