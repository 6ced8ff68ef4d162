// The offline commands of payctl. They access the database directly, with the configuration and rules of the server.
import { existsSync } from 'node:fs';
import type {
  BootstrapPlan,
  BootstrapResult,
  DatabaseDescription,
  Offline,
  OfflineActor,
  OfflineAdmin,
  OfflineApp,
  OfflineInput,
} from './port.ts';
import type { Config } from '../../config/config.ts';
import { ensureEmbeddedSecrets } from '../../config/embedded-secrets.ts';
import { loadConfig } from '../../config/load.ts';
import { projectName } from '../catalog/projects.ts';
import { CHANNEL_KINDS, channelSerial } from '../channels/registry.ts';
import { leaveAllModes } from '../credentials/other-modes.ts';
import type { CredentialPorts } from '../credentials/ports.ts';
import { createEncryption, rotateMasterKey } from '../db/encryption.ts';
import { DatabaseClock } from '../db/clock.ts';
import { placeOf } from '../db/connections.ts';
import type { AdminRow } from '../db/entities/identity.ts';
import { migrate, schemaStatus, seed } from '../db/migrate.ts';
import { MIGRATIONS } from '../db/migrations/index.ts';
import { type OpenDatabase, openDatabase } from '../db/orm.ts';
import { migrationsRun } from '../db/queries/restored.ts';
import { type Store, createStore } from '../db/store.ts';
import { FIRST_PROJECT } from '../domain.ts';
import { LocalError } from '../errors.ts';
import { type WithSecret, consoleAppRow, testAppRows } from '../identity/api-app-rows.ts';
import { by, createAudit, deriveAuditKey, keepFormerAuditKeys } from '../identity/audit.ts';
import {
  type OfflinePorts,
  appExists,
  applyBootstrap,
  countAdmins,
  createApp,
  createFirstAdmin,
  nameFault,
  offlineActor,
  resetPassword,
  resetSecondFactor,
} from '../identity/offline.ts';
import { createPasswords } from '../identity/passwords.ts';
import type { Actor } from '../identity/ports.ts';
import { type OpenCopy, backup, openCopy, openLive } from './copy.ts';
import { examine, examineRestored } from './examine.ts';

/** Opens the service's database for the offline commands, with the configuration and rules of the server. */
export async function openOffline(input: OfflineInput): Promise<Offline> {
  const { config, database } = await openWanted(input);
  const store = createStore(database, async () => {});
  const clock = new DatabaseClock();
  await clock.query(database);
  const { now } = clock;
  const auditing = { now, key: deriveAuditKey(config.security.masterKeys[0]!) };
  const ports: OfflinePorts = { store, passwords: createPasswords(), audit: createAudit(auditing), now };
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
    merchant: async () => ({
      name: await projectName(store)(FIRST_PROJECT.code),
      ...proposedName(config.server.publicUrl),
    }),
    nameFault,
    async createFirstAdmin({ actor, ...account }) {
      await seeded();
      return offlineAdmin(await createFirstAdmin(ports, actorOf(actor), account));
    },
    async createApp({ actor, project = 'default', trusted = false, remark = null, ...rest }) {
      await seeded();
      if (await appExists(store, project, rest.name)) throw new AppNameTaken(rest.name, project);
      const settings = { ...rest, project, trusted, remark, allowedIps: [], rateLimit: null, latePayment: null };
      return offlineApp(await createApp(ports, actorOf(actor), settings));
    },
    listApps: () => listApps(store),
    resetPassword: async ({ username, password, actor }) =>
      offlineAdmin(await resetPassword(ports, actorOf(actor), { username, password })),
    resetSecondFactor: async ({ username, actor }) =>
      offlineAdmin(await resetSecondFactor(ports, actorOf(actor), username)),
    async applyBootstrap({ plan, actor }) {
      await seeded();
      const result = await applyBootstrap(ports, actorOf(actor), documentOf(plan));
      return resultOf(plan, result.changed, result.applied, await listApps(store));
    },
    distrustOtherModes: async ({ actor }) => {
      const left = await leaveAllModes(credentialPorts(config, store, ports), actorOf(actor));
      return {
        keys: left.map(({ id, project, payWay, kind, mode }) => {
          return { id, project, payWay, kind, mode: mode ?? '', trusted: false };
        }),
      };
    },
    rotateMasterKey: ({ actor }) => reencryptAll(store, config, ports, actorOf(actor)),
    backup: (target) => backup(database, target),
    examine: () => examine(config, store, now()),
    checkRestored: ({ tip, acceptUntil }) =>
      examineRestored(config, store, now(), {
        tip,
        acceptUntil: acceptUntil === undefined ? undefined : BigInt(acceptUntil),
      }),
    close: () => database.close(),
  };
}

/** The proposed name of the merchant. Payers do not know IP addresses, nor hosts without a dot. */
export function proposedName(publicUrl: string): { proposed?: string } {
  const { hostname } = new URL(publicUrl);
  return /\.[a-z][\w-]*$/.test(hostname) ? { proposed: hostname } : {};
}

/** An attempt to send a request to a channel fails with an error. */
function credentialPorts(config: Config, store: Store, { audit, now }: OfflinePorts): CredentialPorts {
  return {
    store,
    encryption: createEncryption(config.security.masterKeys),
    kinds: CHANNEL_KINDS,
    audit,
    serialOf: channelSerial,
    transportTo: () => () => Promise.reject(new Error('Offline commands send no requests to channels.')),
    now,
    simulatorUrl: config.simulator.url ?? null,
    simulated: config.simulated,
    purpose: config,
  };
}

async function openWanted({ config: file, mustExist, restored, ...where }: OfflineInput): Promise<OpenCopy> {
  const { cwd } = where;
  const loaded = loadConfig({ argv: file === undefined ? {} : { config: file }, ...where });
  if (typeof restored === 'object') return openCopy(loaded, cwd, restored);
  const { folder } = loaded.database;
  if (mustExist && folder !== undefined && !existsSync(folder)) throw new NoDatabase(folder);
  const config = await ensureEmbeddedSecrets(loaded);
  const database = await (restored ? openLive(config) : openDatabase({ ...config.database, poolSize: 2 }));
  return { config, database };
}

class NoDatabase extends LocalError {
  constructor(folder: string) {
    super('database_unavailable', 503, `The database ${folder} does not exist yet.`, { hint: 'payctl server migrate' });
  }
}

class AppNameTaken extends LocalError {
  constructor(name: string, project: string) {
    super('already_exists', 409, `The application ${name} already exists in the project ${project}.`);
  }
}

function actorOf({ osUser, host }: OfflineActor) {
  return offlineActor(osUser, host);
}

async function describe(config: Config, database: OpenDatabase, store: Store): Promise<DatabaseDescription> {
  const { version, pending } = await schemaStatus(database);
  const newer = (await store.read(migrationsRun)).filter((name) => !MIGRATIONS.some((known) => known.name === name));
  const embedded = database.kind === 'pglite';
  return {
    kind: embedded ? 'embedded' : 'postgresql',
    place: embedded ? (config.database.folder ?? 'memory') : placeOf(config.database.url),
    name: embedded ? 'pglite' : new URL(config.database.url).pathname.slice(1),
    schema: { version, pending: pending.length, newer },
    administrators: version === null ? null : await countAdmins(store),
  };
}

function offlineAdmin(admin: AdminRow): OfflineAdmin {
  return { id: admin.id, username: admin.username, role: admin.role };
}

function offlineApp({ app, secret }: WithSecret): OfflineApp {
  const { clientId, name, project, scopes } = app;
  return { client_id: clientId, client_secret: secret, name, project, scopes };
}

async function listApps(store: Store): Promise<{ client_id: string; name: string; project: string }[]> {
  const apps = await store.read((tx) => tx.apps.list({ kind: 'merchant' }, { orderBy: { createdAt: 'asc' } }));
  return apps.map(({ clientId, name, project }) => ({ client_id: clientId, name, project }));
}

function documentOf({ admin, projects, apps }: BootstrapPlan): object {
  return { admins: admin ? [admin] : [], projects, apps };
}

/** The API applications have the sequence of the plan. Only new applications have a secret. */
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
    projects: applied
      .filter(({ kind }) => kind === 'project')
      .map(({ name, done }) => ({ code: name, changed: done !== 'unchanged' })),
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

/** Encrypts every data key with the newest master key. Keeps older audit log keys, which old lines still need. */
export async function reencryptAll(
  store: Store,
  config: Config,
  { audit, now }: Pick<OfflinePorts, 'audit' | 'now'>,
  actor: Actor,
): Promise<{ keyId: string; rewrapped: number }> {
  const { masterKeys } = config.security;
  await store.transaction((tx) => keepFormerAuditKeys(tx, masterKeys, createEncryption(masterKeys), now()));
  const result = await rotateMasterKey(store, masterKeys);
  await store.transaction((tx) =>
    audit(tx, { ...by(actor), action: 'keys.rotate', target: result.keyId, after: { rewrapped: result.rewrapped } }),
  );
  return result;
}
