import { randomUUID } from 'node:crypto';
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
  /**
   * It is the turn of somebody else: only a right code gets in. Everything else is a failed login and takes the same steps, a code that may
   * not be looked at, too.
   */
  isOutOfTurn?: boolean;
}

/** An account that does not exist, and an attempt by which its wrong codes are counted: a login takes the same steps with it, and no code is right. */
export function standIn(attempt: Attempt): Pick<CodeCheck, 'account' | 'counted'> {
  const id = randomUUID();
  return { account: { id, hasFactor: true }, counted: { ...attempt, username: id, known: false, isStandIn: true } };
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
  // Recovery codes are too long to be guessed: a way in for an account that has to wait because of others.
  const isShort = code !== undefined && readRecoveryCode(code) === undefined;
  let looked = { account, counted };
  if (account.hasFactor && isShort)
    try {
      await limits.admitCode(counted);
    } catch (error) {
      if (!isOutOfTurn || !(error instanceof TooManyRequests)) throw error;
      looked = { counted, ...standIn(attempt) };
      await limits.admitCode(looked.counted);
    }
  const { id: adminId } = looked.account;
  try {
    return await store.transaction(async (tx) => {
      // The row of the account comes before that of its second factor, as wherever both are locked.
      await tx.admins.lock({ id: adminId });
      const used = await takeCode(tx, sealing, { adminId, code, at: now() });
      if (isOutOfTurn && used === undefined) throw new CodeRefused('wrong');
      return work(tx, used);
    });
  } catch (error) {
    if (!(error instanceof CodeRefused)) throw error;
    // First, because a failed login that is one too many is told otherwise.
    if (error.why === 'wrong' && isShort) await limits.codeFailed(looked.counted);
    await recordFailure(ports, actor, attempt, failure ?? { after: { secondFactor: error.why } });
    throw refusalOf(error);
  }
}
