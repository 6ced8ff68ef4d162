import type { Tx } from '../db/store.ts';
export type { AdminRow, ApiAppRow, AuditRow, SessionRow } from '../db/entities/identity.ts';
export type {
  AdminState,
  AppFilter,
  AppState,
  AuditFilter,
  IdentityQueries,
  LoginState,
  Part,
  SessionQueries,
} from '../db/queries/identity.ts';

/** The actor of an action, for the audit log. */
export interface Actor {
  readonly kind: 'admin' | 'app' | 'offline' | 'system';
  readonly name: string;
  readonly ip?: string;
  readonly requestId?: string;
}

/** A session of an authenticated administrator. */
export interface Session {
  id: string;
  username: string;
  jti: string;
}

/** The remaining uses of a rate limit. */
interface LimitState {
  readonly allowed: boolean;
  readonly resetSeconds: number;
}

/** Counters of failures, shared by all replicas (server/db/rate-limits.ts). */
export interface FailureCounts {
  consume(key: string, limit: number, windowSeconds: number): Promise<LimitState>;
  /** Whether no key has reached its limit, without counting a use; at most one indexed read. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<LimitState>;
}

/** A change that issued a secret of an application, or that gives the application more rights than before. */
export interface CredentialChange {
  clientId: string;
  project: string;
  change: 'created' | 'widened' | 'enabled' | 'secret' | 'webhook' | 'webhook_secret';
  /** Name of the administrator. */
  by: string;
}

/** Records a `CredentialChange` as an event, in the same transaction. */
export type EmitCredentialChange = (tx: Tx, change: CredentialChange) => Promise<void>;
