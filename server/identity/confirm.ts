// Checks of passwords and codes, at a login and for the confirmation of a session.

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

/** What checking a password needs. */
interface CheckPorts {
  store: Store;
  passwords: Passwords;
  limits: LoginLimits;
  audit: Audit;
}

/** Whether a password is right, and the refusal that holds nevertheless unless a right code came with it. */
interface Looked {
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

/** What checking a code needs. */
interface CodePorts extends Pick<CheckPorts, 'store' | 'limits' | 'audit'> {
  encryption: Pick<Encryption, 'open'>;
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
  const { store, limits, encryption, now } = ports;
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
      const used = await takeCode(tx, encryption, { adminId, code, at: now() });
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

/** A session that begins now. */
export interface NewSession {
  jti: string;
  adminId: string;
  generation: number;
  ip?: string | undefined;
  userAgent?: string | undefined;
  /** When the password was given, if it was. */
  confirmedAt?: Date;
  /** Whether a code of the second factor was given, and when. */
  secondFactor?: boolean;
  codeAt?: Date | undefined;
  ttlSeconds: number;
}

/** The row of a session that begins at this instant. */
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
interface OwnPasswordPorts extends CheckPorts, OwnCodePorts {}

/** The account of a session, and the attempt that a wrong password or code of it counts for. */
interface Checked {
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
