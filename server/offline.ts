import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import { ensureEmbeddedSecrets } from '../config/embedded-secrets.ts';
import { loadConfig } from '../config/load.ts';
import type {
  BootstrapPlan,
  BootstrapResult,
  DatabaseDescription,
  Offline,
  OfflineApp,
  OfflineInput,
} from '../cli/offline-port.ts';
import { migrate, schemaStatus } from './db/migrate.ts';
import { openDatabase, type OpenDatabase } from './db/orm.ts';
import { seed } from './db/seed.ts';
import { createStore, type Store } from './db/store.ts';
import { AppError, Conflict } from './errors.ts';
import { consoleAppRow, type WithSecret } from './identity/api-app-row.ts';
import { createAudit } from './identity/audit.ts';
import { applyBootstrap } from './identity/bootstrap.ts';
import {
  appExists,
  countAdmins,
  createApp,
  createFirstAdmin,
  offlineActor,
  resetPassword,
  type OfflinePorts,
} from './identity/offline.ts';
import { createPasswords } from './identity/passwords.ts';
import { testAppRows } from './identity/test-apps.ts';
import { examine } from './offline-examine.ts';
import { rotateSeals } from './offline-keys.ts';

/** Opens the service's database for the offline commands, with the server's own configuration and rules. */
export async function openOffline({ config: file, env, cwd, mustExist }: OfflineInput): Promise<Offline> {
  const loaded = loadConfig({ argv: file === undefined ? {} : { config: file }, env, cwd });
  const { folder } = loaded.database;
  if (mustExist && folder !== undefined && !existsSync(folder)) throw new NoDatabase(folder);
  const config = await ensureEmbeddedSecrets(loaded);
  const database = await openDatabase({ ...config.database, poolSize: 2 });
  const store = createStore(database, async () => {});
  const now = () => new Date();
  const ports: OfflinePorts = { store, passwords: createPasswords(), audit: createAudit({ now }), now };
  const seeded = () => seed(store, { consoleApp: consoleAppRow, testApps: testAppRows }, { debug: false, now });

  return {
    describeDatabase: () => describe(config, database, store),
    async migrate() {
      const before = await schemaStatus(database);
      await migrate(database);
      await seeded();
      return { applied: before.pending };
    },
    countAdmins: () => countAdmins(store),
    async createFirstAdmin({ username, password, actor }) {
      await seeded();
      const { id, role, username: name } = await createFirstAdmin(ports, actorOf(actor), { username, password });
      return { id, role, username: name };
    },
    async createApp({ actor, project = 'default', trusted = false, remark = null, ...rest }) {
      await seeded();
      if (await appExists(store, project, rest.name)) throw new AppNameTaken(rest.name, project);
      const settings = { ...rest, project, trusted, remark, allowedIps: [], rateLimit: null, latePayment: null };
      return offlineApp(await createApp(ports, actorOf(actor), settings));
    },
    listApps: () => listApps(store),
    async resetPassword({ username, password, actor }) {
      const { id, role, username: name } = await resetPassword(ports, actorOf(actor), { username, password });
      return { id, role, username: name };
    },
    async applyBootstrap({ plan, actor }) {
      await seeded();
      const result = await applyBootstrap(ports, actorOf(actor), documentOf(plan));
      return resultOf(plan, result.changed, result.applied, await listApps(store));
    },
    rotateMasterKey: ({ actor }) => rotateSeals(store, config, ports.audit, actorOf(actor)),
    backup: (target) => backup(database, target),
    examine: () => examine(config, store, now()),
    close: () => database.close(),
  };
}

/** The embedded database is not there, and the command makes none (503). */
class NoDatabase extends AppError {
  constructor(folder: string) {
    super('database_unavailable', 503, `There is no database in ${folder} yet.`, { hint: 'payctl server migrate' });
  }
}

/** There is an application of this name in the project (409). */
class AppNameTaken extends Conflict {
  constructor(name: string, project: string) {
    super('already_exists', `There is an application ${name} in the project ${project} already.`);
  }
}

function actorOf({ osUser, host }: { osUser: string; host: string }) {
  return offlineActor(osUser, host);
}

async function describe(config: Config, database: OpenDatabase, store: Store): Promise<DatabaseDescription> {
  const { version, pending } = await schemaStatus(database);
  const embedded = database.kind === 'pglite';
  const url = embedded ? undefined : new URL(config.database.url);
  return {
    kind: embedded ? 'embedded' : 'postgresql',
    place: embedded ? (config.database.folder ?? 'memory') : url!.host,
    name: embedded ? 'pglite' : url!.pathname.slice(1),
    schema: { version, pending: pending.length },
    administrators: version === null ? null : await countAdmins(store),
  };
}

function offlineApp({ app, secret }: WithSecret): OfflineApp {
  const { clientId, name, project, scopes } = app;
  return { client_id: clientId, client_secret: secret, name, project, scopes };
}

async function listApps(store: Store): Promise<{ client_id: string; name: string; project: string }[]> {
  const apps = await store.read((tx) => tx.apps.list({ kind: 'merchant' }, { orderBy: { createdAt: 'asc' } }));
  return apps.map(({ clientId, name, project }) => ({ client_id: clientId, name, project }));
}

function documentOf({ admin, apps }: BootstrapPlan): object {
  return { admins: admin ? [admin] : [], apps };
}

function resultOf(
  plan: BootstrapPlan,
  changed: boolean,
  applied: readonly { kind: string; name: string; done: string; clientId?: string; secret?: string }[],
  known: readonly { client_id: string; name: string; project: string }[],
): BootstrapResult {
  const admin = applied.find(({ kind }) => kind === 'admin');
  const apps = applied.filter(({ kind }) => kind === 'app');
  return {
    changed,
    admin: admin ? { username: admin.name, created: admin.done === 'created' } : null,
    apps: plan.apps.map((wanted, index) => {
      const done = apps[index];
      const project = wanted.project ?? 'default';
      if (done?.secret && done.clientId)
        return {
          created: true as const,
          client_id: done.clientId,
          client_secret: done.secret,
          name: wanted.name,
          project,
          scopes: wanted.scopes,
        };
      const found = known.find((app) => app.name === wanted.name && app.project === project);
      return { created: false as const, client_id: done?.clientId ?? found?.client_id ?? '', name: wanted.name };
    }),
  };
}

/** Complete or not at all: written beside the target, then linked, which fails when the target exists. */
async function backup(database: OpenDatabase, target: string): Promise<{ bytes: number }> {
  if (database.kind !== 'pglite')
    throw new Conflict(
      'backup_not_embedded',
      'Only the embedded database is backed up here; use pg_dump for PostgreSQL.',
    );
  const connection = database.orm.em.getConnection() as unknown as {
    getNativeClient(): Promise<{ dumpDataDir(compression: 'gzip'): Promise<Blob> }>;
  };
  const dump = await (await connection.getNativeClient()).dumpDataDir('gzip');
  const bytes = Buffer.from(await dump.arrayBuffer());
  const draft = `${target}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
    await link(draft, target);
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return { bytes: bytes.length };
}
