import { sql } from 'kysely';
import type { Role } from '../../domain.ts';
import type { AdminRow, ApiAppRow, AuditRow, LimitUseRow, SessionRow } from '../entities/identity.ts';
import type { RequestKey, KeptKey } from '../entities/orders.ts';
import { batchedRead } from '../batched-reads.ts';
import type { ReadTx, Store, Tx } from '../store.ts';
import { allOf, equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';
import { PART_ROWS, type PartDone, inParts } from './retention.ts';

/** The data about an application that each of its requests reads, always from the primary database. */
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

/** A token of an application, and the Idempotency-Key of its request, whose stored result is read too. */
export interface AppToken {
  clientId: string;
  jti: string;
  requestKey?: RequestKey | undefined;
}

/** The data about an application that the issue of a token reads. */
export type ClientState = Pick<
  ApiAppRow,
  | 'clientId'
  | 'secretHash'
  | 'previousSecretHash'
  | 'previousSecretExpiresAt'
  | 'kind'
  | 'scopes'
  | 'enabled'
  | 'generation'
  | 'allowedIps'
  | 'lastUsedAt'
>;

/** The state of an administrator and of one session. Every request of the administrator reads it. */
export type AdminState = Pick<AdminRow, 'id' | 'username' | 'projects' | 'enabled' | 'generation'> & {
  role: Role;
  /**
   * `confirmedAt` = when the password was last confirmed in this session; `seenAt` = when the session was last used.
   */
  confirmedAt: Date | null;
  seenAt: Date;
  hasFactor: boolean;
  /** `gaveFactor` = whether a second factor was entered in this session; `codeAt` = when a code was last entered. */
  gaveFactor: boolean;
  codeAt: Date | null;
  /** When a confirmation of the password replaced this session with a new session; null = not replaced. */
  replacedAt: Date | null;
};

export interface LoginState {
  /** Whether any administrator exists. */
  bootstrapped: boolean;
  admin?: Pick<AdminRow, 'id' | 'username' | 'projects' | 'enabled' | 'generation' | 'passwordHash'> & {
    role: Role;
    hasFactor: boolean;
  };
  /** Whether the account has logged in from this address before. */
  known: boolean;
}

/**
 * One page of a list: at most `limit` rows after the position `cursor`. One more row is read, to know whether there is
 * a next page.
 */
export interface Part {
  readonly limit: number;
  readonly cursor?: Position;
}

export interface AppFilter extends Part {
  readonly kinds: readonly ApiAppRow['kind'][];
  readonly project?: Projects | undefined;
  readonly enabled?: boolean;
  readonly name?: string;
}

export interface AuditFilter extends Part {
  readonly actor?: string;
  readonly action?: string;
  readonly target?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface IdentityQueries extends SessionQueries {
  createAppReads(store: Pick<Store, 'read'>): AppReads;
  adminState(tx: ReadTx, id: string, jti: string): Promise<AdminState | undefined>;
  loginState(tx: ReadTx, username: string, addressKey: string): Promise<LoginState>;
  apps(tx: ReadTx, filter: AppFilter): Promise<ApiAppRow[]>;
  admins(tx: ReadTx, part: Part & { username?: string }): Promise<AdminRow[]>;
  auditLines(tx: ReadTx, filter: AuditFilter): Promise<AuditRow[]>;
  /** Lines of the audit log with ids above `after`, oldest first. */
  auditAfter(tx: ReadTx, after: bigint, limit: number): Promise<AuditRow[]>;
  /** Stores when an application was last used. The stored time changes at most once a minute. */
  touchApp(tx: Tx, clientId: string, at: Date): Promise<void>;
}

/** Each function reads with one statement for several requests (`batchedRead`). */
export interface AppReads {
  /** The application of a token. undefined = there is no such application. */
  appState(token: AppToken): Promise<AppState | undefined>;
  clientState(clientId: string): Promise<ClientState | undefined>;
}

export interface SessionQueries {
  /** The sessions of an account that are valid at `at` and have been used since `seenSince`. */
  sessions(tx: ReadTx, adminId: string, filter: Part & { at: Date; seenSince: Date }): Promise<SessionRow[]>;
  touchSession(tx: Tx, jti: string, at: Date): Promise<void>;
  /** Ends all sessions of an account except one, for all replicas. Returns the number of ended sessions. */
  endOtherSessions(tx: Tx, but: { adminId: string; jti: string; at: Date }): Promise<number>;
  /** Deletes revocations whose token expired more than a day ago by the database's clock; returns their number. */
  deleteExpiredRevocations(store: Store, goesOn?: () => boolean): Promise<number>;
  /** Deletes sessions whose token expired more than a day ago by the database's clock; returns their number. */
  deleteExpiredSessions(store: Store, goesOn?: () => boolean): Promise<number>;
}

export const identityQueries: IdentityQueries = {
  createAppReads,
  adminState,
  loginState,
  apps,
  admins,
  auditLines,
  auditAfter,
  touchApp,
  sessions,
  touchSession,
  endOtherSessions,
  deleteExpiredRevocations: (store, goesOn) => deleteExpired(store, 'revoked_tokens', goesOn),
  deleteExpiredSessions: (store, goesOn) => deleteExpired(store, 'sessions', goesOn),
};

function createAppReads(store: Pick<Store, 'read'>): AppReads {
  const readApp = batchedRead({
    idOf: ({ clientId }: AppToken) => clientId,
    read: (tokens) => store.read((tx) => appsOf(tx, tokens)),
    partFor: ({ revoked, kept, ...app }, { jti, requestKey }) => ({
      ...app,
      revoked: revoked.filter((one) => one === jti),
      kept: kept && kept.filter(({ route, key }) => route === requestKey?.route && key === requestKey.key),
    }),
  });
  const readClient = batchedRead({
    idOf: String,
    read: (clientIds: readonly string[]) => store.read((tx) => clientsOf(tx, clientIds)),
  });
  return {
    async appState(token) {
      const app = await readApp(token);
      return app && { ...app, revoked: app.revoked.length > 0, kept: keptOf(app) };
    },
    clientState: readClient,
  };
}

type FoundApp = Omit<AppState, 'revoked' | 'kept'> & {
  /** The ids of the revoked tokens among all tokens of the statement. */
  revoked: string[];
  /** The results stored under the Idempotency-Keys of this application's requests. */
  kept: (Omit<KeptKey, 'leasedUntil'> & RequestKey & { leasedUntil: string | null })[] | null;
};

/** Reads all facts in one statement that uses primary keys. */
async function appsOf(tx: ReadTx, tokens: readonly AppToken[]): Promise<ReadonlyMap<string, FoundApp>> {
  const keyed = tokens.flatMap(({ clientId, requestKey }) => (requestKey ? [{ clientId, ...requestKey }] : []));
  const kept = sql`
    (select json_agg(json_build_object('route', k.route, 'key', k.key, 'fingerprint', k.fingerprint,
              'intentNo', k.intent_no, 'state', k.state, 'leasedUntil', k.leased_until, 'status', k.status, 'body', k.body))
       from (select distinct * from unnest(${valuesOf(keyed, 'clientId')}::text[], ${valuesOf(keyed, 'route')}::text[],
                     ${valuesOf(keyed, 'key')}::text[])) as sent (client_id, route, key)
       join idempotency_keys k
         on k.scope = 'app:' || sent.client_id and k.route = sent.route and k.key = sent.key
      where sent.client_id = a.client_id)`;
  const rows = await tx.sql<FoundApp>`
    select client_id, name, project, kind, scopes, enabled, generation, allowed_ips, rate_limit, late_payment, limits,
           last_used_at, array(select jti::text from revoked_tokens where jti = any(${valuesOf(tokens, 'jti')})) as revoked,
           ${keyed.length > 0 ? kept : sql`null`} as kept
      from api_apps a where client_id = any(${valuesOf(tokens, 'clientId')})`;
  return new Map(rows.map((row) => [row.clientId, row]));
}

function valuesOf<Row extends object, Name extends keyof Row>(rows: readonly Row[], name: Name): Row[Name][] {
  return rows.map((row) => row[name]);
}

function keptOf({ kept }: FoundApp): KeptKey | null {
  const [found] = kept ?? [];
  if (!found) return null;
  const { leasedUntil, fingerprint, intentNo, state, status, body } = found;
  const until = leasedUntil === null ? null : new Date(leasedUntil);
  return { fingerprint, intentNo, state, leasedUntil: until, status, body };
}

async function clientsOf(tx: ReadTx, clientIds: readonly string[]): Promise<ReadonlyMap<string, ClientState>> {
  const rows = await tx.sql<ClientState>`
    select client_id, secret_hash, previous_secret_hash, previous_secret_expires_at, kind, scopes, enabled, generation,
           allowed_ips, last_used_at
      from api_apps where client_id = any(${clientIds})`;
  return new Map(rows.map((row) => [row.clientId, row]));
}

const BOUNDS = sql`a.role, a.projects, coalesce(f.enabled_at is not null, false) as has_factor`;

/** Reads an administrator and a session. Returns undefined if the session has ended. */
async function adminState(tx: ReadTx, id: string, jti: string): Promise<AdminState | undefined> {
  const [row] = await tx.sql<AdminState>`
    select a.id, a.username, a.enabled, a.generation, ${BOUNDS}, s.confirmed_at, s.seen_at, s.code_at, s.replaced_at,
           s.second_factor as gave_factor
      from admins a left join second_factors f on f.admin_id = a.id join sessions s on s.jti = ${jti} and s.admin_id = a.id
     where a.id = ${id}::uuid`;
  return row;
}

type LoginRow = { bootstrapped: boolean; known: boolean; id: string | null } & NonNullable<LoginState['admin']>;

async function loginState(tx: ReadTx, username: string, addressKey: string): Promise<LoginState> {
  const [row] = await tx.sql<LoginRow>`
    select exists(select 1 from admins) as bootstrapped, a.id, a.username, a.enabled, a.generation, ${BOUNDS}, a.password_hash,
           exists(select 1 from known_addresses k where k.admin_id = a.id and k.address = ${addressKey}) as known
      from (select 1) as one left join admins a on a.username = ${username} left join second_factors f on f.admin_id = a.id`;
  if (!row) return { bootstrapped: false, known: false };
  const { bootstrapped, known, ...admin } = row;
  return { bootstrapped, known, admin: admin.id === null ? undefined : admin };
}

async function touchApp(tx: Tx, clientId: string, at: Date): Promise<void> {
  await tx.sql`update api_apps set last_used_at = ${at}
    where client_id = ${clientId} and (last_used_at is null or last_used_at < ${new Date(at.getTime() - 60_000)})`;
}

function apps(tx: ReadTx, { kinds, project, cursor, limit, ...filter }: AppFilter): Promise<ApiAppRow[]> {
  const parts = equalities('api_apps', filter, ['enabled', 'name']);
  if (project !== undefined) parts.push(ofProjects('project', project));
  parts.push(sql`kind = any(${kinds})`);
  return newestFirst(tx.apps, sql`client_id`, parts, cursor, limit + 1).execute();
}

function admins(tx: ReadTx, { cursor, limit, ...filter }: Part & { username?: string }): Promise<AdminRow[]> {
  const parts = equalities('admins', filter, ['username']);
  return newestFirst(tx.admins, sql`id::text`, parts, cursor, limit + 1).execute();
}

/** Sorted by id, because the ids of audit lines increase in the sequence of the commits. */
function auditLines(tx: ReadTx, { from, to, cursor, limit, ...filter }: AuditFilter): Promise<AuditRow[]> {
  const parts = equalities('audit_log', filter, ['actor', 'action', 'target']);
  if (from) parts.push(sql`at >= ${from}`);
  if (to) parts.push(sql`at < ${to}`);
  if (cursor && /^\d{1,18}$/.test(cursor.id)) parts.push(sql`id < ${cursor.id}::bigint`);
  return tx.audit
    .rows()
    .where(allOf(parts))
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

function auditAfter(tx: ReadTx, after: bigint, limit: number): Promise<AuditRow[]> {
  return tx.audit.rows().where('id', '>', after).orderBy('id').limit(limit).execute();
}

/** The hash of the first audit line with an id above `after`; undefined if there is no such line. */
export async function auditHashAfter(tx: ReadTx, after: string): Promise<string | undefined> {
  const line = tx.db.selectFrom('audit_log').select('hash').where('id', '>', BigInt(after)).orderBy('id').limit(1);
  return (await line.executeTakeFirst())?.hash;
}

function sessions(
  tx: ReadTx,
  adminId: string,
  filter: Parameters<SessionQueries['sessions']>[2],
): Promise<SessionRow[]> {
  const { at, seenSince, cursor, limit } = filter;
  const parts = [
    ...equalities('sessions', { adminId }, ['adminId']),
    sql`replaced_at is null and expires_at > ${at} and seen_at >= ${seenSince}`,
    sql`exists (select 1 from admins a where a.id = sessions.admin_id and a.generation = sessions.generation)`,
  ];
  return newestFirst(tx.sessions, sql`jti`, parts, cursor, limit + 1).execute();
}

async function touchSession(tx: Tx, jti: string, at: Date): Promise<void> {
  await tx.sql`update sessions set seen_at = greatest(seen_at, ${at}) where jti = ${jti}`;
}

/** Ends all sessions of an account except one. Replaced and expired sessions are deleted too, but not counted. */
async function endOtherSessions(tx: Tx, { adminId, jti, at }: { adminId: string; jti: string; at: Date }) {
  const rows = await tx.sql<{ counts: boolean }>`
    delete from sessions where admin_id = ${adminId}::uuid and (jti <> ${jti} or replaced_at is not null)
    returning replaced_at is null and expires_at > ${at}::timestamptz as counts`;
  return rows.filter(({ counts }) => counts).length;
}

/**
 * Deletes rows that expired more than a day ago by the database's clock. A replica with a wrong clock can then neither
 * delete rows too early, nor accept an expired token whose row is already deleted.
 */
function deleteExpired(store: Store, table: 'revoked_tokens' | 'sessions', goesOn?: () => boolean): Promise<number> {
  const from = sql.table(table);
  const clean = async (): Promise<PartDone<true>> => {
    const rows = await store.transaction(
      (tx) => tx.sql`delete from ${from} where ctid = any (array(
          select ctid from ${from} where expires_at < now() - interval '1 day' order by expires_at limit ${PART_ROWS}
             for update skip locked))
        returning 1`,
    );
    return { removed: rows.length, next: rows.length < PART_ROWS ? undefined : true };
  };
  return inParts(clean, goesOn);
}

/** The period for which a limit applies: orders per hour, amounts per day or month, refunds per day. */
export type UseSpan = LimitUseRow['span'];

export type Use = Pick<LimitUseRow, 'span' | 'beginsAt' | 'used'>;

type Whose = Pick<LimitUseRow, 'clientId' | 'currency'>;

/**
 * Adds to the usage of limits and returns the new sums. The rows stay locked until the transaction ends, so that
 * concurrent requests cannot exceed a limit together. Callers must pass `uses` sorted by the name of the span, to avoid
 * deadlocks.
 */
export async function countUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<Use[]> {
  const values = uses.map(
    ({ span, beginsAt, used }) => sql`(${clientId}, ${currency}, ${span}, ${beginsAt}::timestamptz, ${used}::bigint)`,
  );
  const rows = await tx.sql<{ span: UseSpan; used: bigint }>`
    insert into limit_uses as held (client_id, currency, span, begins_at, used) values ${sql.join(values)}
    on conflict (client_id, currency, span, begins_at) do update set used = held.used + excluded.used
    returning span, used`;
  return uses.map(({ span, beginsAt }) => ({
    span,
    beginsAt,
    used: rows.find((row) => row.span === span)?.used ?? 0n,
  }));
}

/**
 * Adds `used`, which may be negative; a period without a stored row is skipped. The rows are locked in the same
 * sequence as in `countUses`, so that concurrent calls of the two functions never deadlock.
 */
export async function shiftUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<void> {
  const spans = uses.map(
    ({ span, beginsAt, used }) => sql`(${span}::varchar, ${beginsAt}::timestamptz, ${used}::bigint)`,
  );
  await tx.sql`
    with part as materialized (
       select u.span, u.begins_at, v.by
         from limit_uses u join (values ${sql.join(spans)}) v (span, begins_at, by) on v.span = u.span and v.begins_at = u.begins_at
        where u.client_id = ${clientId} and u.currency = ${currency} order by u.span for update of u)
    update limit_uses u set used = u.used + part.by from part
     where u.client_id = ${clientId} and u.currency = ${currency} and u.span = part.span and u.begins_at = part.begins_at`;
}
