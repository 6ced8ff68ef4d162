/**
 * The interface through which the offline commands of payctl use `server/offline/open.ts`:
 * `openOffline(input): Promise<Offline>`.
 *
 * A failed operation throws an error with a stable `code` and a `status`, like AppError. The codes are:
 * `database_in_use` (with the fields pid, host and since) · `copy_is_live` · `copy_unreadable` · `schema_outdated` ·
 * `schema_unreleased` · `already_bootstrapped` · `already_exists` · `database_unavailable` · `not_found` ·
 * `invalid_request` with `errors[]`. If the configuration is invalid, the error is a `ConfigFaults`.
 */
import type { OtherModeKey } from '../db/queries/diagnosis.ts';

/**
 * The source of the configuration. It is loaded with the same loader, files and environment variables as in the server.
 */
export interface OfflineInput {
  /** The path that the user gave with `--config`. */
  config?: string;
  env: Record<string, string | undefined>;
  cwd: string;
  /** If the embedded database does not exist, throw `database_unavailable` instead of creating it and its secrets. */
  mustExist?: boolean;
  /**
   * For `checkRestored`: the restored copy to open instead of the configured database. `live` opens the configured
   * database without timeouts for statements.
   */
  restored?: CopyInput | 'live';
}

/** The place of a restored copy of the database. */
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

/** The database to which a command writes. */
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

/** A created administrator, without the password. */
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

/** The desired state for `bootstrap apply`. The password is used only if the administrator does not exist yet. */
export interface BootstrapPlan {
  admin?: { username: string; password: string };
  apps: { name: string; scopes: string[]; project?: string; trusted?: boolean }[];
}

/** The result of `bootstrap apply`. Only new applications have a secret. */
export interface BootstrapResult {
  changed: boolean;
  admin: { username: string; created: boolean } | null;
  apps: (({ created: true } & OfflineApp) | { created: false; client_id: string; name: string })[];
}

/**
 * The facts that `doctor --offline` reports about the configuration and about a database whose schema is up to date.
 */
export interface Examination {
  debug: boolean;
  /** Whether the simulator is enabled, so that its channels accept orders. */
  simulated: boolean;
  production: boolean;
  publicUrl: string;
  channels: { project: string; payWay: string; mode: string; enabled: boolean; missing: string[] }[];
  /**
   * Trusted certificates and keys of the sandbox or simulator that verify signatures, although their channel is now
   * configured for another mode.
   */
  otherModes: OtherModeKey[];
  /**
   * Certificates that a channel uses because its configuration names none (default certificates), with the days until
   * they expire. Only certificates of accounts in use are included.
   */
  certs: { project: string; payWay: string; kind: string; daysLeft: number }[];
  /**
   * Records whose decryption fails with the configured master keys (`broken`), and the number of records that use an
   * older key than the newest (`underOldKeys`).
   */
  encrypted: {
    total: number;
    underOldKeys: number;
    broken: { record: string; why: string; keyId: string | null }[];
  };
  /**
   * Pay-per-call resources (skills) on sale that cannot be called, because the service refuses the URL of their
   * handler. `fault` is the reason.
   */
  uncallable: { project: string; code: string; fault: string }[];
  openExceptions: number;
  abnormalRefunds: number;
  /** Number of open orders that expired more than an hour ago. */
  overdueOrders: number;
  diagnosis: Diagnosed;
}

/** The facts of the diagnosis that a running service can also report through its API. */
export interface Diagnosed {
  production: boolean;
  /** Whether `Server.AdminNetworks` is empty, so that the console can be reached from every address. */
  consoleOpen: boolean;
  explorer: boolean;
  /**
   * The address on which the service listens, if links with the public URL would not reach it. This is the case if the
   * public URL names another port of the same machine. null = no such difference was found.
   */
  listensElsewhere: string | null;
  /**
   * Whether the configuration requires a second factor (`required`), the number of enabled administrators, and the
   * number of those without a second factor (`without`).
   */
  secondFactors: { required: boolean; administrators: number; without: number };
  /** Number of seconds by which the clock of this machine is ahead of the database's clock. */
  clockAheadSeconds: number;
  failingWebhooks: { clientId: string; retrying: number; givenUp: number; lastError: string | null }[];
  /** Number of accounts that can approve refunds. null = the configuration requires no approval. */
  approvers: number | null;
  silentNotices: { project: string; payWay: string; payments: number }[];
}

/** The facts that `server restore-check` reports. They are read from a complete copy whose schema is up to date. */
export interface RestoredFacts {
  encrypted: Examination['encrypted'];
  /** The result of every check of the ledger (the records of money) and of the audit log. */
  proofs: { check: string; promise: string; ok: boolean; count: number; examples: { id: string; detail: string }[] }[];
  auditLog: { lines: number; tip: string };
  /**
   * For each database sequence: the last number that the sequence has issued (`last`), and the highest number that its
   * table column contains (`highest`). 0 = none.
   */
  sequences: { table: string; column: string; sequence: string; last: string; highest: string }[];
  /**
   * Missing numbers in tables from which single rows are never deleted. `first` lists the first gaps, as `7` or `7-9`.
   */
  gaps: { table: string; missing: string; first: string[] }[];
  /** The event log as its consumers read it: the number of events and the last sequence number. */
  events: { read: number; last: string };
  /** The newest timestamp of a write in any table. null = the database is empty. */
  newest: { table: string; at: string } | null;
  /** Columns that contain timestamps in the future. */
  future: { table: string; column: string; rows: number; latest: string }[];
}

/** Direct access to the service's database. Only one process at a time can open an embedded database. */
export interface Offline {
  describeDatabase(): Promise<DatabaseDescription>;
  /** Applies the pending migrations. Called only if the user requested it. */
  migrate(): Promise<{ applied: string[] }>;
  countAdmins(): Promise<number>;
  /**
   * Creates the first administrator. An advisory lock prevents two concurrent calls from both succeeding. Throws
   * `already_bootstrapped` if an administrator exists.
   */
  createFirstAdmin(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /** Creates an application. Throws `already_exists` if the project already has an application with this name. */
  createApp(input: {
    name: string;
    scopes: string[];
    project?: string;
    trusted?: boolean;
    remark?: string;
    actor: OfflineActor;
  }): Promise<OfflineApp>;
  /**
   * Lists the API applications. `bootstrap apply` compares the list with the desired state, to know which applications
   * are new and will get a secret.
   */
  listApps(): Promise<{ client_id: string; name: string; project: string }[]>;
  /**
   * Sets a new password for an administrator and ends the account's sessions. Throws `not_found` if the username does
   * not exist.
   */
  resetPassword(input: { username: string; password: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  /**
   * Removes an administrator's second factor and ends the account's sessions. Throws `not_found` if the username does
   * not exist or the account has no second factor.
   */
  resetSecondFactor(input: { username: string; actor: OfflineActor }): Promise<OfflineAdmin>;
  applyBootstrap(input: { plan: BootstrapPlan; actor: OfflineActor }): Promise<BootstrapResult>;
  /**
   * Ends the trust in certificates and keys of the sandbox or simulator, if their channel is now configured for another
   * mode. A key stays trusted as long as an open order needs it.
   */
  distrustOtherModes(input: { actor: OfflineActor }): Promise<{ keys: Omit<OtherModeKey, 'present'>[] }>;
  /**
   * Encrypts the data key of every encrypted record again with the newest master key of `Security.MasterKey`. Returns
   * the id of this master key, and the number of changed records (`rewrapped`).
   */
  rotateMasterKey(input: { actor: OfflineActor }): Promise<{ keyId: string; rewrapped: number }>;
  /**
   * Writes a backup of the embedded database into a new file (mode 0600). The file is either complete or not created.
   * Throws if it already exists.
   */
  backup(file: string): Promise<{ bytes: number }>;
  /** Reads the facts for `doctor --offline`. Writes nothing. Requires that no migration is pending. */
  examine(): Promise<Examination>;
  /** Checks the complete database for `server restore-check`. Writes nothing. Requires that no migration is pending. */
  checkRestored(knowledge: { tip?: string; acceptUntil?: string }): Promise<RestoredFacts>;
  close(): Promise<void>;
}
