/**
 * What the offline commands expect of `server/offline/open.ts`: `openOffline(input): Promise<Offline>`.
 *
 * Failures are errors with a stable `code` (and `status`, as AppError has them):
 * `database_in_use` (extra: pid, host, since) · `copy_is_live` · `copy_unreadable` · `schema_outdated` · `schema_unreleased` · `already_bootstrapped` · `already_exists` ·
 * `database_unavailable` · `not_found` · `invalid_request` with `errors[]`; a configuration's faults are a `ConfigFaults`.
 */
import type { OtherModeKey } from '../db/queries/diagnosis.ts';

/** Where the configuration comes from: the same loader, files and environment names as the server. */
export interface OfflineInput {
  /** Path given by --config. */
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Refuse with `database_unavailable` instead of making an embedded database (and its secrets) that is not there. */
  mustExist?: boolean;
  /** For `checkRestored`: a copy in the place of the configured database, or that one itself, to be read at leisure. */
  restored?: CopyInput | 'live';
}

/** A restored copy of the database. */
export interface CopyInput {
  /** URL of PostgreSQL, folder of an embedded database, or file that `server backup` wrote. */
  place: string;
  /** Folder with the secrets of an embedded database, where they are not beside it. */
  secrets?: string;
}

/** Who does it, for the audit row (`actor = offline`). */
export interface OfflineActor {
  osUser: string;
  host: string;
}

/** The database that is about to be written to. */
export interface DatabaseDescription {
  kind: 'embedded' | 'postgresql';
  /** Absolute folder, or host:port. */
  place: string;
  name: string;
  schema: {
    /** Name of the newest applied migration; null = empty database. */
    version: string | null;
    pending: number;
    /** Names of migrations that ran there and that this release does not have. */
    newer: string[];
  };
  /** Null while the schema does not have the table yet. */
  administrators: number | null;
}

/** A created administrator; never the password. */
export interface OfflineAdmin {
  id: string;
  username: string;
  role: string;
}

/** A created API application with its secret, revealed after commit and read-back. */
export interface OfflineApp {
  client_id: string;
  client_secret: string;
  name: string;
  project: string;
  scopes: string[];
}

/** The wanted state of `bootstrap apply`; a password is used only when the administrator does not exist yet. */
export interface BootstrapPlan {
  admin?: { username: string; password: string };
  apps: { name: string; scopes: string[]; project?: string; trusted?: boolean }[];
}

/** What `bootstrap apply` did; only new apps carry a secret. */
export interface BootstrapResult {
  changed: boolean;
  admin: { username: string; created: boolean } | null;
  apps: (({ created: true } & OfflineApp) | { created: false; client_id: string; name: string })[];
}

/** What `doctor --offline` judges: facts of the configuration and of a database whose schema is up to date. */
export interface Examination {
  debug: boolean;
  /** Whether simulator channels take orders. */
  simulated: boolean;
  production: boolean;
  publicUrl: string;
  channels: { project: string; payWay: string; mode: string; enabled: boolean; missing: string[] }[];
  /** Keys that verify and belong to another mode than the channel's configuration. */
  otherModes: OtherModeKey[];
  /** Default certificates of the accounts in use that end some time. */
  certs: { project: string; payWay: string; kind: string; daysLeft: number }[];
  /** Records that the configured master keys do not open, and those under a key that is not the newest. */
  encrypted: {
    total: number;
    underOldKeys: number;
    broken: { record: string; why: string; keyId: string | null }[];
  };
  /** Skills on sale whose handler will never be called. */
  uncallable: { project: string; code: string; fault: string }[];
  openExceptions: number;
  abnormalRefunds: number;
  /** Orders that should have ended an hour ago. */
  overdueOrders: number;
  diagnosis: Diagnosed;
}

/** What the service finds wrong with itself, running or not. */
export interface Diagnosed {
  production: boolean;
  /** Server.AdminNetworks is empty. */
  consoleOpen: boolean;
  explorer: boolean;
  /** Where the service listens, when its public URL is another port of its machine. */
  listensElsewhere: string | null;
  /** How many enabled administrators there are, how many have no second factor, and whether the configuration requires one. */
  secondFactors: { required: boolean; administrators: number; without: number };
  /** By how much the clock of the machine is ahead of the database's. */
  clockAheadSeconds: number;
  failingWebhooks: { clientId: string; retrying: number; givenUp: number; lastError: string | null }[];
  /** Accounts that could approve what waits; null where nothing has to wait. */
  approvers: number | null;
  silentNotices: { project: string; payWay: string; payments: number }[];
}

/** What `server restore-check` judges: what was read from end to end of a copy whose schema is up to date. */
export interface RestoredFacts {
  encrypted: Examination['encrypted'];
  /** Every check of the books and of the audit log. */
  proofs: { check: string; promise: string; ok: boolean; count: number; examples: { id: string; detail: string }[] }[];
  auditLog: { lines: number; tip: string };
  /** Where each sequence stands and the highest number beside it; 0 = none yet. */
  sequences: { table: string; column: string; sequence: string; last: string; highest: string }[];
  /** Numbers that are missing in what is never removed; the first ones, as `7` or `7-9`. */
  gaps: { table: string; missing: string; first: string[] }[];
  /** The event log as its readers see it. */
  events: { read: number; last: string };
  /** The newest moment at which anything was written; null = the database is empty. */
  newest: { table: string; at: string } | null;
  /** Rows that say that they were written later than now. */
  future: { table: string; column: string; rows: number; latest: string }[];
}

/** Direct access to the service's database, for one process at a time on the embedded one. */
export interface Offline {
  describeDatabase(): Promise<DatabaseDescription>;
  /** Brings the schema up to date; never called without the user's word. */
  migrate(): Promise<{ applied: string[] }>;
  countAdmins(): Promise<number>;
  /** In one transaction under the advisory lock; `already_bootstrapped` when an administrator exists. */
  createFirstAdmin(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** `already_exists` when an app of this name exists in the project. */
  createApp(input: {
    name: string;
    scopes: string[];
    project?: string;
    trusted?: boolean;
    remark?: string;
    actor: OfflineActor;
  }): Promise<OfflineApp>;
  /** The applications there are, to know which secrets a plan will make. */
  listApps(): Promise<{ client_id: string; name: string; project: string }[]>;
  /** Sets a new password and ends the administrator's sessions; `not_found` for an unknown name. */
  resetPassword(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** Takes the second factor from an administrator and ends the sessions; `not_found` for an unknown name or where there is none. */
  resetSecondFactor(input: { username: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  applyBootstrap(input: { plan: BootstrapPlan; actor: OfflineActor }): Promise<BootstrapResult>;
  /** Distrusts the keys of other modes than the channels' configurations. */
  distrustOtherModes(input: { actor: OfflineActor }): Promise<{ keys: Omit<OtherModeKey, 'present'>[] }>;
  /** Re-wraps every sealed record with the newest key of Security.MasterKey. */
  rotateMasterKey(input: { actor: OfflineActor }): Promise<{ keyId: string; rewrapped: number }>;
  /** Writes a backup of the embedded database into a file that must not exist (0600, complete or not at all). */
  backup(file: string): Promise<{ bytes: number }>;
  /** Reads the facts; writes nothing. Only when no migration is pending. */
  examine(): Promise<Examination>;
  /** Reads everything there is, and writes nothing. Only when no migration is pending. */
  checkRestored(knowledge: { tip?: string; acceptUntil?: string }): Promise<RestoredFacts>;
  close(): Promise<void>;
}
