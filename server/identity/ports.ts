import type { AdminRow, ApiAppRow, AuditRow, SessionRow } from '../db/entities/identity.ts';
import type { AskedKey, KeptKey } from '../db/entities/orders.ts';
import type { Projects } from '../db/queries/reach.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import type { Role } from '../domain.ts';

export type { AdminRow, ApiAppRow, AuditRow, SessionRow };

/** Who did something, for the audit log. */
export interface Actor {
  readonly kind: 'admin' | 'app' | 'offline' | 'system';
  readonly name: string;
  readonly ip?: string;
  readonly requestId?: string;
}

/** A session of an administrator, as the edge found it. */
export interface Session {
  id: string;
  username: string;
  jti: string;
}

/** What every request asks about an application and one token, read at once from the primary. */
export type AppState = Pick<
  ApiAppRow,
  | 'clientId'
  | 'name'
  | 'project'
  | 'kind'
  | 'scopes'
  | 'enabled'
  | 'generation'
  | 'allowedIps'
  | 'rateLimit'
  | 'latePayment'
  | 'limits'
> & { lastUsedAt: Date | null; revoked: boolean; kept: KeptKey | null };

/** What every request asks about an administrator and one session. */
export type AdminState = Pick<AdminRow, 'id' | 'username' | 'projects' | 'enabled' | 'generation'> & {
  role: Role;
  /** When the password was last given in this session, and when it was last used. */
  confirmedAt: Date | null;
  seenAt: Date;
  /** Whether the account has a second factor. */
  hasFactor: boolean;
  /** Whether one was given in this session, and when last. */
  gaveFactor: boolean;
  codeAt: Date | null;
  /** When a confirmation began another session in the place of this one. */
  replacedAt: Date | null;
};

/** What a login asks. */
export interface LoginState {
  /** Whether there is any administrator at all. */
  bootstrapped: boolean;
  admin?: Pick<AdminRow, 'id' | 'username' | 'projects' | 'enabled' | 'generation' | 'passwordHash'> & {
    role: Role;
    hasFactor: boolean;
  };
  /** Whether the account has logged in from this address before. */
  known: boolean;
}

/** A place in a list that is ordered by `(createdAt, id)`, newest first. */
export interface Position {
  readonly createdAt: Date;
  readonly id: string;
}

/** Which part of a list is wanted; one entry more than `limit` is read, to see whether there are more. */
export interface Part {
  readonly limit: number;
  readonly cursor?: Position;
}

/** Which applications a list shows. */
export interface AppFilter extends Part {
  readonly kinds: readonly ApiAppRow['kind'][];
  readonly project?: Projects | undefined;
  readonly enabled?: boolean;
  readonly name?: string;
}

/** Which lines of the audit log a list shows. */
export interface AuditFilter extends Part {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** Reads that are more than a row by its key (server/db/queries/identity.ts, audit.ts). */
export interface IdentityQueries extends SessionQueries {
  /** With `asked` also what is kept under a key of the application. */
  appState(tx: ReadTx, clientId: string, jti: string, asked?: AskedKey): Promise<AppState | undefined>;
  adminState(tx: ReadTx, id: string, jti: string): Promise<AdminState | undefined>;
  loginState(tx: ReadTx, username: string, addressKey: string): Promise<LoginState>;
  apps(tx: ReadTx, filter: AppFilter): Promise<ApiAppRow[]>;
  admins(tx: ReadTx, part: Part & { username?: string }): Promise<AdminRow[]>;
  auditLines(tx: ReadTx, filter: AuditFilter): Promise<AuditRow[]>;
  /** Lines in their own order, from behind `after` on. */
  auditAfter(tx: ReadTx, after: bigint, limit: number): Promise<AuditRow[]>;
  /** Notes the use of an app unless one was noted within the last minute. */
  touchApp(tx: Tx, clientId: string, at: Date): Promise<void>;
}

/** Statements about sessions (server/db/queries/identity.ts). */
export interface SessionQueries {
  /** The sessions of an account that are alive at an instant and were used since another. */
  sessions(tx: ReadTx, adminId: string, filter: Part & { at: Date; seenSince: Date }): Promise<SessionRow[]>;
  /** Notes the use of a session, and takes it in when it has no row. */
  touchSession(tx: Tx, jti: string, at: Date): Promise<void>;
  /** Ends every session of an account but one, for every replica; returns how many. */
  endOtherSessions(tx: Tx, but: { adminId: string; jti: string; at: Date }): Promise<number>;
  /** Forgets revocations of tokens that expired over a day ago by the database's clock; returns how many. */
  deleteExpiredRevocations(store: Store, goesOn?: () => boolean): Promise<number>;
  /** Forgets sessions whose token expired over a day ago by the database's clock; returns how many. */
  deleteExpiredSessions(store: Store, goesOn?: () => boolean): Promise<number>;
}

/** What is left of a limit after one more use, or before it. */
export interface LimitState {
  readonly allowed: boolean;
  readonly resetSeconds: number;
}

/** Counters of failures, shared by all replicas (server/db/rate-limits.ts). */
export interface FailureCounts {
  consume(key: string, limit: number, windowSeconds: number): Promise<LimitState>;
  /** Whether none of the keys has reached its limit, without counting a use; one indexed read at most. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<LimitState>;
}
