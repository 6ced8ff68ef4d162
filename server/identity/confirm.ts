import type { Tx } from '../db/store.ts';
import { InvalidRequest, Unauthenticated } from '../errors.ts';
import { by } from './audit.ts';
import { type CheckPorts, isRight, recordFailure } from './check-password.ts';
import { type CodePorts, withCode } from './check-code.ts';
import type { KnownAddresses } from './known-addresses.ts';
import type { Attempt } from './login-limits.ts';
import type { Actor, AdminState, IdentityQueries, LoginState, Session } from './ports.ts';
import { wrongCode } from './second-factors.ts';
import type { CodeRefused, TakenCode } from './take-code.ts';

const CONFIRMED_MS = 300_000;

/**
 * Whether the password of a session, and a code where the account has a second factor, were given so recently that nobody else
 * is likely to sit there.
 */
export function isConfirmed(
  { confirmedAt, codeAt, hasFactor }: Pick<AdminState, 'confirmedAt' | 'codeAt' | 'hasFactor'>,
  now: Date,
): boolean {
  const isFresh = (at: Date | null) => at !== null && now.getTime() - at.getTime() <= CONFIRMED_MS;
  return isFresh(confirmedAt) && (!hasFactor || isFresh(codeAt));
}

/** What somebody gives to show once more who it is; a code where the account has a second factor. */
export interface Proof {
  password: string;
  code?: string | undefined;
}

/** What looking at the own password needs. */
export interface OwnPasswordPorts extends CheckPorts {
  queries: Pick<IdentityQueries, 'loginState'>;
  addresses: KnownAddresses;
  now: () => Date;
}

/** An account whose password was just found right. */
export interface Checked {
  account: NonNullable<LoginState['admin']>;
  attempt: Attempt;
  actor: Actor;
}

/**
 * The account of a session, once its password was found right; a wrong one counts as a failed login and is a 400 at `pointer`. Throws
 * a 400 as well when the account has a second factor and there is no code: whoever has the session may know that.
 */
export async function requirePassword(
  ports: OwnPasswordPorts,
  { id, username }: Session,
  actor: Actor,
  { password, code, pointer }: Proof & { pointer: string },
): Promise<Checked> {
  const { store, queries, addresses, limits } = ports;
  const ip = actor.ip ?? '';
  const { admin, known } = await store.read((tx) => queries.loginState(tx, username, addresses.keyOf(ip)));
  if (admin?.id !== id) throw new Unauthenticated();
  if (admin.hasFactor && code === undefined) throw missingCode();
  const attempt = { username, ip, known };
  await limits.check(attempt);
  if (await isRight(ports, attempt, password, admin.passwordHash, 'reserved'))
    return { account: admin, attempt, actor };
  await recordFailure(ports, actor, attempt);
  throw new InvalidRequest('The current password is wrong.', [
    { pointer, code: 'password_wrong', detail: 'is not the current password' },
  ]);
}

/** Runs `work` in the transaction that uses the code up; one that does not count is a 400 at `/code`. */
export function withOwnCode<T>(
  ports: CodePorts,
  checked: Checked,
  code: string | undefined,
  work: (tx: Tx, used: TakenCode | undefined) => Promise<T>,
): Promise<T> {
  const refusalOf = ({ why }: CodeRefused) => (why === 'missing' ? missingCode() : wrongCode());
  return withCode(ports, { ...checked, code, refusalOf }, work);
}

function missingCode(): InvalidRequest {
  return new InvalidRequest('The account has a second factor.', [
    { pointer: '/code', code: 'code_required', detail: 'must be a code of the authenticator, or a recovery code' },
  ]);
}

/** Makes the confirmation of a session by the password of its account and, where it has one, its second factor. */
export function createConfirm(ports: OwnPasswordPorts & CodePorts) {
  const { audit, now } = ports;
  return async (session: Session, actor: Actor, proof: Proof): Promise<Date> => {
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/password' });
    const at = now();
    await withOwnCode(ports, checked, proof.code, async (tx, used) => {
      const { jti, username } = session;
      const given = { confirmedAt: at, ...(used && { secondFactor: true, codeAt: at }) };
      if ((await tx.sessions.update({ jti }, given)) === 0) throw new Unauthenticated();
      const after = used ? { secondFactor: used } : null;
      await audit(tx, { ...by(actor), action: 'admin.confirm', target: username, after });
    });
    return new Date(at.getTime() + CONFIRMED_MS);
  };
}
