import type { Store } from '../db/store.ts';
import { Forbidden, Unauthenticated } from '../errors.ts';
import { type TokenMint, csrfMatches } from './tokens.ts';
import { isWithin } from '../addresses.ts';
import { type Audit, by } from './audit.ts';
import type { LoginLimits } from './login-limits.ts';
import type { Actor, AdminState, AppReads, AppState, IdentityQueries } from './ports.ts';
import type { RequestKey } from '../db/entities/orders.ts';
import { type Role, scopes as allScopes } from '../domain.ts';
import { isConfirmed } from './confirm.ts';
import { type FactorState, createSessionUse, factorState, usedSince } from './sessions.ts';

interface AuthenticatorPorts {
  store: Store;
  appReads: Pick<AppReads, 'appState'>;
  queries: Pick<IdentityQueries, 'adminState' | 'touchApp' | 'touchSession'>;
  adminTokens: TokenMint;
  accessTokens: TokenMint;
  audit: Audit;
  limits: Pick<LoginLimits, 'mayRecordUnconfirmed'>;
  csrfKey: Uint8Array;
  debug: boolean;
  /** True if the service refuses configurations of live channels. The mode of every application is then `test`. */
  refusesLive: boolean;
  /** 0 = no limit; the session then ends when its token expires. */
  idleMinutes: number;
  requireSecondFactor: boolean;
  now: () => Date;
}

interface FoundAdmin {
  readonly kind: 'admin';
  readonly id: string;
  readonly username: string;
  readonly role: Role;
  /** Codes of the projects that the administrator may access. null = all projects. */
  readonly projects: readonly string[] | null;
  readonly secondFactor: FactorState;
  readonly jti: string;
  readonly via: 'bearer' | 'cookie';
  /**
   * `always`: password and second factor were confirmed within the last five minutes. `where-live`: they were
   * confirmed, or Debug is on, so that no real money moves.
   */
  readonly confirmed: { readonly always: boolean; readonly 'where-live': boolean };
}

interface FoundApp {
  readonly kind: 'app';
  readonly clientId: string;
  readonly name: string;
  readonly project: string;
  readonly scopes: ReadonlySet<string>;
  readonly mode: 'test' | 'live';
  readonly rateLimit?: number;
  readonly terms: Pick<AppState, 'latePayment' | 'limits'>;
  /** The response that is stored under the Idempotency-Key of the request, if a key was sent. */
  readonly kept: AppState['kept'];
}

/** The interface `Authenticators` in http/contract.ts describes the methods. */
export interface IdentityAuthenticators {
  admin(credential: { token: string; via: 'bearer' | 'cookie'; safe: boolean }): Promise<FoundAdmin>;
  app(token: string, ip: string, needs?: { key?: RequestKey; verified?: () => void }): Promise<FoundApp>;
  csrfMatches(csrfToken: string, jti: string): boolean;
  noteUnconfirmed(admin: Pick<FoundAdmin, 'username' | 'jti'>, refused: RefusedOperation): Promise<void>;
}

/** An operation that was refused because password and second factor were not confirmed recently. */
interface RefusedOperation {
  /** HTTP method and path of the route. */
  operation: string;
  ip: string;
  requestId: string;
}

/**
 * Creates the authenticators. Each request reads the state of its token from the primary database, never from a cache,
 * so a revocation takes effect at its commit. While the database does not respond, every request is rejected.
 */
export function createAuthenticators(ports: AuthenticatorPorts): IdentityAuthenticators {
  const { store, queries, appReads, adminTokens, accessTokens, audit, limits, csrfKey, now } = ports;
  const { debug, refusesLive, idleMinutes, requireSecondFactor } = ports;
  const touch = toucher(ports);
  const noteUse = createSessionUse(ports);
  return {
    async admin({ token, via, safe }) {
      const genuine = await adminTokens.verify(token);
      const { subject, generation, jti } = genuine;
      const found = await store.read((tx) => queries.adminState(tx, subject, jti));
      const at = now();
      if (!lives(found, generation) || isIdle(found, usedSince(at, idleMinutes))) throw new Unauthenticated();
      if (isOver(found, at, safe)) throw new Unauthenticated();
      if (found.hasFactor && !found.gaveFactor) throw new Unauthenticated();
      noteUse(found, genuine);
      const { id, username, role, projects } = found;
      const always = isConfirmed(found, at);
      const confirmed = { always, 'where-live': always || debug };
      const secondFactor = factorState(found.hasFactor, requireSecondFactor);
      return { kind: 'admin', id, username, role, projects, secondFactor, jti, via, confirmed };
    },
    async app(token, ip, { key, verified } = {}) {
      const { subject, generation, jti, scope = '' } = await accessTokens.verify(token);
      verified?.();
      const found = await appReads.appState({ clientId: subject, jti, requestKey: key });
      if (!lives(found, generation) || found.revoked || !exists(found, debug)) throw new Unauthenticated();
      if (!isWithin(found.allowedIps, ip)) throw addressRefused();
      touch(found);
      return toCaller(found, scope.split(' '), refusesLive);
    },
    csrfMatches: (value, jti) => csrfMatches(csrfKey, value, jti),
    async noteUnconfirmed({ username, jti }, { operation, ip, requestId }) {
      if (!(await limits.mayRecordUnconfirmed(jti))) return;
      const actor: Actor = { kind: 'admin', name: username, ip, requestId };
      const line = { ...by(actor), action: 'admin.unconfirmed', target: username, after: { operation, session: jti } };
      await store.transaction((tx) => audit(tx, line));
    },
  };
}

/**
 * Whether tokens are issued and accepted for an application. Console applications never get tokens, and test
 * applications only while Debug is on.
 */
export function exists({ kind }: Pick<AppState, 'kind'>, debug: boolean): boolean {
  return kind === 'merchant' || (kind === 'test' && debug);
}

function addressRefused(): Forbidden {
  return new Forbidden('ip_not_allowed', 'Your IP address is not in the list allowedIps of this application.');
}

function lives<S extends AdminState | AppState>(state: S | undefined, generation: number): state is S {
  return state !== undefined && state.enabled && state.generation === generation;
}

/**
 * Time for which a replaced session may still send read requests (ms), because a page may have sent requests before the
 * replacement.
 */
const REPLACED_MS = 30_000;

function isOver({ replacedAt }: AdminState, at: Date, safe: boolean): boolean {
  return replacedAt !== null && !(safe && at.getTime() - replacedAt.getTime() <= REPLACED_MS);
}

function isIdle({ seenAt }: AdminState, since: Date): boolean {
  return seenAt < since;
}

function toCaller(app: AppState, scopes: readonly string[], refusesLive: boolean): FoundApp {
  return {
    kind: 'app',
    clientId: app.clientId,
    name: app.name,
    project: app.project,
    scopes: effectiveScopes(scopes, app.scopes),
    mode: refusesLive ? 'test' : 'live',
    rateLimit: app.rateLimit ?? undefined,
    terms: { latePayment: app.latePayment, limits: app.limits },
    kept: app.kept,
  };
}

const everyScope: ReadonlySet<string> = new Set(allScopes);

/** Whether an application with the scopes `owned` may request `scope`. */
export function covers(owned: readonly string[], scope: string): boolean {
  return everyScope.has(scope) && (owned.includes(scope) || owned.includes('admin'));
}

/** Returns the token's scopes without those that the application no longer has. */
export function effectiveScopes(token: readonly string[], app: readonly string[]): ReadonlySet<string> {
  return new Set(allScopes.filter((scope) => covers(token, scope) && covers(app, scope)));
}

/** Stores when an application was last used, in the background and at most once a minute. A failed write is ignored. */
function toucher({ store, queries, now }: AuthenticatorPorts): (app: AppState) => void {
  const underway = new Set<string>();
  return ({ clientId, lastUsedAt }) => {
    const at = now();
    if (underway.has(clientId) || (lastUsedAt && at.getTime() - lastUsedAt.getTime() < 60_000)) return;
    underway.add(clientId);
    store
      .autocommit((tx) => queries.touchApp(tx, clientId, at))
      .catch(() => {})
      .finally(() => underway.delete(clientId));
  };
}
