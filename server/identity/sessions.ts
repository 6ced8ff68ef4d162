import { randomUUID } from 'node:crypto';
import type { SessionRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import type { Role } from '../domain.ts';
import { Conflict, NotFound, TooManyRequests, Unauthenticated, Unavailable } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import type { CodeRefused } from './codes.ts';
import {
  type CodeCheck,
  type ConfirmPorts,
  type ConfirmedSession,
  type FailureLine,
  type NewSession as NewSessionRow,
  type Proof,
  createConfirm,
  lookAtPassword,
  recordFailure,
  requirePassword,
  sessionRow,
  standIn,
  withCode,
  withOwnCode,
} from './confirm.ts';
import type { Hide } from './login-limits.ts';
import { requireGoodPassword } from './passwords.ts';
import type { Actor, AdminRow, AdminState, LoginState, Part, Session, SessionQueries } from './ports.ts';
import { notEnabled, removeSecondFactor } from './second-factors.ts';
import { type GenuineToken, newCsrfToken } from './tokens.ts';

const MOST_REPLACED = 4;

class NotBootstrapped extends Unavailable {
  constructor() {
    super('not_bootstrapped', 'No administrator exists yet.', {
      retryAfter: 60,
      retryable: false,
      hint: 'If the database is embedded, stop the server first, and start it again afterwards. Create the first administrator: payctl bootstrap admin',
    });
  }
}

/** The password is correct, but the account has a second factor and no code was sent (401). */
class SecondFactorRequired extends Unauthenticated {
  constructor() {
    super('A code of the second factor is required.', 'second_factor_required', {
      hint: 'Send the request again with `code`: six digits from the authenticator app, or a recovery code.',
    });
  }
}

interface SessionPorts extends ConfirmPorts {
  hide: Hide;
  requireSecondFactor: boolean;
}

interface LoginInput {
  username: string;
  password: string;
  /** A code of the authenticator, or a recovery code. */
  code?: string | undefined;
  ip: string;
  requestId: string;
  userAgent?: string | undefined;
  /** Session tokens that the browser sent with the login. After a successful login their sessions end. */
  replaces?: readonly string[];
}

/** The caller receives both tokens only once. */
export interface NewSession {
  token: string;
  csrfToken: string;
  expiresIn: number;
  username: string;
  role: Role;
  secondFactor: FactorState;
}

/**
 * `used`: the account has a second factor. `none`: it has none. `missing`: it has none, although the configuration
 * requires one.
 */
export type FactorState = 'used' | 'none' | 'missing';

/** Returns the state of a session's second factor. */
export function factorState(hasFactor: boolean, required: boolean): FactorState {
  return hasFactor ? 'used' : required ? 'missing' : 'none';
}

export interface Sessions {
  /**
   * Starts a session. Throws the same 401 for an unknown username, a wrong password, a wrong code and a disabled
   * account. Throws another 401 if the password is correct but the required code is missing.
   */
  login(input: LoginInput): Promise<NewSession>;
  /** When the call returns, every replica rejects the ended sessions. */
  logout(session: Session, actor: Actor, everywhere: boolean): Promise<void>;
  /** Verifies password and second factor again, and replaces this session with a new, confirmed one. */
  confirm(session: Session, actor: Actor, proof: Proof, userAgent?: string): Promise<ConfirmedSession>;
  /** Sets a new password and ends every session of the account. */
  changePassword(session: Session, actor: Actor, change: Proof & { next: string }): Promise<void>;
  removeSecondFactor(session: Session, actor: Actor, proof: Proof): Promise<void>;
}

/** Returns the form in which a username is stored and compared: lower case. */
export function canonicalUsername(username: string): string {
  return username.toLowerCase();
}

/** Creates the session operations. */
export function createSessions(ports: SessionPorts): Sessions {
  return {
    login: login(ports),
    logout: logout(ports),
    confirm: createConfirm(ports),
    changePassword: changePassword(ports),
    removeSecondFactor: removeOwn(ports),
  };
}

function login(ports: SessionPorts): Sessions['login'] {
  const { store, queries, addresses, adminTokens, csrfKey, hide, requireSecondFactor } = ports;
  return async ({ password, code, ip, requestId, userAgent, replaces = [], ...input }) => {
    const username = canonicalUsername(input.username);
    const state = await store.read((tx) => queries.loginState(tx, username, addresses.keyOf(ip)));
    const { bootstrapped, admin, known } = state;
    if (!bootstrapped) throw new NotBootstrapped();
    const attempt = { username, ip, known, hasCode: code !== undefined };
    const stranger: Actor = { kind: 'system', name: 'login', ip, requestId };
    await ports.limits.check(attempt);
    const { right, refusal } = await lookAtPassword(ports, attempt, password, admin?.passwordHash);
    const found = right && admin?.enabled ? admin : undefined;
    // A user may type a password in the name field, and audit lines cannot be deleted. Therefore only a hash of an
    // unknown name is stored.
    const failure: FailureLine = admin ? {} : { target: `unknown ${hide(`name ${username}`)}` };
    if (!found && !refusal) {
      await recordFailure(ports, stranger, attempt, failure);
      throw loginFailed(code);
    }
    const { id, role, generation, hasFactor, passwordHash } = found ?? noAccount();
    const { ttlSeconds } = adminTokens;
    // When the account's `generation` number increases, all its earlier tokens become invalid. The number was read
    // before the password check. So the new token is invalid if the number increased during the check.
    const { token, jti } = await adminTokens.issue({ subject: id, generation });
    const begun = { jti, adminId: id, generation, ip, userAgent, ttlSeconds };
    const replaced = await genuineOf(ports, replaces);
    const actor: Actor = { kind: 'admin', name: username, ip, requestId };
    const refusalOf = ({ why }: CodeRefused) =>
      refusal ?? (why === 'missing' ? new SecondFactorRequired() : loginFailed(code));
    const check = { attempt, actor: stranger, account: { id, hasFactor }, code, refusalOf };
    const entry = { admin: { id, generation, passwordHash }, password, actor, begun, replaced };
    if (refusal)
      await recordOutOfTurn(ports, check, entry, { refusal, hasAccount: found?.hasFactor === true, failure });
    else await recordLogin(ports, check, entry);
    const csrfToken = newCsrfToken(csrfKey, jti);
    const secondFactor = factorState(hasFactor, requireSecondFactor);
    return { token, csrfToken, expiresIn: ttlSeconds, username, role, secondFactor };
  };
}

/** A login takes the same steps with this placeholder as with an account, but no code is correct. */
function noAccount() {
  return { id: randomUUID(), role: 'viewer', generation: 0, hasFactor: true, passwordHash: '' } as const;
}

/** If a code was sent, the message does not reveal whether the password or the code was wrong. */
function loginFailed(code: string | undefined): Unauthenticated {
  const what = code === undefined ? 'username or password' : 'username, password or code';
  return new Unauthenticated(`Wrong ${what}.`, 'login_failed');
}

/** Another host of the same domain may have set a cookie with an invalid token. Such a cookie is ignored. */
async function genuineOf({ adminTokens }: SessionPorts, sent: readonly string[]): Promise<GenuineToken[]> {
  const tokens = [...new Set(sent)].slice(0, MOST_REPLACED);
  const read = await Promise.allSettled(tokens.map((token) => adminTokens.verify(token)));
  return read.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
}

interface Login {
  admin: Pick<NonNullable<LoginState['admin']>, 'id' | 'generation' | 'passwordHash'>;
  password: string;
  actor: Actor;
  begun: NewSessionRow;
  replaced: readonly GenuineToken[];
}

/**
 * Handles a login to an account that is above its limit of failed logins, while another attempt has used the account's
 * turn (see `LoginLimits`). The login succeeds only if password and code are correct. Otherwise `refusal` (429) is
 * thrown, after the same steps for every cause. If the password is correct, wrong codes are counted as usual.
 */
async function recordOutOfTurn(
  ports: SessionPorts,
  check: CodeCheck,
  login: Login,
  { refusal, hasAccount, failure }: { refusal: TooManyRequests; hasAccount: boolean; failure: FailureLine },
): Promise<void> {
  const blind = hasAccount ? {} : { ...standIn(check.attempt), failure };
  try {
    await recordLogin(ports, { ...check, ...blind, isOutOfTurn: true }, login);
  } catch (error) {
    throw error instanceof TooManyRequests || error instanceof Unauthenticated ? refusal : error;
  }
}

async function recordLogin(
  ports: SessionPorts,
  check: CodeCheck,
  { admin: { id, generation, passwordHash }, password, actor, begun, replaced }: Login,
): Promise<void> {
  const { passwords, addresses, audit, now } = ports;
  const { isOutOfTurn = false } = check;
  const isOld = !isOutOfTurn && passwords.isOutdated(passwordHash);
  const fresh = isOld ? await passwords.hash(password) : passwordHash;
  await withCode(ports, check, async (tx, used) => {
    const at = now();
    const still = { id, generation, enabled: true };
    if ((await tx.admins.update(still, { passwordHash: fresh, lastLoginAt: at })) === 0) throw new Unauthenticated();
    const given = { confirmedAt: at, secondFactor: used !== undefined, codeAt: used && at };
    await tx.sessions.insert(sessionRow({ ...begun, ...given }, at));
    if (replaced.length > 0) await tx.sessions.delete({ jti: replaced.map(({ jti }) => jti) });
    const ended = replaced.length > 0 ? { endedSessions: replaced.map(({ jti }) => jti) } : undefined;
    const after = ended || used ? { ...ended, ...(used && { secondFactor: used }) } : null;
    await addresses.remember(tx, id, actor.ip ?? '', at);
    await audit(tx, { ...by(actor), action: 'admin.login', target: actor.name, after });
  });
}

function logout({ store, audit, now }: SessionPorts): Sessions['logout'] {
  return ({ id, username, jti }, actor, everywhere) =>
    store.transaction(async (tx) => {
      await tx.sessions.delete({ jti, adminId: id });
      if (everywhere) {
        const admin = await tx.admins.lock({ id });
        if (admin) await tx.admins.update({ id }, { generation: admin.generation + 1, updatedAt: now() });
      }
      await audit(tx, { ...by(actor), action: 'admin.logout', target: username, after: { everywhere } });
    });
}

function changePassword(ports: SessionPorts): Sessions['changePassword'] {
  const { passwords, audit, now } = ports;
  return async (session, actor, { next, ...proof }) => {
    const { id, username } = session;
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/currentPassword' });
    requireGoodPassword(next, username, '/newPassword');
    const passwordHash = await passwords.hash(next);
    await withOwnCode(ports, checked, proof.code, async (tx) => {
      const { passwordHash: old, generation } = checked.account;
      const patch = { passwordHash, generation: generation + 1, updatedAt: now() };
      if ((await tx.admins.update({ id, passwordHash: old, generation }, patch)) === 0) {
        throw new Conflict('changed_meanwhile', 'The account has just been changed. Log in again and retry.');
      }
      await audit(tx, { ...by(actor), action: 'admin.change-password', target: username });
    });
  };
}

function removeOwn(ports: SessionPorts): Sessions['removeSecondFactor'] {
  return async (session, actor, proof) => {
    const checked = await requirePassword(ports, session, actor, { ...proof, pointer: '/password' });
    await withOwnCode(ports, checked, proof.code, async (tx, used) => {
      if (!used) throw notEnabled();
      await removeSecondFactor(tx, session.id);
      const line = { action: 'admin.remove-second-factor', target: session.username, after: { secondFactor: used } };
      await ports.audit(tx, { ...by(actor), ...line });
    });
  };
}

const NOTED_MS = 60_000;

/**
 * Sessions whose last use was before the returned time have ended. If idle sessions do not end, returns the start of
 * 1970.
 */
export function usedSince(now: Date, idleMinutes: number): Date {
  return new Date(idleMinutes === 0 ? 0 : now.getTime() - idleMinutes * 60_000);
}

interface SessionUsePorts {
  store: Store;
  queries: Pick<SessionQueries, 'touchSession'>;
  now: () => Date;
}

/** Stores when a session was last used, in the background and at most once a minute. A failed write is ignored. */
export function createSessionUse({ store, queries, now }: SessionUsePorts) {
  const underway = new Set<string>();
  return ({ seenAt }: AdminState, { jti }: GenuineToken): void => {
    const at = now();
    if (underway.has(jti) || at.getTime() - seenAt.getTime() < NOTED_MS) return;
    underway.add(jti);
    store
      .autocommit((tx) => queries.touchSession(tx, jti, at))
      .catch(() => {})
      .finally(() => underway.delete(jti));
  };
}

interface AdminSessionPorts {
  store: Store;
  queries: Pick<SessionQueries, 'sessions'>;
  audit: Audit;
  idleMinutes: number;
  now: () => Date;
}

/** The operations on the sessions of one account, which may be the caller's own account. */
export interface AdminSessions {
  /** Returns up to `limit` + 1 rows, the newest first. Throws NotFound if the account does not exist. */
  list(adminId: string, part: Part): Promise<SessionRow[]>;
  /** Throws NotFound if the session has ended already or belongs to another account. */
  end(actor: Actor, adminId: string, id: string): Promise<void>;
  endAll(actor: Actor, adminId: string): Promise<void>;
}

/** Creates the operations on the sessions of an account. */
export function createAdminSessions({ store, queries, audit, idleMinutes, now }: AdminSessionPorts): AdminSessions {
  return {
    list: (adminId, part) =>
      store.read(async (tx) => {
        found(await tx.admins.find({ id: adminId }));
        const at = now();
        return queries.sessions(tx, adminId, { ...part, at, seenSince: usedSince(at, idleMinutes) });
      }),
    end: (actor, adminId, jti) =>
      store.transaction(async (tx) => {
        const at = now();
        const { username } = found(await tx.admins.find({ id: adminId }));
        const row = await tx.sessions.lock({ jti, adminId, replacedAt: null });
        const { expiresAt } = row ?? {};
        if (!expiresAt || expiresAt <= at) throw new NotFound('session');
        await tx.sessions.delete({ jti });
        await audit(tx, { ...by(actor), action: 'admin.end-session', target: username, after: { session: jti } });
      }),
    endAll: (actor, id) =>
      store.transaction(async (tx) => {
        const { username, generation } = found(await tx.admins.lock({ id }));
        await tx.admins.update({ id }, { generation: generation + 1, updatedAt: now() });
        await audit(tx, { ...by(actor), action: 'admin.end-sessions', target: username });
      }),
  };
}

function found(admin: AdminRow | undefined): AdminRow {
  if (!admin) throw new NotFound('administrator');
  return admin;
}
