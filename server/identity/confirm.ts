// Checks passwords and codes, at a login and for the confirmation of a session.

import { randomUUID } from 'node:crypto';
import type { Encryption } from '../db/encryption.ts';
import type { SessionRow } from '../db/entities/identity.ts';
import type { Store, Tx } from '../db/store.ts';
import { type AppError, InvalidRequest, TooManyRequests, Unauthenticated } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import { CodeRefused, type TakenCode, readRecoveryCode, takeCode } from './codes.ts';
import type { Attempt, KnownAddresses, LoginLimits } from './login-limits.ts';
import type { GateLine, Passwords } from './passwords.ts';
import type { Actor, AdminState, IdentityQueries, LoginState, Session } from './ports.ts';
import { type TokenMint, newCsrfToken } from './tokens.ts';

/** Dependencies of a password check. */
interface CheckPorts {
  store: Store;
  passwords: Passwords;
  limits: LoginLimits;
  audit: Audit;
}

/** Whether a password is correct. `refusal` is the error to throw unless a correct code was also sent. */
interface PasswordCheck {
  right: boolean;
  refusal: TooManyRequests | undefined;
}

/**
 * Whether the password matches the hash. The limits are checked again when the queued check starts, so that concurrent guesses cannot all
 * pass; attempts from known addresses have a queue of their own.
 */
export async function lookAtPassword(
  { passwords, limits }: Pick<CheckPorts, 'passwords' | 'limits'>,
  attempt: Attempt,
  password: string,
  hash: string | undefined,
  line: GateLine = attempt.known ? 'reserved' : 'open',
): Promise<PasswordCheck> {
  let refusal: TooManyRequests | undefined;
  // The decoy hash is created in every case. Creating it only for an unknown name would reveal by timing that the name is unknown.
  const decoy = await passwords.decoy();
  const admit = async () => void (refusal = await limits.admit(attempt));
  const right = await passwords.verify(hash ?? decoy, password, admit, line);
  return { right: right && hash !== undefined, refusal };
}

/** Overrides of the audit entry of a failure. */
export interface FailureLine {
  target?: string;
  after?: object | null;
}

/** Counts a wrong password or code; the audit entry has the account as target, and only a few entries per address are written. */
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

/** Dependencies of a code check. */
interface CodePorts extends Pick<CheckPorts, 'store' | 'limits' | 'audit'> {
  encryption: Pick<Encryption, 'open'>;
  now: () => Date;
}

/** A code with its account, its origin, and the refusal of a wrong code. */
export interface CodeCheck {
  attempt: Attempt;
  actor: Actor;
  account: { id: string; hasFactor: boolean };
  code: string | undefined;
  refusalOf: (refused: CodeRefused) => AppError;
  /** The attempt that wrong codes are counted for, if it is not `attempt`. */
  counted?: Attempt;
  /** The audit entry of a failure, if it is not about the code. */
  failure?: FailureLine;
  /**
   * Another login attempt has used the turn of an account above its limit (`LoginLimits`), so only a correct code is accepted. Every other
   * result counts as a failed login and takes the same steps, even if the code may not be checked.
   */
  isOutOfTurn?: boolean;
}

/** Returns a made-up account and attempt. A login takes the same steps with them as with a real account, but no code is correct. */
export function standIn(attempt: Attempt): Pick<CodeCheck, 'account' | 'counted'> {
  const id = randomUUID();
  return { account: { id, hasFactor: true }, counted: { ...attempt, username: id, known: false, isStandIn: true } };
}

/**
 * Runs `work` in the transaction that uses the code, so that the code is used only if `work` succeeds. A missing or wrong code counts as a
 * failed login. Wrong codes have an additional counter, because a code has few possible values.
 */
export async function withCode<T>(
  ports: CodePorts,
  { attempt, actor, account, code, refusalOf, counted = attempt, failure, isOutOfTurn = false }: CodeCheck,
  work: (tx: Tx, used: TakenCode | undefined) => Promise<T>,
): Promise<T> {
  const { store, limits, encryption, now } = ports;
  // Recovery codes are too long to guess, so they have no limit: an account under attack can still log in.
  const isShort = code !== undefined && readRecoveryCode(code) === undefined;
  let checked = { account, counted };
  if (account.hasFactor && isShort)
    try {
      await limits.admitCode(counted);
    } catch (error) {
      if (!isOutOfTurn || !(error instanceof TooManyRequests)) throw error;
      checked = { counted, ...standIn(attempt) };
      await limits.admitCode(checked.counted);
    }
  const { id: adminId } = checked.account;
  try {
    return await store.transaction(async (tx) => {
      // Locks the account's row before its second factor's row; every transaction uses this order.
      await tx.admins.lock({ id: adminId });
      const used = await takeCode(tx, encryption, { adminId, code, at: now() });
      if (isOutOfTurn && used === undefined) throw new CodeRefused('wrong');
      return work(tx, used);
    });
  } catch (error) {
    if (!(error instanceof CodeRefused)) throw error;
    // The code is counted before `recordFailure`, which throws a different refusal above its own limit.
    if (error.why === 'wrong' && isShort) await limits.codeFailed(checked.counted);
    await recordFailure(ports, actor, attempt, failure ?? { after: { secondFactor: error.why } });
    throw refusalOf(error);
  }
}

/** A new session. */
export interface NewSession {
  jti: string;
  adminId: string;
  generation: number;
  ip?: string | undefined;
  userAgent?: string | undefined;
  /** When the password was verified, if it was. */
  confirmedAt?: Date;
  /** Whether a code of the second factor was verified, and when. */
  secondFactor?: boolean;
  codeAt?: Date | undefined;
  ttlSeconds: number;
}

/** The row of a new session. */
export function sessionRow({ ttlSeconds, ...session }: NewSession, at: Date): SessionRow {
  const { ip, userAgent, confirmedAt, codeAt, secondFactor = false } = session;
  return {
    jti: session.jti,
    adminId: session.adminId,
    generation: session.generation,
    ip: ip ?? null,
    userAgent: userAgent?.slice(0, 256) ?? null,
    createdAt: at,
    seenAt: at,
    confirmedAt: confirmedAt ?? null,
    secondFactor,
    codeAt: codeAt ?? null,
    replacedAt: null,
    expiresAt: new Date(at.getTime() + ttlSeconds * 1000),
  };
}

const CONFIRMED_MS = 300_000;

/** Whether the session's password, and a code if the account has a second factor, were verified so recently that the same person is probably still present. */
export function isConfirmed(
  { confirmedAt, codeAt, hasFactor }: Pick<AdminState, 'confirmedAt' | 'codeAt' | 'hasFactor'>,
  now: Date,
): boolean {
  const isFresh = (at: Date | null) => at !== null && now.getTime() - at.getTime() <= CONFIRMED_MS;
  return isFresh(confirmedAt) && (!hasFactor || isFresh(codeAt));
}

/** The password and code of a confirmation; a code is required if the account has a second factor. */
export interface Proof {
  password: string;
  code?: string | undefined;
}

/** Dependencies of the check of a code by an administrator who is logged in. */
export interface OwnCodePorts extends CodePorts {
  queries: Pick<IdentityQueries, 'loginState'>;
  addresses: KnownAddresses;
}

/** Dependencies of the check of a password by an administrator who is logged in. */
interface OwnPasswordPorts extends CheckPorts, OwnCodePorts {}

/** The account of a session, and the attempt that its wrong passwords and codes are counted for. */
interface Checked {
  account: NonNullable<LoginState['admin']>;
  attempt: Attempt;
  actor: Actor;
}

/**
 * Returns the account of a session after its password was verified. A wrong password counts as a failed login and is a 400 at `pointer`.
 * Also throws a 400 if the account has a second factor and no code was sent; the session's owner may know that.
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
 * Returns the account of a session before a password or code is checked. Throws a 400 at `/code` if the account has a second factor and no
 * code was sent, and 429 after too many failures.
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

/** Runs `work` in the transaction that uses the code; a rejected code is a 400 at `/code`. */
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

/** The refusal of a wrong code after the login (400). */
export function wrongCode(): InvalidRequest {
  return new InvalidRequest('The code is wrong.', [
    {
      pointer: '/code',
      code: 'code_wrong',
      detail: 'is not a currently valid code of the authenticator, or was already used',
    },
  ]);
}

/** Dependencies of a confirmation. */
export interface ConfirmPorts extends OwnPasswordPorts {
  adminTokens: TokenMint;
  csrfKey: Uint8Array;
}

/** The session that a confirmation started; both tokens are returned once. */
export interface ConfirmedSession {
  token: string;
  csrfToken: string;
  expiresIn: number;
  confirmedUntil: Date;
}

/**
 * Creates the operation that confirms a session by the account's password and, if enrolled, its second factor. It starts a new session in
 * its place, so that a copied old token does not gain the confirmation.
 */
export function createConfirm(ports: ConfirmPorts) {
  const { adminTokens, csrfKey, audit, now } = ports;
  return async (session: Session, actor: Actor, proof: Proof, userAgent?: string): Promise<ConfirmedSession> => {
    const { id, jti: old, username } = session;
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/password' });
    // Read before the password check: if the generation changed since, this token is invalid.
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
