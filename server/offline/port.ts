/**
 * The interface through which the offline commands of payctl use `server/offline/open.ts`:
 * `openOffline(input): Promise<Offline>`.
 *
 * A failed operation throws an error with a stable `code` and a `status`, like AppError. The codes are:
 * `database_in_use` (with the fields pid, host and since) · `copy_is_live` · `copy_unreadable` · `schema_outdated` ·
 * `schema_unreleased` · `already_bootstrapped` · `already_exists` · `database_unavailable` · `not_found` ·
 * `invalid_request` with `errors[]`. If the configuration is invalid, the error is a `ConfigFaults`; if no database is
 * named beside an installed service, it is a `DatabaseNotNamed`.
 */
import type { Installation } from '../../config/load.ts';
import type { OtherModeKey } from '../db/queries/diagnosis.ts';

export interface OfflineInput {
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** The files of a service that may be installed on this machine; see `loadConfig`. */
  installation?: Installation;
  /** True = throw `database_unavailable` if the embedded database does not exist. False = create it and its secrets. */
  mustExist?: boolean;
  /** For `checkRestored`: the copy to open. `live` opens the configured database without statement timeouts. */
  restored?: CopyInput | 'live';
}

export interface CopyInput {
  /** A PostgreSQL URL, the folder of an embedded database, or a file that `server backup` wrote. */
  place: string;
  /** The folder with the secrets of an embedded database. Absent = the folder beside the database. */
  secrets?: string;
}

/** The operator who runs the command. The audit entry has `actorKind = offline` and this user. */
export interface OfflineActor {
  osUser: string;
  host: string;
}

export interface DatabaseDescription {
  kind: 'embedded' | 'postgresql';
  /** Absolute path of the folder, or host and port of the PostgreSQL server. */
  place: string;
  name: string;
  schema: {
    /** Name of the newest migration that was applied. null = the database is empty. */
    version: string | null;
    pending: number;
    /** Names of applied migrations that this release does not know, because a newer release applied them. */
    newer: string[];
  };
  /** Number of administrators. null = the table does not exist yet. */
  administrators: number | null;
}

export interface OfflineAdmin {
  id: string;
  username: string;
  role: string;
}

/** A created API application with its secret. It is returned only after the commit. */
export interface OfflineApp {
  client_id: string;
  client_secret: string;
  name: string;
  project: string;
  scopes: string[];
}

/**
 * The desired state for `bootstrap apply`. The password is used only if the administrator does not exist yet, and the
 * name of a project only if the project is new or is the first one and still has its initial name.
 */
export interface BootstrapPlan {
  admin?: { username: string; password: string };
  projects: { code: string; name: string }[];
  apps: { name: string; scopes: string[]; project?: string; trusted?: boolean }[];
}

/** The result of `bootstrap apply`. Only new applications have a secret. */
export interface BootstrapResult {
  changed: boolean;
  admin: { username: string; created: boolean } | null;
  projects: { code: string; changed: boolean }[];
  apps: (({ created: true } & OfflineApp) | { created: false; client_id: string; name: string })[];
}

/** The facts of `doctor --offline`. The schema of the database is up to date. */
export interface Examination {
  debug: boolean;
  simulated: boolean;
  production: boolean;
  publicUrl: string;
  channels: { project: string; payWay: string; mode: string; enabled: boolean; missing: string[] }[];
  /** Trusted certificates and keys of a sandbox or simulator that the channel no longer uses. */
  otherModes: OtherModeKey[];
  /** Default certificates: a channel uses them if its configuration names no other. Only those of accounts in use. */
  certs: { project: string; payWay: string; kind: string; daysLeft: number }[];
  /** `broken`: not decryptable with the configured master keys. `underOldKeys`: encrypted with an older key. */
  encrypted: {
    total: number;
    underOldKeys: number;
    broken: { record: string; why: string; keyId: string | null }[];
  };
  /** Skills (pay-per-call resources) on sale whose handler URL the service refuses. `fault` is the reason. */
  uncallable: { project: string; code: string; fault: string }[];
  openExceptions: number;
  abnormalRefunds: number;
  /** Number of open orders that expired more than an hour ago. */
  overdueOrders: number;
  diagnosis: Diagnosed;
}

export interface Diagnosed {
  production: boolean;
  /** Whether `Server.AdminNetworks` is empty, so that the console can be reached from every address. */
  consoleOpen: boolean;
  explorer: boolean;
  /** Where the service listens, if the public URL names another port of the same machine. Otherwise null. */
  listensElsewhere: string | null;
  /** `without` is the number of enabled administrators without a second factor. */
  secondFactors: { required: boolean; administrators: number; without: number };
  /** Number of seconds by which the clock of this machine is ahead of the database's clock. */
  clockAheadSeconds: number;
  failingWebhooks: { clientId: string; retrying: number; givenUp: number; lastError: string | null }[];
  /** Number of accounts that can approve refunds. null = the configuration requires no approval. */
  approvers: number | null;
  silentNotices: { project: string; payWay: string; payments: number }[];
}

export interface RestoredFacts {
  encrypted: Examination['encrypted'];
  proofs: { check: string; promise: string; ok: boolean; count: number; examples: { id: string; detail: string }[] }[];
  auditLog: { lines: number; tip: string };
  /** `last`: the last number that the sequence issued. `highest`: the highest number in the column. 0 = none. */
  sequences: { table: string; column: string; sequence: string; last: string; highest: string }[];
  /**
   * Missing numbers in tables from which single rows are never deleted. `first` lists the first gaps, as `7` or `7-9`.
   */
  gaps: { table: string; missing: string; first: string[] }[];
  events: { read: number; last: string };
  /** null = the database is empty. */
  newest: { table: string; at: string } | null;
  future: { table: string; column: string; rows: number; latest: string }[];
}

/** Only one process at a time can open an embedded database. */
export interface Offline {
  describeDatabase(): Promise<DatabaseDescription>;
  /** Applies the pending migrations. Called only if the user requested it. */
  migrate(): Promise<{ applied: string[] }>;
  countAdmins(): Promise<number>;
  /**
   * The name that payers see for the project `default`; null = none was set. `proposed` is the host of the public URL;
   * absent if it is an IP address or a name of this machine.
   */
  merchant(): Promise<{ name: string | null; proposed?: string }>;
  /** Returns why the service would refuse a name of a project. Returns undefined if it is allowed. */
  nameFault(name: string): string | undefined;
  /**
   * Of two concurrent calls only one succeeds. Throws `already_bootstrapped` if an administrator exists. `merchantName`
   * becomes the name of the project `default`.
   */
  createFirstAdmin(input: {
    username: string;
    password: string;
    merchantName?: string;
    actor: OfflineActor;
  }): Promise<OfflineAdmin>;
  /** Throws `already_exists` if the project already has an application with this name. */
  createApp(input: {
    name: string;
    scopes: string[];
    project?: string;
    trusted?: boolean;
    remark?: string;
    actor: OfflineActor;
  }): Promise<OfflineApp>;
  /** For `bootstrap apply`, to know which applications are new and will get a secret. */
  listApps(): Promise<{ client_id: string; name: string; project: string }[]>;
  /** Also ends the account's sessions. Throws `not_found` if the username does not exist. */
  resetPassword(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** Also ends the account's sessions. Throws `not_found` if there is no such account or no second factor. */
  resetSecondFactor(input: { username: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  applyBootstrap(input: { plan: BootstrapPlan; actor: OfflineActor }): Promise<BootstrapResult>;
  /**
   * Ends the trust in certificates and keys of a sandbox or simulator that the channel no longer uses, unless an open
   * order needs them.
   */
  distrustOtherModes(input: { actor: OfflineActor }): Promise<{ keys: Omit<OtherModeKey, 'present'>[] }>;
  /** Returns the id of the newest master key, and the number of changed records (`rewrapped`). */
  rotateMasterKey(input: { actor: OfflineActor }): Promise<{ keyId: string; rewrapped: number }>;
  /** The new file (mode 0600) is either complete or not created. Throws if it already exists. */
  backup(file: string): Promise<{ bytes: number }>;
  /** Reads the facts for `doctor --offline`. Writes nothing. Requires that no migration is pending. */
  examine(): Promise<Examination>;
  /** Checks the complete database for `server restore-check`. Writes nothing. Requires that no migration is pending. */
  checkRestored(knowledge: { tip?: string; acceptUntil?: string }): Promise<RestoredFacts>;
  close(): Promise<void>;
}
