import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { AdminRow, ApiAppRow } from '../db/entities/identity.ts';
import type { Store, Tx } from '../db/store.ts';
import { FIRST_PROJECT, ROLES } from '../domain.ts';
import { InvalidRequest, LocalError, NotFound } from '../errors.ts';
import { issueWords } from '../issue-words.ts';
import { SafeText } from '../safe-text.ts';
import { adminFacts, newAdminRow } from './admins.ts';
import { type AppSettings, type WithSecret, consoleAppRow, secretMatches, toColumns } from './api-app-rows.ts';
import { appFacts, merge, writeApp } from './api-apps.ts';
import { type Audit, FIRST_ADMIN, by } from './audit.ts';
import { type Passwords, requireGoodPassword } from './passwords.ts';
import type { Actor } from './ports.ts';
import { removeSecondFactor } from './second-factors.ts';
import { canonicalUsername } from './sessions.ts';

/** These operations need no login: every user with access to the database may run them. */
export interface OfflinePorts {
  store: Store;
  passwords: Passwords;
  audit: Audit;
  now: () => Date;
}

/** The first administrator cannot be created, because an administrator already exists (409). */
export class AlreadyBootstrapped extends LocalError {
  constructor() {
    super('already_bootstrapped', 409, 'An administrator already exists.');
  }
}

export interface Account {
  username: string;
  password: string;
}

const Name = SafeText(1, 128);

/** Returns why the service would refuse a name of a project or application. Returns undefined if it is allowed. */
export function nameFault(name: string): string | undefined {
  return Name.safeParse(name, { error: issueWords }).error?.issues[0]?.message;
}

const userPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

/** Throws a 400 if the username is invalid. */
export function requireUsername(username: string): void {
  if (userPattern.test(username)) return;
  throw new InvalidRequest('Invalid username.', [
    { pointer: '/username', code: 'username_invalid', detail: 'must be 1 to 64 letters, digits, ".", "_", "@" or "-"' },
  ]);
}

/** Creates a random password that meets every password rule. */
export function generatePassword(): string {
  return randomBytes(18).toString('base64url');
}

/** The actor of offline operations: the user of the operating system and the host name. */
export function offlineActor(osUser: string, host: string): Actor {
  return { kind: 'offline', name: `${osUser}@${host}` };
}

/** Returns the number of administrators. */
export function countAdmins(store: Store): Promise<number> {
  return store.read((tx) => tx.admins.count({}));
}

/** Whether the project has an application with this name. */
export async function appExists(store: Store, project: string, name: string): Promise<boolean> {
  return store.read(async (tx) => (await tx.apps.count({ project, name, kind: 'merchant' })) > 0);
}

/**
 * Creates the first administrator, only once even in concurrent calls. With `merchantName`, the first project gets this
 * name in the same transaction. Throws AlreadyBootstrapped if an administrator exists.
 */
export async function createFirstAdmin(
  ports: OfflinePorts,
  actor: Actor,
  { merchantName, ...account }: Account & { merchantName?: string | undefined },
): Promise<AdminRow> {
  requireUsername(account.username);
  requireGoodPassword(account.password, account.username);
  const fault = merchantName === undefined ? undefined : nameFault(merchantName);
  if (fault !== undefined)
    throw new InvalidRequest('Invalid name of the merchant.', [
      { pointer: '/merchantName', code: 'name_invalid', detail: fault },
    ]);
  const passwordHash = await ports.passwords.hash(account.password);
  const row = newAdminRow({ username: account.username, role: 'admin' }, passwordHash, ports.now());
  await ports.store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    const named =
      merchantName === undefined ? undefined : await nameProject(tx, ports, FIRST_PROJECT.code, merchantName);
    await writeFirstAdmin(tx, ports, actor, row);
    if (named) await ports.audit(tx, { ...by(actor), ...named });
  });
  await verifyPassword(ports, row.username, account.password);
  return row;
}

/** Names a project. Returns the entry for the audit log; undefined if the project has the name already. */
async function nameProject(tx: Tx, { now }: Pick<OfflinePorts, 'now'>, code: string, name: string) {
  const before = await tx.projects.lock({ code });
  if (!before || before.name === name) return undefined;
  const patch = { name, updatedAt: now() };
  await tx.projects.update({ code }, patch);
  return { action: 'project.update', target: code, before, after: { ...before, ...patch } };
}

/** Checks that no administrator exists and writes the first one, in the caller's transaction. */
export async function writeFirstAdmin(
  tx: Tx,
  { audit }: Pick<OfflinePorts, 'audit'>,
  actor: Actor,
  row: AdminRow,
): Promise<void> {
  await tx.advisoryLock('admins');
  if ((await tx.admins.count({})) > 0) throw new AlreadyBootstrapped();
  await tx.admins.insert(row);
  await audit(tx, { ...by(actor), action: FIRST_ADMIN, target: row.username, after: adminFacts(row) });
}

/** Creates an application and verifies its secret against the stored hash, so that the returned secret works. */
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

/** Sets the password of an account and ends its sessions. Throws NotFound. A disabled account stays disabled. */
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

/** Removes the second factor of an account and ends its sessions. Throws NotFound if there is none. */
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

/** Reads the stored hash of an account back. Throws if the password does not match it. */
export async function verifyPassword(
  { store, passwords }: OfflinePorts,
  username: string,
  password: string,
): Promise<void> {
  const kept = await store.read((tx) => tx.admins.find({ username }));
  if (!kept || !(await passwords.verify(kept.passwordHash, password))) throw notKept('password');
}

/** Reads the stored hash of an application back. Throws if the secret does not match it. */
export async function verifySecret(store: Store, { app, secret }: WithSecret): Promise<void> {
  const kept = await store.read((tx) => tx.apps.find({ clientId: app.clientId }));
  if (!kept || !secretMatches(secret, kept.secretHash)) throw notKept('secret');
}

function notKept(what: string): LocalError {
  return new LocalError('not_kept', 500, `The new ${what} does not work: the hash in the database does not match it.`);
}

const Policy = z.enum(['accept', 'refund']);
const Code = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"');

/** The document that `payctl bootstrap apply` reads. Unknown properties are refused. */
export const BootstrapDocument = z.strictObject({
  admins: z
    .array(
      z.strictObject({
        username: z.string(),
        role: z.enum(ROLES).default('admin'),
        /** Required if the account does not exist yet, otherwise ignored. payctl reads the password from a file. */
        password: z.string().optional(),
      }),
    )
    .default([]),
  projects: z.array(z.strictObject({ code: Code, name: Name })).default([]),
  apps: z
    .array(
      z.strictObject({
        name: Name,
        project: Code.default('default'),
        scopes: z.array(z.string()),
        trusted: z.boolean().optional(),
        allowedIps: z.array(z.string()).optional(),
        rateLimit: z.int().min(0).max(1_000_000).nullable().optional(),
        latePayment: z
          .strictObject({ afterExpiry: Policy, afterClose: Policy, afterFailed: Policy })
          .partial()
          .optional(),
        remark: z.string().max(1000).nullable().optional(),
      }),
    )
    .default([]),
});

export interface Applied {
  kind: 'admin' | 'project' | 'app';
  name: string;
  done: 'created' | 'updated' | 'unchanged';
  clientId?: string;
  /** The secret, if the application was created. It cannot be read again later. */
  secret?: string;
}

export interface BootstrapResult {
  changed: boolean;
  applied: Applied[];
}

type Document = z.output<typeof BootstrapDocument>;
type AdminEntry = Document['admins'][number] & { passwordHash?: string };

/**
 * Applies the bootstrap document in one transaction: creates missing objects and updates applications that differ. A
 * project keeps its name, except the first one, which gets a name once. Passwords and secrets are never reset, and
 * nothing is deleted.
 */
export async function applyBootstrap(ports: OfflinePorts, actor: Actor, input: unknown): Promise<BootstrapResult> {
  const document = read(input);
  const admins = await Promise.all(document.admins.map((admin) => prepare(ports, admin)));
  const secrets: WithSecret[] = [];
  const applied = await ports.store.transaction(async (tx) => {
    await tx.advisoryLock('admins');
    await tx.advisoryLock('apps');
    const done: Applied[] = [];
    for (const project of document.projects) done.push(await applyProject(tx, ports, actor, project));
    for (const admin of admins) done.push(await applyAdmin(tx, ports, actor, admin));
    for (const app of document.apps) done.push(await applyApp(tx, ports, actor, app, secrets));
    return done;
  });
  for (const made of secrets) await verifySecret(ports.store, made);
  for (const { name, kind, done } of applied) {
    const password = admins.find(({ username }) => canonicalUsername(username) === name)?.password;
    if (kind === 'admin' && done === 'created') await verifyPassword(ports, name, password ?? '');
  }
  return { changed: applied.some(({ done }) => done !== 'unchanged'), applied };
}

function read(input: unknown): Document {
  const result = BootstrapDocument.safeParse(input, { error: issueWords });
  if (result.success) return result.data;
  throw new InvalidRequest(
    'The bootstrap document is not valid.',
    result.error.issues.map(({ path, code, message }) => ({ pointer: `/${path.join('/')}`, code, detail: message })),
  );
}

/** Hashes the password of an account that may be new. Hashing is slow, so it runs before the transaction. */
async function prepare({ store, passwords }: OfflinePorts, admin: AdminEntry): Promise<AdminEntry> {
  const username = canonicalUsername(admin.username);
  requireUsername(username);
  if (await store.read((tx) => tx.admins.find({ username }))) return { ...admin, username };
  const password = admin.password ?? '';
  requireGoodPassword(password, username, `/admins/${username}/password`);
  return { ...admin, username, passwordHash: await passwords.hash(password) };
}

async function applyAdmin(tx: Tx, ports: OfflinePorts, actor: Actor, admin: AdminEntry): Promise<Applied> {
  const { username, role, passwordHash } = admin;
  if (passwordHash === undefined || (await tx.admins.find({ username })))
    return { kind: 'admin', name: username, done: 'unchanged' };
  const row: AdminRow = newAdminRow({ username, role }, passwordHash, ports.now());
  // Only the line about the first administrator gets this action. If a later account also got it, the loss of the first
  // line would not be noticed.
  const action = (await tx.admins.count({})) === 0 ? FIRST_ADMIN : 'admin.create';
  await tx.admins.insert(row);
  await ports.audit(tx, { ...by(actor), action, target: username, after: adminFacts(row) });
  return { kind: 'admin', name: username, done: 'created' };
}

async function applyProject(
  tx: Tx,
  { audit, now }: OfflinePorts,
  actor: Actor,
  { code, name }: Document['projects'][number],
): Promise<Applied> {
  const at = now();
  const row = { code, name, enabled: true, remark: null, createdAt: at, updatedAt: at };
  if (!(await tx.projects.insertIfNew(row))) {
    const found = await tx.projects.lock({ code });
    const isNameless = code === FIRST_PROJECT.code && found?.name === FIRST_PROJECT.name;
    const named = isNameless ? await nameProject(tx, { now }, code, name) : undefined;
    if (named) await audit(tx, { ...by(actor), ...named });
    return { kind: 'project', name: code, done: named ? 'updated' : 'unchanged' };
  }
  await tx.apps.insertIfNew(consoleAppRow(code, at));
  await audit(tx, { ...by(actor), action: 'project.create', target: code, after: { code, name } });
  return { kind: 'project', name: code, done: 'created' };
}

async function applyApp(
  tx: Tx,
  ports: OfflinePorts,
  actor: Actor,
  { project, ...wanted }: Document['apps'][number],
  secrets: WithSecret[],
): Promise<Applied> {
  const [app] = await tx.apps.list({ project, name: wanted.name, kind: 'merchant' }, { orderBy: { createdAt: 'asc' } });
  if (app) return updateApp(tx, ports, actor, app, wanted);
  const defaults = { trusted: false, allowedIps: [], rateLimit: null, latePayment: null, remark: null };
  const made = await writeApp(tx, ports, actor, { ...defaults, ...wanted, project });
  secrets.push(made);
  return { kind: 'app', name: wanted.name, done: 'created', clientId: made.app.clientId, secret: made.secret };
}

async function updateApp(
  tx: Tx,
  { audit, now }: OfflinePorts,
  actor: Actor,
  found: ApiAppRow,
  wanted: Partial<AppSettings>,
): Promise<Applied> {
  const { clientId } = found;
  const app = (await tx.apps.lock({ clientId })) ?? found;
  const patch = toColumns(merge(app, wanted));
  const changed: ApiAppRow = { ...app, ...patch };
  const applied = { kind: 'app', name: app.name, clientId } as const;
  if (isDeepStrictEqual(plain(appFacts(changed)), plain(appFacts(app)))) return { ...applied, done: 'unchanged' };
  await tx.apps.update({ clientId }, { ...patch, updatedAt: now() });
  await audit(tx, {
    ...by(actor),
    action: 'app.update',
    target: clientId,
    before: appFacts(app),
    after: appFacts(changed),
  });
  return { ...applied, done: 'updated' };
}

/** Returns plain JSON for a comparison. Database rows may have another sequence of properties and another prototype. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
