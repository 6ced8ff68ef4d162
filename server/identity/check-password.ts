import type { Store } from '../db/store.ts';
import type { TooManyRequests } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import type { GateLine } from './gate.ts';
import type { Attempt, LoginLimits } from './login-limits.ts';
import type { Passwords } from './passwords.ts';
import type { Actor } from './ports.ts';

/** What checking a password needs. */
export interface CheckPorts {
  store: Store;
  passwords: Passwords;
  limits: LoginLimits;
  audit: Audit;
}

/** Whether a password is right, and the refusal that holds nevertheless unless a right code came with it. */
export interface Looked {
  right: boolean;
  refusal: TooManyRequests | undefined;
}

/**
 * Whether the password is that of the hash. The limits are checked once more when its turn has come, so that many guesses at
 * once are not all let through; who is known there does not wait behind strangers.
 */
export async function lookAtPassword(
  { passwords, limits }: Pick<CheckPorts, 'passwords' | 'limits'>,
  attempt: Attempt,
  password: string,
  hash: string | undefined,
  line: GateLine = attempt.known ? 'reserved' : 'open',
): Promise<Looked> {
  let refusal: TooManyRequests | undefined;
  // Asked for in any case, so that making it once does not tell an unknown name from a known one.
  const decoy = await passwords.decoy();
  const admit = async () => void (refusal = await limits.admit(attempt));
  const right = await passwords.verify(hash ?? decoy, password, admit, line);
  return { right: right && hash !== undefined, refusal };
}

/** What the line of a failure says otherwise. */
export interface FailureLine {
  target?: string;
  after?: object | null;
}

/** Counts a wrong password or code; the account is the target of its line, of which an address may have a few only. */
export async function recordFailure(
  { store, limits, audit }: Pick<CheckPorts, 'store' | 'limits' | 'audit'>,
  actor: Actor,
  attempt: Attempt,
  { target = attempt.username, after = null }: FailureLine = {},
): Promise<void> {
  const line = { ...by(actor), action: 'admin.login_failed', target, after };
  if (await limits.mayRecord(attempt.ip)) await store.transaction((tx) => audit(tx, line));
  await limits.failed(attempt);
}
