// Callers of requests, the port that checks their credentials, and what an administrator's request reaches.
import type { AppTerms, AskedKey, KeptKey } from '../payments/idempotency.ts';

/** What an administrator may be: to read, to move money, to do everything. */
export type Role = 'viewer' | 'operator' | 'admin';

/** Whether password and second factor were given in the session within the last minutes; `where-live` holds too where no channel can be live. */
export interface Confirmed {
  readonly always: boolean;
  readonly 'where-live': boolean;
}

/** An administrator whose session was checked for this request; `via` is the credential that was used. */
export interface AdminCaller {
  readonly kind: 'admin';
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  /** Codes of the only projects in reach; null = all of them. */
  readonly projects: readonly string[] | null;
  /** `missing`: there is none although everybody must have one, so only enrolling is allowed. */
  readonly secondFactor: 'used' | 'none' | 'missing';
  readonly jti: string;
  readonly via: 'bearer' | 'cookie';
  readonly confirmed: Confirmed;
}

/** An API application whose token was checked for this request; `scopes` are the effective ones (token ∩ app now). */
export interface AppCaller {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode?: string;
  /** Requests a minute for this app; undefined means the configured `RateLimit.PerApp`, 0 means no limit. */
  readonly rateLimit?: number;
  /** What holds for its payments, as it was when the token was checked; left out = not read with it. */
  readonly terms?: AppTerms;
  /** What is kept under the key that was asked about; left out = not read with it. */
  readonly kept?: KeptKey | null;
}

/** Whoever makes the request. */
export type Caller = AdminCaller | AppCaller;

/** The administrator credential as it was read from the request. */
export interface AdminCredential {
  readonly token: string;
  readonly via: 'bearer' | 'cookie';
  /** Whether the method of the request is safe (RFC 9110 §9.2.1). */
  readonly safe: boolean;
}

/** Port of identity: checks credentials; a refusal is thrown as `Unauthenticated` (401) or `Forbidden` (403). */
export interface Authenticators {
  admin(credential: AdminCredential, ip: string): Promise<AdminCaller>;
  /** With `asked` also what is kept under an Idempotency-Key of the application. */
  app(token: string, ip: string, asked?: AskedKey): Promise<AppCaller>;
  /** Whether the csrf value was made for the session `jti` (HMAC). */
  csrfMatches(csrfToken: string, jti: string): boolean | Promise<boolean>;
  /** Writes to the audit log that a session was refused an operation for want of a confirmation; a few times a session. */
  noteUnconfirmed(
    admin: Pick<AdminCaller, 'username' | 'jti'>,
    refused: { operation: string; ip: string; requestId: string },
  ): Promise<void>;
}

/** Things that belong to projects, and the member of path or body that names one. */
export const NAMED_BY = {
  project: 'code',
  app: 'client_id',
  order: 'orderNo',
  refund: 'refundNo',
  approval: 'refundNo',
  dispute: 'disputeNo',
  exception: 'id',
  event: 'id',
  bill: 'billNo',
  cert: 'id',
} as const;

/** One of them. */
export type Thing = keyof typeof NAMED_BY;

/**
 * What a request of an administrator is about; whoever is limited to projects reaches nothing of others. A thing: what path or body
 * names. `query`, `body`: the project that is named there. `account`: the bills of a channel account, by project and channel
 * in query or body. `filter`: a list, which is narrowed. `service`: the service as a whole. `own`: the own account, or what belongs to no project.
 */
export type Reach = Thing | 'query' | 'body' | 'account' | 'filter' | 'service' | 'own';

/** Port: to which projects something belongs. */
export interface Belongings {
  /** The projects of a thing, several of a bill whose account they share; none when it is not there. */
  projectsOf(thing: Thing, id: string): Promise<readonly string[]>;
  /** The projects that share the accounts of a project at a channel. */
  sharersOf(account: { project: string; payWay: string; account?: string | undefined }): Promise<readonly string[]>;
}
