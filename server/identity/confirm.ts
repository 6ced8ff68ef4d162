// Checks passwords and codes, both at login and when an administrator confirms a session.

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

interface CheckPorts {
  store: Store;
  passwords: Passwords;
  limits: LoginLimits;
  audit: Audit;
}

/** If `refusal` is set, the caller must throw it unless password and code are both correct. */
interface PasswordCheck {
  right: boolean;
  refusal: TooManyRequests | undefined;
}

/**
 * Checks a password in a queue. The limits are tested again when the check starts, so that many guesses at the same
 * time cannot all pass. Logins from an address that the account used before have their own queue.
 */
export async function lookAtPassword(
  { passwords, limits }: Pick<CheckPorts, 'passwords' | 'limits'>,
  attempt: Attempt,
  password: string,
  hash: string | undefined,
  line: GateLine = attempt.known ? 'reserved' : 'open',
): Promise<PasswordCheck> {
  let refusal: TooManyRequests | undefined;
  // The decoy hash is created on every login. If it were created only for unknown usernames, the response time would
  // reveal that a username is unknown.
  const decoy = await passwords.decoy();
  const admit = async () => void (refusal = await limits.admit(attempt));
  const right = await passwords.verify(hash ?? decoy, password, admit, line);
  return { right: right && hash !== undefined, refusal };
}

export interface FailureLine {
  target?: string;
  after?: object | null;
}

/** Counts a wrong password or code, and audits the first few failures per address. Throws a 429 above the limit. */
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

interface CodePorts extends Pick<CheckPorts, 'store' | 'limits' | 'audit'> {
  encryption: Pick<Encryption, 'open'>;
  now: () => Date;
}

export interface CodeCheck {
  attempt: Attempt;
  actor: Actor;
  account: { id: string; hasFactor: boolean };
  code: string | undefined;
  refusalOf: (refused: CodeRefused) => AppError;
  /** A made-up attempt (see `standIn`). If set, wrong codes are counted for it and not for `attempt`. */
  counted?: Attempt;
  /**
   * The audit entry if the password was wrong or the account has no second factor. It replaces the default entry, which
   * mentions a second factor.
   */
  failure?: FailureLine;
  /**
   * The account is above its limit of failed logins, and its one attempt per 30 seconds is already used (see
   * `LoginLimits`). Then only a correct code is accepted. Every other result counts as a failed login and takes the
   * same steps, so that the response time reveals nothing.
   */
  isOutOfTurn?: boolean;
}

/** Returns a made-up account and attempt: a login that cannot succeed takes the same steps, but no code is correct. */
export function standIn(attempt: Attempt): Pick<CodeCheck, 'account' | 'counted'> {
  const id = randomUUID();
  return { account: { id, hasFactor: true }, counted: { ...attempt, username: id, known: false, isStandIn: true } };
}

/**
 * Uses the code and runs `work` in the same transaction, so that the code is used only if `work` succeeds. A missing or
 * wrong code counts as a failed login. Wrong codes are also counted separately, because a code has few possible values.
 */
export async function withCode<T>(
  ports: CodePorts,
  { attempt, actor, account, code, refusalOf, counted = attempt, failure, isOutOfTurn = false }: CodeCheck,
  work: (tx: Tx, used: TakenCode | undefined) => Promise<T>,
): Promise<T> {
  const { store, limits, encryption, now } = ports;
  // Recovery codes are too long to guess, so they have no limit. With a recovery code the owner can log in even while
  // the account is under attack.
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
      // The account's row is locked before the row of its second factor. Every transaction uses this sequence, so that
      // no deadlock occurs.
      await tx.admins.lock({ id: adminId });
      const used = await takeCode(tx, encryption, { adminId, code, at: now() });
      if (isOutOfTurn && used === undefined) throw new CodeRefused('wrong');
      return work(tx, used);
    });
  } catch (error) {
    if (!(error instanceof CodeRefused)) throw error;
    // `codeFailed` must run before `recordFailure`, because `recordFailure` throws above its own limit.
    if (error.why === 'wrong' && isShort) await limits.codeFailed(checked.counted);
    await recordFailure(ports, actor, attempt, failure ?? { after: { secondFactor: error.why } });
    throw refusalOf(error);
  }
}

export interface NewSession {
  jti: string;
  adminId: string;
  generation: number;
  ip?: string | undefined;
  userAgent?: string | undefined;
  /** Absent = the password was not verified. */
  confirmedAt?: Date;
  secondFactor?: boolean;
  codeAt?: Date | undefined;
  ttlSeconds: number;
}

/** Returns the row of a new session. */
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

/**
 * Whether the password was verified within the last five minutes, and also a code if the account has a second factor.
 * After such a short time the same person is probably still at the screen.
 */
export function isConfirmed(
  { confirmedAt, codeAt, hasFactor }: Pick<AdminState, 'confirmedAt' | 'codeAt' | 'hasFactor'>,
  now: Date,
): boolean {
  const isFresh = (at: Date | null) => at !== null && now.getTime() - at.getTime() <= CONFIRMED_MS;
  return isFresh(confirmedAt) && (!hasFactor || isFresh(codeAt));
}

/** The code is required if the account has a second factor. */
export interface Proof {
  password: string;
  code?: string | undefined;
}

export interface OwnCodePorts extends CodePorts {
  queries: Pick<IdentityQueries, 'loginState'>;
  addresses: KnownAddresses;
}

interface OwnPasswordPorts extends CheckPorts, OwnCodePorts {}

interface Checked {
  account: NonNullable<LoginState['admin']>;
  attempt: Attempt;
  actor: Actor;
}

/**
 * Verifies the password of a session's account. A wrong password counts as a failed login and throws a 400 at
 * `pointer`. A missing code throws a 400 too; the logged-in administrator may learn that it is needed.
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

/** Returns a session's account. Throws a 400 at `/code` if a needed code is missing, a 429 after too many failures. */
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

/** Uses the code and runs `work` in the same transaction. A missing or wrong code throws a 400 at `/code`. */
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
    { pointer: '/code', code: 'code_required', detail: 'must be a code of the authenticator app, or a recovery code' },
  ]);
}

/** Creates the error for a wrong code of an administrator who is already logged in (400). */
export function wrongCode(): InvalidRequest {
  return new InvalidRequest('The code is wrong.', [
    {
      pointer: '/code',
      code: 'code_wrong',
      detail: 'is not valid now, or was already used',
    },
  ]);
}

export interface ConfirmPorts extends OwnPasswordPorts {
  adminTokens: TokenMint;
  csrfKey: Uint8Array;
}

/** The session that replaces the confirmed one. */
export interface ConfirmedSession {
  token: string;
  csrfToken: string;
  expiresIn: number;
  confirmedUntil: Date;
}

/**
 * Creates the operation that confirms a session with the account's password and, if enrolled, a code of the second
 * factor. A new session replaces the confirmed one, so that a stolen copy of the old token does not become confirmed.
 */
export function createConfirm(ports: ConfirmPorts) {
  const { adminTokens, csrfKey, audit, now } = ports;
  return async (session: Session, actor: Actor, proof: Proof, userAgent?: string): Promise<ConfirmedSession> => {
    const { id, jti: old, username } = session;
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/password' });
    // When the account's `generation` number increases, all its earlier tokens become invalid. The number was read
    // before the password check. So the new token is invalid if the number increased during the check.
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
