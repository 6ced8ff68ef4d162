import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { AdminRow, ApiAppRow } from '../db/entities/identity.ts';
import type { Tx } from '../db/store.ts';
import { InvalidRequest } from '../errors.ts';
import { issueWords } from '../issue-words.ts';
import { facts as adminFacts, newAdminRow } from './admins.ts';
import { consoleAppRow, type WithSecret } from './api-app-row.ts';
import { type AppSettings, toColumns } from './api-app-rules.ts';
import { createApp, facts, merge } from './api-apps.ts';
import { by, FIRST_ADMIN } from './audit.ts';
import { type OfflinePorts, requireUsername, verifyPassword, verifySecret } from './offline.ts';
import { requireGoodPassword } from './passwords.ts';
import type { Actor } from './ports.ts';
import { ROLES } from './roles.ts';
import { canonicalUsername } from './sessions.ts';

const Policy = z.enum(['accept', 'refund']);
const Code = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"');
const Name = z.string().min(1).max(128);

/** What `payctl bootstrap apply` reads: what shall be there afterwards. Unknown members are refused. */
export const BootstrapDocument = z.strictObject({
  admins: z
    .array(
      z.strictObject({
        username: z.string(),
        role: z.enum(ROLES).default('admin'),
        /** Needed when the account is new, ignored otherwise; payctl fills it from a file. */
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

/** One thing of the document: what it is, and what was done about it. */
export interface Applied {
  kind: 'admin' | 'project' | 'app';
  name: string;
  done: 'created' | 'updated' | 'unchanged';
  clientId?: string;
  /** Of a new application; cannot be read again. */
  secret?: string;
}

/** The result of `applyBootstrap`. */
export interface BootstrapResult {
  changed: boolean;
  applied: Applied[];
}

type Document = z.output<typeof BootstrapDocument>;
type AdminEntry = Document['admins'][number] & { passwordHash?: string };

/**
 * Makes the database agree with the document in one transaction: creates what is missing, updates applications that
 * differ, never resets a password or a secret and never removes anything. Secrets are verified before they are told.
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

/** Hashing takes long, so it is done before the transaction and only for accounts that may be new. */
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
  // Only the first one begins the log: an account that is made later must not hide that the line of the first one is gone.
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
  if (!(await tx.projects.insertIfNew(row))) return { kind: 'project', name: code, done: 'unchanged' };
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
  const made = await createApp(tx, ports, actor, { ...defaults, ...wanted, project });
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
  if (isDeepStrictEqual(plain(facts(changed)), plain(facts(app)))) return { ...applied, done: 'unchanged' };
  await tx.apps.update({ clientId }, { ...patch, updatedAt: now() });
  await audit(tx, { ...by(actor), action: 'app.update', target: clientId, before: facts(app), after: facts(changed) });
  return { ...applied, done: 'updated' };
}

/** What comes from the database has its members in another order and may have another prototype. */
function plain(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}
