import type { ApiAppRow } from '../db/entities/identity.ts';
import type { Store, Tx } from '../db/store.ts';
import { Conflict, NotFound } from '../errors.ts';
import type { Actor, AppFilter, CredentialChange, IdentityQueries, EmitCredentialChange } from './ports.ts';
import {
  type AppSettings,
  type WithSecret,
  changedLimits,
  hashSecret,
  loosens,
  newAppRow,
  newClientSecret,
  requireProject,
  secretColumns,
  secretMatches,
  toColumns,
} from './api-app-rows.ts';
import { type Audit, by } from './audit.ts';
import { areWithin } from '../addresses.ts';
import { covers, exists } from './authenticators.ts';

interface ApiAppPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'apps'>;
  audit: Audit;
  emitCredentialChange: EmitCredentialChange;
  debug: boolean;
  now: () => Date;
}

/** `graceSeconds`: how long the old secret stays valid. 0 also invalidates all issued tokens. */
interface Rotation {
  graceSeconds: number;
  revokeTokens?: boolean | undefined;
  /** Only creates the new secret. The old one stays valid until a later request sends the new one as `secret`. */
  prepare?: boolean | undefined;
  /** A prepared secret. Sending it back confirms that the application received it, and completes the rotation. */
  secret?: string | undefined;
}

/** Time in which a later request must confirm a prepared secret (ms). */
const PREPARED_MS = 15 * 60_000;

/** The operations on API applications. The applications that the console uses itself are not included. */
export interface ApiApps {
  list(filter: Omit<AppFilter, 'kinds'>): Promise<ApiAppRow[]>;
  get(clientId: string): Promise<ApiAppRow>;
  create(actor: Actor, settings: AppSettings & { project: string }): Promise<WithSecret>;
  /**
   * Changes the settings of an application. `mayWiden` is called before the application gets more rights, and before
   * every change of a trusted application. It may throw to reject the change.
   */
  update(actor: Actor, clientId: string, change: Partial<AppSettings>, mayWiden?: () => void): Promise<ApiAppRow>;
  /**
   * Enables or disables an application. Without `enabled`, an enabled application is disabled, and vice versa.
   * `mayEnable` is called before an application is enabled, and may throw to reject that.
   */
  toggle(actor: Actor, clientId: string, enabled: boolean | undefined, mayEnable?: () => void): Promise<ApiAppRow>;
  rotateSecret(actor: Actor, clientId: string, rotation: Rotation): Promise<WithSecret>;
  revokeTokens(actor: Actor, clientId: string): Promise<ApiAppRow>;
  remove(actor: Actor, clientId: string): Promise<void>;
}

/** Creates the operations on API applications. Each change locks the application's row and runs in one transaction. */
export function createApiApps(ports: ApiAppPorts): ApiApps {
  const { store, queries, audit, emitCredentialChange, debug, now } = ports;
  const kinds: readonly ApiAppRow['kind'][] = debug ? ['merchant', 'test'] : ['merchant'];
  const change = changer(ports);
  return {
    list: (filter) => store.read((tx) => queries.apps(tx, { ...filter, kinds })),
    get: (clientId) => store.read((tx) => required(tx.apps.find({ clientId }), debug)),
    create: (actor, settings) =>
      store.transaction((tx) => writeApp(tx, { audit, emitCredentialChange, now }, actor, settings)),
    update: (actor, clientId, patch, mayWiden) =>
      change(actor, clientId, 'app.update', (app) => {
        const columns = { ...toColumns(merge(app, patch)), limits: changedLimits(app.limits, patch.limits) };
        const wider = widens(app, columns);
        if (app.trusted || wider) mayWiden?.();
        return { columns, given: wider ? 'widened' : undefined };
      }),
    toggle: (actor, clientId, enabled, mayEnable) =>
      change(actor, clientId, 'app.toggle', (app) => {
        const wanted = enabled ?? !app.enabled;
        if (wanted) mayEnable?.();
        const generation = app.generation + (app.enabled && !wanted ? 1 : 0);
        return { columns: { enabled: wanted, generation }, given: wanted && !app.enabled ? 'enabled' : undefined };
      }),
    async rotateSecret(actor, clientId, rotation) {
      const { prepare, secret = newClientSecret() } = rotation;
      let after: Partial<ApiAppRow> = {};
      const app = await change(actor, clientId, prepare ? 'app.prepare-secret' : 'app.rotate-secret', (row) => {
        const at = now();
        if (rotation.secret !== undefined && secretMatches(secret, row.secretHash)) return { columns: (after = {}) };
        if (rotation.secret !== undefined) requirePrepared(row, secret, at);
        after = rotated(row, secret, rotation, at);
        return { columns: prepare ? prepared(secret, at) : after, given: 'secret' };
      });
      return { app: { ...app, ...after }, secret };
    },
    revokeTokens: (actor, clientId) =>
      change(actor, clientId, 'app.revoke-tokens', ({ generation }) => ({ columns: { generation: generation + 1 } })),
    remove: (actor, clientId) =>
      store.transaction(async (tx) => {
        const app = await required(tx.apps.lock({ clientId }), debug);
        await requireUnused(tx, clientId);
        await tx.webhooks.delete({ clientId });
        await tx.apps.delete({ clientId });
        await audit(tx, { ...by(actor), action: 'app.delete', target: clientId, before: appFacts(app) });
      }),
  };
}

/** Writes a new application. Offline commands pass no `emitCredentialChange`, so they record no event. */
export async function writeApp(
  tx: Tx,
  {
    audit,
    emitCredentialChange,
    now,
  }: Pick<ApiAppPorts, 'audit' | 'now'> & Partial<Pick<ApiAppPorts, 'emitCredentialChange'>>,
  actor: Actor,
  { project, limits: requested, ...settings }: AppSettings & { project: string },
): Promise<WithSecret> {
  const columns = toColumns(settings);
  const limits = changedLimits(null, requested);
  await requireProject(tx, project);
  const made = newAppRow(columns, { project, at: now(), limits });
  await tx.apps.insert(made.app);
  const { clientId } = made.app;
  await emitCredentialChange?.(tx, { clientId, project, change: 'created', by: actor.name });
  await audit(tx, { ...by(actor), action: 'app.create', target: made.app.clientId, after: appFacts(made.app) });
  return made;
}

/** Returns the properties of an application that the audit log records. */
export function appFacts(app: ApiAppRow): object {
  const { name, project, scopes, enabled, trusted, allowedIps, rateLimit, latePayment, remark } = app;
  const { limits, secretHint, previousSecretExpiresAt, generation } = app;
  const settings = { name, project, scopes, enabled, trusted, allowedIps, rateLimit, latePayment, remark };
  return { ...settings, limits, secretHint, previousSecretExpiresAt, generation };
}

/** Returns the settings after a change. null clears a setting, and an absent setting keeps its value. */
export function merge(app: ApiAppRow, patch: Partial<AppSettings>): AppSettings {
  const { name, scopes, trusted, allowedIps, rateLimit, remark } = app;
  const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const latePayment = patch.latePayment === null ? null : { ...app.latePayment, ...patch.latePayment };
  return { name, scopes, trusted, allowedIps, rateLimit, remark, ...given, latePayment };
}

type Change = (
  actor: Actor,
  clientId: string,
  action: string,
  decide: (app: ApiAppRow) => { columns: Partial<ApiAppRow>; given?: CredentialChange['change'] | undefined },
) => Promise<ApiAppRow>;

function changer({ store, audit, emitCredentialChange, debug, now }: ApiAppPorts): Change {
  return (actor, clientId, action, decide) =>
    store.transaction(async (tx) => {
      const app = await required(tx.apps.lock({ clientId }), debug);
      const { columns, given } = decide(app);
      const patch = { ...columns, updatedAt: now() };
      await tx.apps.update({ clientId }, patch);
      if (given) await emitCredentialChange(tx, { clientId, project: app.project, change: given, by: actor.name });
      const changed: ApiAppRow = { ...app, ...patch };
      await audit(tx, { ...by(actor), action, target: clientId, before: appFacts(app), after: appFacts(changed) });
      return changed;
    });
}

function rotated(app: ApiAppRow, secret: string, { graceSeconds, revokeTokens }: Rotation, at: Date) {
  const fresh = secretColumns(secret, at);
  const generation = app.generation + (revokeTokens || graceSeconds === 0 ? 1 : 0);
  if (graceSeconds === 0) return { ...fresh, generation };
  const previousSecretExpiresAt = new Date(at.getTime() + graceSeconds * 1000);
  return { ...fresh, generation, previousSecretHash: app.secretHash, previousSecretExpiresAt };
}

/**
 * Stores a prepared secret in the columns of the previous secret. Authentication accepts both columns, so the
 * application can log in with the new secret before the rotation is completed.
 */
function prepared(secret: string, at: Date) {
  return { previousSecretHash: hashSecret(secret), previousSecretExpiresAt: new Date(at.getTime() + PREPARED_MS) };
}

function requirePrepared({ previousSecretHash, previousSecretExpiresAt }: ApiAppRow, secret: string, at: Date): void {
  const waits = previousSecretExpiresAt !== null && previousSecretExpiresAt > at;
  if (waits && previousSecretHash !== null && secretMatches(secret, previousSecretHash)) return;
  throw new Conflict('changed_meanwhile', 'The prepared secret has expired or was replaced. Prepare a new secret.');
}

async function requireUnused(tx: Tx, clientId: string): Promise<void> {
  if ((await tx.orders.list({ clientId }, { limit: 1 })).length === 0) return;
  throw new Conflict('in_use', 'The application cannot be deleted, because it has orders.', {
    hint: 'Disable the application instead, because its orders must keep their owner.',
  });
}

function widens(app: ApiAppRow, next: Pick<ApiAppRow, 'trusted' | 'scopes' | 'allowedIps' | 'limits'>): boolean {
  if (next.trusted && !app.trusted) return true;
  if (next.scopes.some((scope) => !covers(app.scopes, scope))) return true;
  return !areWithin(app.allowedIps, next.allowedIps) || loosens(app.limits, next.limits);
}

async function required(row: Promise<ApiAppRow | undefined>, debug: boolean): Promise<ApiAppRow> {
  const app = await row;
  if (!app || !exists(app, debug)) throw new NotFound('application');
  return app;
}
