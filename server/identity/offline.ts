import { randomBytes } from 'node:crypto';
import type { AdminRow } from '../db/entities/identity.ts';
import type { Store, Tx } from '../db/store.ts';
import { InvalidRequest, LocalError, NotFound } from '../errors.ts';
import { facts, newAdminRow } from './admins.ts';
import { createApp as writeApp } from './api-apps.ts';
import type { WithSecret } from './api-app-row.ts';
import type { AppSettings } from './api-app-rules.ts';
import { type Audit, by, FIRST_ADMIN } from './audit.ts';
import { type Passwords, requireGoodPassword } from './passwords.ts';
import type { Actor } from './ports.ts';
import { removeSecondFactor } from './second-factors.ts';
import { secretMatches } from './secrets.ts';
import { canonicalUsername } from './sessions.ts';

/** What the offline operations need; the caller is whoever can reach the database. */
export interface OfflinePorts {
  store: Store;
  passwords: Passwords;
  audit: Audit;
  now: () => Date;
}

/** There is an administrator, so the first one cannot be made (409). */
export class AlreadyBootstrapped extends LocalError {
  constructor() {
    super('already_bootstrapped', 409, 'An administrator already exists.');
  }
}

/** An account, and its password. */
export interface Account {
  username: string;
  password: string;
}

const userPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** Throws a 400 unless the name may be an administrator's. */
export function requireUsername(username: string): void {
  if (userPattern.test(username)) return;
  throw new InvalidRequest('Invalid username.', [
    { pointer: '/username', code: 'username_invalid', detail: 'must be 1 to 64 letters, digits, ".", "_", "@" or "-"' },
  ]);
}

/** A password that meets every rule and that nobody has to invent. */
export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}

/** Who works offline: `actor = offline`, the system's user at the host. */
export function offlineActor(osUser: string, host: string): Actor {
  return { kind: 'offline', name: `${osUser}@${host}` };
}

/** How many administrators there are. */
export function countAdmins(store: Store): Promise<number> {
  return store.read((tx) => tx.admins.count({}));
}

/** Whether an application of this name is in the project already. */
export async function appExists(store: Store, project: string, name: string): Promise<boolean> {
  return store.read(async (tx) => (await tx.apps.count({ project, name, kind: 'merchant' })) > 0);
}

/**
 * Makes the first administrator; of two at once one wins. Throws AlreadyBootstrapped when there is one.
 * It resolves only after the row was read back from the committed state and its hash verified.
 */
export async function createFirstAdmin(ports: OfflinePorts, actor: Actor, account: Account): Promise<AdminRow> {
  requireUsername(account.username);
  requireGoodPassword(account.password, account.username);
  const passwordHash = await ports.passwords.hash(account.password);
  const row = newAdminRow({ username: account.username, role: 'admin' }, passwordHash, ports.now());
  await ports.store.transaction((tx) => writeFirstAdmin(tx, ports, actor, row));
  await verifyPassword(ports, row.username, account.password);
  return row;
}

/** The part of `createFirstAdmin` that is one transaction. */
export async function writeFirstAdmin(
  tx: Tx,
  { audit }: Pick<OfflinePorts, 'audit'>,
  actor: Actor,
  row: AdminRow,
): Promise<void> {
  await tx.advisoryLock('admins');
  if ((await tx.admins.count({})) > 0) throw new AlreadyBootstrapped();
  await tx.admins.insert(row);
  await audit(tx, { ...by(actor), action: FIRST_ADMIN, target: row.username, after: facts(row) });
}

/** Makes an application; resolves with its secret only after its hash was read back and verified. */
export async function createApp(
  ports: OfflinePorts,
  actor: Actor,
  settings: AppSettings & { project: string },
): Promise<WithSecret> {
  const made = await ports.store.transaction(async (tx) => {
    await tx.advisoryLock('apps');
    return writeApp(tx, ports, actor, settings);
  });
  await verifySecret(ports.store, made);
  return made;
}

/** Sets the password of an account and ends its sessions; throws NotFound. Works for disabled ones too, without enabling them. */
export async function resetPassword(ports: OfflinePorts, actor: Actor, account: Account): Promise<AdminRow> {
  const username = canonicalUsername(account.username);
  requireGoodPassword(account.password, username);
  const passwordHash = await ports.passwords.hash(account.password);
  const changed = await ports.store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    const admin = await tx.admins.lock({ username });
    if (!admin) throw new NotFound('administrator');
    const patch = { passwordHash, generation: admin.generation + 1, updatedAt: ports.now() };
    await tx.admins.update({ id: admin.id }, patch);
    await ports.audit(tx, { ...by(actor), action: 'admin.reset-password', target: username });
    return { ...admin, ...patch };
  });
  await verifyPassword(ports, username, account.password);
  return changed;
}

/** Takes the second factor from an account and ends its sessions; throws NotFound, also when it has none. */
export async function resetSecondFactor(ports: OfflinePorts, actor: Actor, name: string): Promise<AdminRow> {
  const username = canonicalUsername(name);
  return ports.store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    const admin = await tx.admins.lock({ username });
    if (!admin) throw new NotFound('administrator');
    if (!(await removeSecondFactor(tx, admin.id))) throw new NotFound('second factor of the administrator');
    const patch = { generation: admin.generation + 1, updatedAt: ports.now() };
    await tx.admins.update({ id: admin.id }, patch);
    await ports.audit(tx, { ...by(actor), action: 'admin.reset-second-factor', target: username });
    return { ...admin, ...patch };
  });
}

/** Reads the committed hash back and throws unless the password opens it. */
export async function verifyPassword(
  { store, passwords }: OfflinePorts,
  username: string,
  password: string,
): Promise<void> {
  const kept = await store.read((tx) => tx.admins.find({ username }));
  if (!kept || !(await passwords.verify(kept.passwordHash, password))) throw notKept('password');
}

/** Reads the committed hash back and throws unless the secret fits it. */
export async function verifySecret(store: Store, { app, secret }: WithSecret): Promise<void> {
  const kept = await store.read((tx) => tx.apps.find({ clientId: app.clientId }));
  if (!kept || !secretMatches(secret, kept.secretHash)) throw notKept('secret');
}

function notKept(what: string): LocalError {
  return new LocalError('not_kept', 500, `The ${what} could not be verified after writing.`);
}
