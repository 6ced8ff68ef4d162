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

/** What is left of a limit after one more use, or before it. */
interface LimitState {
  readonly allowed: boolean;
  readonly resetSeconds: number;
}

/** Counters of failures, shared by all replicas (server/db/rate-limits.ts). */
export interface FailureCounts {
  consume(key: string, limit: number, windowSeconds: number): Promise<LimitState>;
  /** Whether none of the keys has reached its limit, without counting a use; one indexed read at most. */
  peek(limits: readonly { key: string; limit: number }[]): Promise<LimitState>;
}

/** A change by which a credential of an application was given out, or can do more than before. */
export interface CredentialChange {
  clientId: string;
  project: string;
  change: 'created' | 'widened' | 'enabled' | 'secret' | 'webhook' | 'webhook_secret';
  /** Name of the administrator. */
  by: string;
}

/** Tells such a change in the transaction that makes it. */
export type EmitCredentialChange = (tx: Tx, change: CredentialChange) => Promise<void>;
