import type { Tx } from '../db/store.ts';
export type { AdminRow, ApiAppRow, AuditRow, SessionRow } from '../db/entities/identity.ts';
export type {
  AdminState,
  AppFilter,
  AppReads,
  AppState,
  AuditFilter,
  ClientState,
  IdentityQueries,
  LoginState,
  Part,
  SessionQueries,
} from '../db/queries/identity.ts';

export interface Actor {
  readonly kind: 'admin' | 'app' | 'offline' | 'system';
  readonly name: string;
  readonly ip?: string;
  readonly requestId?: string;
}

export interface Session {
  id: string;
  username: string;
  jti: string;
}

interface LimitState {
  readonly allowed: boolean;
  readonly resetSeconds: number;
}

/** Counters of failures, shared by all replicas (server/db/rate-limits.ts). */
export interface FailureCounts {
  consume(key: string, limit: number, windowSeconds: number): Promise<LimitState>;
  /** Whether every key is below its limit; does not count a failure. Reads the database at most once, by index. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<LimitState>;
}

/** A change that created or renewed a secret of an application, or that gave the application more rights. */
export interface CredentialChange {
  clientId: string;
  project: string;
  change: 'created' | 'widened' | 'enabled' | 'secret' | 'webhook' | 'webhook_secret';
  by: string;
}

export type EmitCredentialChange = (tx: Tx, change: CredentialChange) => Promise<void>;
