/**
 * The interface of `server/offline/open.ts` for the offline commands: `openOffline(input): Promise<Offline>`.
 *
 * Failures are errors with a stable `code` (and `status`, as AppError has them):
 * `database_in_use` (extra: pid, host, since) · `copy_is_live` · `copy_unreadable` · `schema_outdated` · `schema_unreleased` · `already_bootstrapped` · `already_exists` ·
 * `database_unavailable` · `not_found` · `invalid_request` with `errors[]`; a configuration's faults are a `ConfigFaults`.
 */
import type { OtherModeKey } from '../db/queries/diagnosis.ts';

/** The source of the configuration: the same loader, files and environment names as the server. */
export interface OfflineInput {
  /** Path given by --config. */
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** Throw `database_unavailable` instead of creating a missing embedded database and its secrets. */
  mustExist?: boolean;
  /** For `checkRestored`: a copy instead of the configured database, or `live` for that one without statement timeouts. */
  restored?: CopyInput | 'live';
}

/** A restored copy of the database. */
export interface CopyInput {
  /** PostgreSQL URL, folder of an embedded database, or file written by `server backup`. */
  place: string;
  /** Folder with the secrets of an embedded database, if not beside it. */
  secrets?: string;
}

/** The operator, for the audit entry (`actor = offline`). */
export interface OfflineActor {
  osUser: string;
  host: string;
}

/** The database to which a command writes. */
export interface DatabaseDescription {
  kind: 'embedded' | 'postgresql';
  /** Absolute folder, or host:port. */
  place: string;
  name: string;
  schema: {
    /** Name of the newest applied migration; null = empty database. */
    version: string | null;
    pending: number;
    /** Names of executed migrations that this release does not have. */
    newer: string[];
  };
  /** Null while the table does not exist. */
  administrators: number | null;
}

/** A created administrator; never the password. */
export interface OfflineAdmin {
  id: string;
  username: string;
  role: string;
}

/** A created API application with its secret, returned after the commit. */
export interface OfflineApp {
  client_id: string;
  client_secret: string;
  name: string;
  project: string;
  scopes: string[];
}

/** The desired state of `bootstrap apply`; the password is used only if the administrator does not exist. */
export interface BootstrapPlan {
  admin?: { username: string; password: string };
  apps: { name: string; scopes: string[]; project?: string; trusted?: boolean }[];
}

/** The result of `bootstrap apply`; only new applications carry a secret. */
export interface BootstrapResult {
  changed: boolean;
  admin: { username: string; created: boolean } | null;
  apps: (({ created: true } & OfflineApp) | { created: false; client_id: string; name: string })[];
}

/** The facts for `doctor --offline`: of the configuration and of a database whose schema is up to date. */
export interface Examination {
  debug: boolean;
  /** Whether simulator channels accept orders. */
  simulated: boolean;
  production: boolean;
  publicUrl: string;
  channels: { project: string; payWay: string; mode: string; enabled: boolean; missing: string[] }[];
  /** Verification keys of another mode than the channel's configuration. */
  otherModes: OtherModeKey[];
  /** Default certificates of the accounts in use that have an expiry date. */
  certs: { project: string; payWay: string; kind: string; daysLeft: number }[];
  /** Records that the configured master keys cannot decrypt, and records that are encrypted under a key that is not the newest key. */
  encrypted: {
    total: number;
    underOldKeys: number;
    broken: { record: string; why: string; keyId: string | null }[];
  };
  /** Skills on sale whose handler will never be called. */
  uncallable: { project: string; code: string; fault: string }[];
  openExceptions: number;
  abnormalRefunds: number;
  /** Open orders that expired over an hour ago. */
  overdueOrders: number;
  diagnosis: Diagnosed;
}

/** The diagnosis facts of a service, running or not. */
export interface Diagnosed {
  production: boolean;
  /** Whether Server.AdminNetworks is empty. */
  consoleOpen: boolean;
  explorer: boolean;
  /** The listen address, if the public URL is another port of the same machine. */
  listensElsewhere: string | null;
  /**
   * Whether the configuration requires a second factor, the number of enabled administrators, and of enabled administrators without a
   * second factor.
   */
  secondFactors: { required: boolean; administrators: number; without: number };
  /** By how much the machine's clock is ahead of the database's. */
  clockAheadSeconds: number;
  failingWebhooks: { clientId: string; retrying: number; givenUp: number; lastError: string | null }[];
  /** Number of accounts that can approve; null = no approval is configured. */
  approvers: number | null;
  silentNotices: { project: string; payWay: string; payments: number }[];
}

/** The facts for `server restore-check`, read from a complete copy whose schema is up to date. */
export interface RestoredFacts {
  encrypted: Examination['encrypted'];
  /** Every check of the ledger and of the audit log. */
  proofs: { check: string; promise: string; ok: boolean; count: number; examples: { id: string; detail: string }[] }[];
  auditLog: { lines: number; tip: string };
  /** The last number of each sequence and the highest in its column; 0 = none yet. */
  sequences: { table: string; column: string; sequence: string; last: string; highest: string }[];
  /** Missing numbers in tables whose rows are never removed one by one; the first ones, as `7` or `7-9`. */
  gaps: { table: string; missing: string; first: string[] }[];
  /** The event log as its readers see it. */
  events: { read: number; last: string };
  /** The newest write time; null = the database is empty. */
  newest: { table: string; at: string } | null;
  /** Columns with write times in the future. */
  future: { table: string; column: string; rows: number; latest: string }[];
}

/** Direct access to the service's database, for one process at a time on the embedded one. */
export interface Offline {
  describeDatabase(): Promise<DatabaseDescription>;
  /** Migrates the schema; called only on the user's request. */
  migrate(): Promise<{ applied: string[] }>;
  countAdmins(): Promise<number>;
  /** Creates the first administrator under an advisory lock; throws `already_bootstrapped` if one exists. */
  createFirstAdmin(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** Creates an application; throws `already_exists` if its name exists in the project. */
  createApp(input: {
    name: string;
    scopes: string[];
    project?: string;
    trusted?: boolean;
    remark?: string;
    actor: OfflineActor;
  }): Promise<OfflineApp>;
  /** Lists the applications, from which the secrets that a plan will create are known. */
  listApps(): Promise<{ client_id: string; name: string; project: string }[]>;
  /** Sets a new password and ends the administrator's sessions; throws `not_found` for an unknown name. */
  resetPassword(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** Removes the second factor of an administrator and ends the sessions; throws `not_found` if either is missing. */
  resetSecondFactor(input: { username: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  applyBootstrap(input: { plan: BootstrapPlan; actor: OfflineActor }): Promise<BootstrapResult>;
  /** Revokes the trust of every key whose mode differs from the mode of its channel's configuration. */
  distrustOtherModes(input: { actor: OfflineActor }): Promise<{ keys: Omit<OtherModeKey, 'present'>[] }>;
  /** Re-wraps every encrypted record with the newest key of Security.MasterKey. */
  rotateMasterKey(input: { actor: OfflineActor }): Promise<{ keyId: string; rewrapped: number }>;
  /** Writes a backup of the embedded database into a file that must not exist (0600, complete or not at all). */
  backup(file: string): Promise<{ bytes: number }>;
  /** Reads the facts; writes nothing. Only when no migration is pending. */
  examine(): Promise<Examination>;
  /** Reads the complete database; writes nothing. Only when no migration is pending. */
  checkRestored(knowledge: { tip?: string; acceptUntil?: string }): Promise<RestoredFacts>;
  close(): Promise<void>;
}
