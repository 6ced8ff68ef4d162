import { randomUUID } from 'node:crypto';
import type { AdminRow } from '../db/entities/identity.ts';
import type { Store, Tx } from '../db/store.ts';
import { Conflict, NotFound } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import { type Passwords, requireGoodPassword } from './passwords.ts';
import type { Actor, IdentityQueries, Part } from './ports.ts';
import { canonicalUsername } from './sessions.ts';

/** Nobody could administer the service any more (409). */
export class LastAdmin extends Conflict {
  constructor() {
    super('last_admin', 'The last enabled administrator cannot be disabled, demoted or deleted.', {
      hint: 'Create or enable another one first.',
    });
  }
}

/** The name belongs to another account (409). */
export class UsernameTaken extends Conflict {
  constructor() {
    super('username_taken', 'An administrator with this username already exists.');
  }
}

/** What the operations on administrators need. */
export interface AdminPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'admins'>;
  passwords: Passwords;
  audit: Audit;
  now: () => Date;
}

/** A new administrator. */
export interface NewAdmin {
  username: string;
  password: string;
  role: 'admin' | 'viewer';
}

/** What may be changed; a new password ends the account's sessions. */
export type AdminChange = Partial<{ role: 'admin' | 'viewer'; password: string; enabled: boolean }>;

/** The operations on console accounts. */
export interface Admins {
  list(part: Part & { username?: string }): Promise<AdminRow[]>;
  get(id: string): Promise<AdminRow>;
  create(actor: Actor, admin: NewAdmin): Promise<AdminRow>;
  update(actor: Actor, id: string, change: AdminChange): Promise<AdminRow>;
  /** Without `enabled` it flips. */
  toggle(actor: Actor, id: string, enabled: boolean | undefined): Promise<AdminRow>;
  remove(actor: Actor, id: string): Promise<void>;
}

/** Makes the operations; what takes an administrator away runs under one lock, so that one always stays. */
export function createAdmins(ports: AdminPorts): Admins {
  const { store, queries, audit } = ports;
  return {
    list: (part) =>
      store.read((tx) => queries.admins(tx, { ...part, username: part.username && canonicalUsername(part.username) })),
    get: (id) => store.read((tx) => found(tx.admins.find({ id }))),
    create: create(ports),
    update: update(ports),
    toggle: (actor, id, enabled) =>
      change(ports, actor, id, 'admin.toggle', (admin) => ({ enabled: enabled ?? !admin.enabled })),
    remove: (actor, id) =>
      store.transaction(async (tx) => {
        await tx.advisoryLock('admins');
        const admin = await found(tx.admins.lock({ id }));
        await tx.admins.delete({ id });
        await tx.sessions.delete({ adminId: id });
        await tx.knownAddresses.delete({ adminId: id });
        await requireOneLeft(tx);
        await audit(tx, { ...by(actor), action: 'admin.delete', target: admin.username, before: facts(admin) });
      }),
  };
}

/** The row of a new account. */
export function newAdminRow(admin: Omit<NewAdmin, 'password'>, passwordHash: string, at: Date): AdminRow {
  return {
    id: randomUUID(),
    username: canonicalUsername(admin.username),
    passwordHash,
    role: admin.role,
    enabled: true,
    generation: 1,
    createdAt: at,
    updatedAt: at,
    lastLoginAt: null,
  } as AdminRow;
}

/** What the audit log says about an account. */
export function facts({ username, role, enabled }: AdminRow): object {
  return { username, role, enabled };
}

function create({ store, passwords, audit, now }: AdminPorts): Admins['create'] {
  return async (actor, admin) => {
    requireGoodPassword(admin.password, admin.username);
    const row = newAdminRow(admin, await passwords.hash(admin.password), now());
    await store.transaction(async (tx) => {
      if (!(await tx.admins.insertIfNew(row))) throw new UsernameTaken();
      await audit(tx, { ...by(actor), action: 'admin.create', target: row.username, after: facts(row) });
    });
    return row;
  };
}

function update(ports: AdminPorts): Admins['update'] {
  const { store, passwords } = ports;
  return async (actor, id, { password, ...rest }) => {
    if (password === undefined) return change(ports, actor, id, 'admin.update', () => rest);
    const { username } = await store.read((tx) => found(tx.admins.find({ id })));
    requireGoodPassword(password, username);
    const passwordHash = await passwords.hash(password);
    return change(ports, actor, id, 'admin.update', () => ({ ...rest, passwordHash }));
  };
}

function change(
  { store, audit, now }: AdminPorts,
  actor: Actor,
  id: string,
  action: string,
  decide: (admin: AdminRow) => Partial<AdminRow>,
): Promise<AdminRow> {
  return store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    const admin = await found(tx.admins.lock({ id }));
    const decided = decide(admin);
    const patch = Object.fromEntries(Object.entries(decided).filter(([, value]) => value !== undefined));
    const changed: AdminRow = { ...admin, ...patch, updatedAt: now() };
    const endsSessions = changed.passwordHash !== admin.passwordHash || (admin.enabled && !changed.enabled);
    if (endsSessions) changed.generation += 1;
    const { passwordHash, role, enabled, generation, updatedAt } = changed;
    await tx.admins.update({ id }, { passwordHash, role, enabled, generation, updatedAt });
    await requireOneLeft(tx);
    const passwordChanged = changed.passwordHash !== admin.passwordHash;
    const after = { ...facts(changed), passwordChanged };
    await audit(tx, { ...by(actor), action, target: admin.username, before: facts(admin), after });
    return changed;
  });
}

/** Call it after the change, under the lock `admins`. */
async function requireOneLeft(tx: Tx): Promise<void> {
  if ((await tx.admins.count({ role: 'admin', enabled: true })) === 0) throw new LastAdmin();
}

async function found(row: Promise<AdminRow | undefined>): Promise<AdminRow> {
  const admin = await row;
  if (!admin) throw new NotFound('administrator');
  return admin;
}
