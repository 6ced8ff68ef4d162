import type { Tx } from '../db/store.ts';
import { InvalidRequest, Unauthenticated } from '../errors.ts';
import { by } from './audit.ts';
import { type CheckPorts, lookAtPassword, recordFailure } from './check-password.ts';
import { type CodePorts, withCode } from './check-code.ts';
import type { KnownAddresses } from './known-addresses.ts';
import type { Attempt } from './login-limits.ts';
import type { Actor, AdminState, IdentityQueries, LoginState, Session } from './ports.ts';
import { newCsrfToken } from './csrf.ts';
import { sessionRow } from './session-row.ts';
import type { CodeRefused, TakenCode } from './take-code.ts';
import type { TokenMint } from './tokens.ts';

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

/** Ports of a look at a code of the own account. */
export interface OwnCodePorts extends CodePorts {
  queries: Pick<IdentityQueries, 'loginState'>;
  addresses: KnownAddresses;
}

/** Ports of a look at the own password. */
export interface OwnPasswordPorts extends CheckPorts, OwnCodePorts {}

/** The account of a session, and the attempt that a wrong password or code of it counts for. */
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
  session: Session,
  actor: Actor,
  { password, code, pointer }: Proof & { pointer: string },
): Promise<Checked> {
  const checked = await ownAccount(ports, session, actor, code);
  const { account, attempt } = checked;
  const { right } = await lookAtPassword(ports, attempt, password, account.passwordHash, 'reserved');
  if (right) return checked;
  await recordFailure(ports, actor, attempt);
  throw new InvalidRequest('The current password is wrong.', [
    { pointer, code: 'password_wrong', detail: 'is not the current password' },
  ]);
}

/**
 * The account of a session, of which something is about to be proved. Throws a 400 at `/code` when it has a second factor and there is
 * no code, and 429 when there were too many failures.
 */
export async function ownAccount(
  { store, queries, addresses, limits }: OwnCodePorts,
  { id, username }: Session,
  actor: Actor,
  code: string | undefined,
): Promise<Checked> {
  const ip = actor.ip ?? '';
  const { admin, known } = await store.read((tx) => queries.loginState(tx, username, addresses.keyOf(ip)));
  if (admin?.id !== id) throw new Unauthenticated();
  if (admin.hasFactor && code === undefined) throw missingCode();
  const attempt = { username, ip, known };
  await limits.check(attempt);
  return { account: admin, attempt, actor };
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

/** The refusal of a code that is none of the account's, after the login (400). */
export function wrongCode(): InvalidRequest {
  return new InvalidRequest('The code is wrong.', [
    {
      pointer: '/code',
      code: 'code_wrong',
      detail: 'is not a code of the authenticator that counts now, or was used already',
    },
  ]);
}

/** Ports of a confirmation. */
export interface ConfirmPorts extends OwnPasswordPorts {
  adminTokens: TokenMint;
  csrfKey: Uint8Array;
}

/** The session that a confirmation began; both tokens are shown once. */
export interface ConfirmedSession {
  token: string;
  csrfToken: string;
  expiresIn: number;
  confirmedUntil: Date;
}

/**
 * Makes the confirmation of a session by the password of its account and, where it has one, its second factor. It begins another
 * session in its place: a copy of the old token must not gain what the owner of the password was asked for.
 */
export function createConfirm(ports: ConfirmPorts) {
  const { adminTokens, csrfKey, audit, now } = ports;
  return async (session: Session, actor: Actor, proof: Proof, userAgent?: string): Promise<ConfirmedSession> => {
    const { id, jti: old, username } = session;
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/password' });
    // Read before the password was checked: if it is another by now, this token is a dead one.
    const { generation } = checked.account;
    const { token, jti } = await adminTokens.issue({ subject: id, generation });
    const at = now();
    await withOwnCode(ports, checked, proof.code, async (tx, used) => {
      if ((await tx.sessions.update({ jti: old, replacedAt: null }, { replacedAt: at })) === 0)
        throw new Unauthenticated();
      const begun = { jti, adminId: id, generation, ip: actor.ip, userAgent, ttlSeconds: adminTokens.ttlSeconds };
      const given = { confirmedAt: at, secondFactor: used !== undefined, codeAt: used && at };
      await tx.sessions.insert(sessionRow({ ...begun, ...given }, at));
      const after = { endedSession: old, ...(used && { secondFactor: used }) };
      await audit(tx, { ...by(actor), action: 'admin.confirm', target: username, after });
    });
    const confirmedUntil = new Date(at.getTime() + CONFIRMED_MS);
    return { token, csrfToken: newCsrfToken(csrfKey, jti), expiresIn: adminTokens.ttlSeconds, confirmedUntil };
  };
}
