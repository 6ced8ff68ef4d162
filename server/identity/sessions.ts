import { Conflict, Unauthenticated, Unavailable } from '../errors.ts';
import { by } from './audit.ts';
import { isRight, recordFailure } from './check-password.ts';
import { createConfirm, type OwnPasswordPorts, requirePassword } from './confirm.ts';
import { newCsrfToken } from './csrf.ts';
import { requireGoodPassword } from './passwords.ts';
import type { Actor, LoginState, Session } from './ports.ts';
import { type NewSession as NewSessionRow, sessionRow } from './session-row.ts';
import type { GenuineToken, TokenMint } from './tokens.ts';

const MOST_REPLACED = 4;

/** There is no administrator yet, so nobody can log in (503). */
export class NotBootstrapped extends Unavailable {
  constructor() {
    super('not_bootstrapped', 'No administrator exists yet.', {
      retryAfter: 60,
      retryable: false,
      hint: 'Run payctl bootstrap admin. With the embedded database, stop the server first and start it afterwards.',
    });
  }
}

/** What sessions need. */
export interface SessionPorts extends OwnPasswordPorts {
  adminTokens: TokenMint;
  csrfKey: Uint8Array;
}

/** Who wants to log in, from where. */
export interface LoginInput {
  username: string;
  password: string;
  ip: string;
  requestId: string;
  userAgent?: string | undefined;
  /** The tokens of sessions that end with this login: what the browser had. */
  replaces?: readonly string[];
}

/** A session that was begun; both tokens are shown once. */
export interface NewSession {
  token: string;
  csrfToken: string;
  expiresIn: number;
  username: string;
  role: 'admin' | 'viewer';
}

/** Begins and ends administrator sessions. */
export interface Sessions {
  /** Throws the same 401 for an unknown name, a wrong password and a disabled account. */
  login(input: LoginInput): Promise<NewSession>;
  /** Ends this session, or all of the account with `everywhere`; it counts for every replica when this returns. */
  logout(session: Session, actor: Actor, everywhere: boolean): Promise<void>;
  /** Notes that the password was given again in this session; returns until when that counts. */
  confirm(session: Session, actor: Actor, password: string): Promise<Date>;
  /** Sets a new password and ends every session of the account. */
  changePassword(session: Session, actor: Actor, change: { current: string; next: string }): Promise<void>;
}

/** The name under which an account is kept. */
export function canonicalUsername(username: string): string {
  return username.toLowerCase();
}

/** Makes the session operations. */
export function createSessions(ports: SessionPorts): Sessions {
  const { ttlSeconds } = ports.adminTokens;
  const confirm = createConfirm({ ...ports, ttlSeconds });
  return { login: login(ports), logout: logout(ports), confirm, changePassword: changePassword(ports) };
}

function login(ports: SessionPorts): Sessions['login'] {
  const { store, queries, addresses, adminTokens, csrfKey } = ports;
  return async ({ password, ip, requestId, userAgent, replaces = [], ...input }) => {
    const username = canonicalUsername(input.username);
    const state = await store.read((tx) => queries.loginState(tx, username, addresses.keyOf(ip)));
    const { bootstrapped, admin, known } = state;
    if (!bootstrapped) throw new NotBootstrapped();
    const attempt = { username, ip, known };
    await ports.limits.check(attempt);
    const right = await isRight(ports, attempt, password, admin?.passwordHash);
    if (!right || !admin?.enabled) {
      await recordFailure(ports, { kind: 'system', name: 'login', ip, requestId }, attempt);
      throw new Unauthenticated('Wrong username or password.', 'login_failed');
    }
    const { id, role, generation } = admin;
    const { ttlSeconds } = adminTokens;
    // The generation was read before the password was checked: a change of it in between makes this token a dead one.
    const { token, jti } = await adminTokens.issue({ subject: id, generation });
    const begun = { jti, adminId: id, generation, ip, userAgent, ttlSeconds };
    const replaced = await genuineOf(ports, replaces);
    await recordLogin(ports, admin, password, { kind: 'admin', name: username, ip, requestId }, { begun, replaced });
    return { token, csrfToken: newCsrfToken(csrfKey, jti), expiresIn: ttlSeconds, username, role };
  };
}

/** Of what a browser sent as its session, the tokens of ours that have not expired; somebody may have planted others beside them. */
async function genuineOf({ adminTokens }: SessionPorts, sent: readonly string[]): Promise<GenuineToken[]> {
  const tokens = [...new Set(sent)].slice(0, MOST_REPLACED);
  const read = await Promise.allSettled(tokens.map((token) => adminTokens.verify(token)));
  return read.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
}

async function recordLogin(
  { store, passwords, addresses, audit, now }: SessionPorts,
  { id, generation, passwordHash }: NonNullable<LoginState['admin']>,
  password: string,
  actor: Actor,
  { begun, replaced }: { begun: NewSessionRow; replaced: readonly GenuineToken[] },
): Promise<void> {
  const fresh = passwords.isOutdated(passwordHash) ? await passwords.hash(password) : passwordHash;
  await store.transaction(async (tx) => {
    const at = now();
    const still = { id, generation, enabled: true };
    if ((await tx.admins.update(still, { passwordHash: fresh, lastLoginAt: at })) === 0) throw new Unauthenticated();
    await tx.sessions.insert(sessionRow({ ...begun, confirmedAt: at }, at));
    for (const { jti, subject: owner, expiresAt } of replaced)
      await tx.revokedTokens.insertIfNew({ jti, owner, expiresAt, revokedAt: at });
    const after = replaced.length > 0 ? { endedSessions: replaced.map(({ jti }) => jti) } : null;
    await addresses.remember(tx, id, actor.ip ?? '', at);
    await audit(tx, { ...by(actor), action: 'admin.login', target: actor.name, after });
  });
}

function logout({ store, adminTokens, audit, now }: SessionPorts): Sessions['logout'] {
  return ({ id, username, jti }, actor, everywhere) =>
    store.transaction(async (tx) => {
      const at = now();
      const expiresAt = new Date(at.getTime() + adminTokens.ttlSeconds * 1000);
      await tx.revokedTokens.insertIfNew({ jti, owner: id, expiresAt, revokedAt: at });
      if (everywhere) {
        const admin = await tx.admins.lock({ id });
        if (admin) await tx.admins.update({ id }, { generation: admin.generation + 1, updatedAt: at });
      }
      await audit(tx, { ...by(actor), action: 'admin.logout', target: username, after: { everywhere } });
    });
}

function changePassword(ports: SessionPorts): Sessions['changePassword'] {
  const { store, passwords, audit, now } = ports;
  return async (session, actor, { current, next }) => {
    const { id, username } = session;
    const admin = await requirePassword(ports, session, actor, { password: current, pointer: '/currentPassword' });
    requireGoodPassword(next, username, '/newPassword');
    const passwordHash = await passwords.hash(next);
    await store.transaction(async (tx) => {
      const was = { id, passwordHash: admin.passwordHash, generation: admin.generation };
      const patch = { passwordHash, generation: admin.generation + 1, updatedAt: now() };
      if ((await tx.admins.update(was, patch)) === 0) {
        throw new Conflict('changed_meanwhile', 'The account was changed concurrently.');
      }
      await audit(tx, { ...by(actor), action: 'admin.change-password', target: username });
    });
  };
}
