import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AdminRow } from '../db/entities/identity.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import { Conflict, InvalidRequest, NotFound } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import { type Passwords, requireGoodPassword } from './passwords.ts';
import type { Actor, IdentityQueries, Part } from './ports.ts';
import type { Role } from '../domain.ts';
import { removeSecondFactor } from './second-factors.ts';
import { canonicalUsername } from './sessions.ts';

class LastAdmin extends Conflict {
  constructor() {
    super('last_admin', 'The last administrator of all projects cannot be disabled, demoted, limited or deleted.', {
      hint: 'Create or enable another administrator of all projects first.',
    });
  }
}

class UsernameTaken extends Conflict {
  constructor() {
    super('username_taken', 'An administrator with this username already exists.');
  }
}

interface AdminPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'admins'>;
  passwords: Passwords;
  audit: Audit;
  now: () => Date;
}

interface NewAdmin {
  username: string;
  password: string;
  role: Role;
  /** Codes of the projects that the administrator may access. null or absent = all projects. */
  projects?: readonly string[] | null | undefined;
}

/** The account's sessions end if the password or the projects change, or if the account is disabled. */
type AdminChange = Partial<Pick<NewAdmin, 'role' | 'password' | 'projects'> & { enabled: boolean }>;

export type KnownAdmin = AdminRow & { secondFactor: boolean };

export interface Admins {
  list(part: Part & { username?: string }): Promise<KnownAdmin[]>;
  get(id: string): Promise<KnownAdmin>;
  create(actor: Actor, admin: NewAdmin): Promise<KnownAdmin>;
  update(actor: Actor, id: string, change: AdminChange): Promise<KnownAdmin>;
  /** Enables or disables an account. Without `enabled`, an enabled account is disabled, and vice versa. */
  toggle(actor: Actor, id: string, enabled: boolean | undefined): Promise<KnownAdmin>;
  remove(actor: Actor, id: string): Promise<void>;
}

/**
 * Creates the operations on administrator accounts. Changes run one after another under one lock, so that at least one
 * administrator always remains.
 */
export function createAdmins(ports: AdminPorts): Admins {
  const { store, queries, audit } = ports;
  return {
    list: (part) =>
      store.read(async (tx) => {
        const username = part.username && canonicalUsername(part.username);
        return withFactors(tx, await queries.admins(tx, { ...part, username }));
      }),
    get: (id) => store.read(async (tx) => withFactor(tx, await found(tx.admins.find({ id })))),
    create: create(ports),
    update: update(ports),
    toggle: (actor, id, enabled) =>
      change(ports, actor, id, 'admin.toggle', (admin) => ({ enabled: enabled ?? !admin.enabled })),
    remove: (actor, id) =>
      store.transaction(async (tx) => {
        await tx.advisoryLock('admins');
        const admin = await found(tx.admins.lock({ id }));
        await tx.admins.delete({ id });
        await removeSecondFactor(tx, id);
        await tx.sessions.delete({ adminId: id });
        await tx.knownAddresses.delete({ adminId: id });
        await requireOneLeft(tx);
        await audit(tx, { ...by(actor), action: 'admin.delete', target: admin.username, before: adminFacts(admin) });
      }),
  };
}

async function withFactors(tx: ReadTx, admins: readonly AdminRow[]): Promise<KnownAdmin[]> {
  if (admins.length === 0) return [];
  const factors = await tx.secondFactors.list({ adminId: admins.map(({ id }) => id) });
  const enabled = new Set(factors.filter(({ encrypted }) => encrypted !== null).map(({ adminId }) => adminId));
  return admins.map((admin) => ({ ...admin, secondFactor: enabled.has(admin.id) }));
}

async function withFactor(tx: ReadTx, admin: AdminRow): Promise<KnownAdmin> {
  return (await withFactors(tx, [admin]))[0]!;
}

/** Returns the row of a new account. */
export function newAdminRow(admin: Omit<NewAdmin, 'password'>, passwordHash: string, at: Date): AdminRow {
  return {
    id: randomUUID(),
    username: canonicalUsername(admin.username),
    passwordHash,
    role: admin.role,
    projects: storedProjects(admin.projects ?? null),
    enabled: true,
    generation: 1,
    createdAt: at,
    updatedAt: at,
    lastLoginAt: null,
  } as AdminRow;
}

/** Returns the properties of an account that the audit log records. */
export function adminFacts(admin: AdminRow): object {
  const { username, role, projects, enabled } = admin;
  return { username, role, projects, enabled };
}

function create({ store, passwords, audit, now }: AdminPorts): Admins['create'] {
  return async (actor, admin) => {
    requireGoodPassword(admin.password, admin.username);
    const row = newAdminRow(admin, await passwords.hash(admin.password), now());
    await store.transaction(async (tx) => {
      await requireProjects(tx, row.projects);
      if (!(await tx.admins.insertIfNew(row))) throw new UsernameTaken();
      await audit(tx, { ...by(actor), action: 'admin.create', target: row.username, after: adminFacts(row) });
    });
    return { ...row, secondFactor: false };
  };
}

function update(ports: AdminPorts): Admins['update'] {
  const { store, passwords } = ports;
  return async (actor, id, { password, role, projects, enabled }) => {
    const patch: Partial<AdminRow> = {
      ...(enabled !== undefined && { enabled }),
      ...(role !== undefined && { role }),
      ...(projects !== undefined && { projects: storedProjects(projects) }),
    };
    if (password === undefined) return change(ports, actor, id, 'admin.update', () => patch);
    const { username } = await store.read((tx) => found(tx.admins.find({ id })));
    requireGoodPassword(password, username);
    const passwordHash = await passwords.hash(password);
    return change(ports, actor, id, 'admin.update', () => ({ ...patch, passwordHash }));
  };
}

function change(
  { store, audit, now }: AdminPorts,
  actor: Actor,
  id: string,
  action: string,
  decide: (admin: AdminRow) => Partial<AdminRow>,
): Promise<KnownAdmin> {
  return store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    const admin = await found(tx.admins.lock({ id }));
    const changed: AdminRow = { ...admin, ...decide(admin), updatedAt: now() };
    if (!isDeepStrictEqual(changed.projects, admin.projects)) await requireProjects(tx, changed.projects);
    if (endsSessions(admin, changed)) changed.generation += 1;
    const { passwordHash, role, projects, enabled, generation, updatedAt } = changed;
    await tx.admins.update({ id }, { passwordHash, role, projects, enabled, generation, updatedAt });
    await requireOneLeft(tx);
    const passwordChanged = changed.passwordHash !== admin.passwordHash;
    const after = { ...adminFacts(changed), passwordChanged };
    await audit(tx, { ...by(actor), action, target: admin.username, before: adminFacts(admin), after });
    return withFactor(tx, changed);
  });
}

/** A change of projects ends sessions too: open event streams would continue to send events of the old projects. */
function endsSessions(before: AdminRow, after: AdminRow): boolean {
  return (
    after.passwordHash !== before.passwordHash ||
    (before.enabled && !after.enabled) ||
    !isDeepStrictEqual(after.projects, before.projects)
  );
}

/** Locks the projects, so that they cannot be deleted before the commit. */
async function requireProjects(tx: Tx, projects: readonly string[] | null): Promise<void> {
  for (const code of projects ?? [])
    if (!(await tx.projects.lock({ code })))
      throw new InvalidRequest(`The project ${code} does not exist.`, [
        { pointer: '/projects', code: 'project_unknown', detail: `${code} does not exist` },
      ]);
}

/**
 * Throws if no enabled administrator of all projects is left. Call it after the change, while the lock `admins` is
 * held.
 */
async function requireOneLeft(tx: Tx): Promise<void> {
  if ((await tx.admins.count({ role: 'admin', projects: null, enabled: true })) === 0) throw new LastAdmin();
}

async function found(row: Promise<AdminRow | undefined>): Promise<AdminRow> {
  const admin = await row;
  if (!admin) throw new NotFound('administrator');
  return admin;
}

/** The project codes are sorted, each once. null = all projects. */
function storedProjects(projects: readonly string[] | null): string[] | null {
  return projects && [...new Set(projects)].toSorted();
}
