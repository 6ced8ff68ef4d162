import type { Role } from '../../domain.ts';
import type { AdminRow, ApiAppRow, AuditRow, LimitUseRow, SessionRow } from '../entities/identity.ts';
import type { AskedKey, KeptKey } from '../entities/orders.ts';
import type { ReadTx, Store, Tx } from '../store.ts';
import type { Position } from './orders.ts';
import { type Projects, ofProjects } from './reach.ts';
import { PART_ROWS, type PartDone, inParts } from './retention.ts';

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

/** Reads of identity that are more than a row by its key. */
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

/** Statements about sessions. */
export interface SessionQueries {
  /** The sessions of an account that are alive at an instant and were used since another. */
  sessions(tx: ReadTx, adminId: string, filter: Part & { at: Date; seenSince: Date }): Promise<SessionRow[]>;
  /** Notes the use of a session. */
  touchSession(tx: Tx, jti: string, at: Date): Promise<void>;
  /** Ends every session of an account but one, for every replica; returns how many. */
  endOtherSessions(tx: Tx, but: { adminId: string; jti: string; at: Date }): Promise<number>;
  /** Forgets revocations of tokens that expired over a day ago by the database's clock; returns how many. */
  deleteExpiredRevocations(store: Store, goesOn?: () => boolean): Promise<number>;
  /** Forgets sessions whose token expired over a day ago by the database's clock; returns how many. */
  deleteExpiredSessions(store: Store, goesOn?: () => boolean): Promise<number>;
}

/** The reads of identity that need SQL of their own. */
export const identityQueries: IdentityQueries = {
  appState,
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

const APP_STATE = `select client_id as "clientId", name, project, kind, scopes, enabled, generation,
  allowed_ips as "allowedIps", rate_limit as "rateLimit", late_payment as "latePayment", limits,
  last_used_at as "lastUsedAt", exists(select 1 from revoked_tokens where jti = ?) as revoked`;

const KEPT_KEY = `(select json_build_object('fingerprint', k.fingerprint, 'intentNo', k.intent_no, 'state', k.state,
    'leasedUntil', k.leased_until, 'status', k.status, 'body', k.body)
  from idempotency_keys k where k.scope = 'app:' || client_id and k.route = ? and k.key = ?)`;

type AppStateRow = Omit<AppState, 'lastUsedAt' | 'kept'> & {
  lastUsedAt: string | null;
  kept: (Omit<KeptKey, 'leasedUntil'> & { leasedUntil: string | null }) | null;
};

/** The application, whether this token of it was revoked and what is kept under its key: one statement over primary keys, on every request. */
async function appState(tx: ReadTx, clientId: string, jti: string, asked?: AskedKey): Promise<AppState | undefined> {
  const [row] = asked
    ? await tx.prepared<AppStateRow>(`${APP_STATE}, ${KEPT_KEY} as kept from api_apps where client_id = ?`, [
        jti,
        asked.route,
        asked.key,
        clientId,
      ])
    : await tx.prepared<AppStateRow>(`${APP_STATE}, null as kept from api_apps where client_id = ?`, [jti, clientId]);
  if (!row) return undefined;
  const { kept, lastUsedAt, ...app } = row;
  return {
    ...app,
    lastUsedAt: dateOf(lastUsedAt),
    kept: kept && { ...kept, leasedUntil: dateOf(kept.leasedUntil) },
  };
}

type SessionTime = 'confirmedAt' | 'codeAt' | 'replacedAt';

/** The role of an account, its projects, and whether it has a second factor. */
const BOUNDS = `a.role, a.projects,
            coalesce(f.enabled_at is not null, false) as "hasFactor"`;

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

/** The administrator and this session; undefined where there is none, because it was ended or its row was removed. */
async function adminState(tx: ReadTx, id: string, jti: string): Promise<AdminState | undefined> {
  const [row] = await tx.prepared<
    Omit<AdminState, SessionTime | 'seenAt'> & Record<SessionTime, string | null> & { seenAt: string }
  >(
    `select a.id, a.username, a.enabled, a.generation, ${BOUNDS}, s.confirmed_at as "confirmedAt",
            s.seen_at as "seenAt", s.code_at as "codeAt", s.replaced_at as "replacedAt", s.second_factor as "gaveFactor"
       from admins a left join second_factors f on f.admin_id = a.id join sessions s on s.jti = ? and s.admin_id = a.id
      where a.id = ?::uuid`,
    [jti, id],
  );
  if (!row) return undefined;
  const { confirmedAt, seenAt, codeAt, replacedAt } = row;
  const times = { confirmedAt: dateOf(confirmedAt), codeAt: dateOf(codeAt), replacedAt: dateOf(replacedAt) };
  return { ...row, ...times, seenAt: new Date(seenAt) };
}

type LoginRow = { bootstrapped: boolean; known: boolean; id: string | null } & NonNullable<LoginState['admin']>;

/** The account of a username, whether it was at this address before, and whether there is any account. */
async function loginState(tx: ReadTx, username: string, addressKey: string): Promise<LoginState> {
  const [row] = await tx.sql<LoginRow>(
    `select exists(select 1 from admins) as bootstrapped, a.id, a.username, a.enabled, a.generation, ${BOUNDS},
            a.password_hash as "passwordHash",
            exists(select 1 from known_addresses k where k.admin_id = a.id and k.address = ?) as known
       from (select 1) as one left join admins a on a.username = ? left join second_factors f on f.admin_id = a.id`,
    [addressKey, username],
  );
  if (!row) return { bootstrapped: false, known: false };
  const { bootstrapped, known, ...admin } = row;
  return { bootstrapped, known, admin: admin.id === null ? undefined : admin };
}

async function touchApp(tx: Tx, clientId: string, at: Date): Promise<void> {
  await tx.prepared(
    `update api_apps set last_used_at = ? where client_id = ? and (last_used_at is null or last_used_at < ?)`,
    [at, clientId, new Date(at.getTime() - 60_000)],
  );
}

/** Applications, newest first, one more than `limit`. */
async function apps(tx: ReadTx, filter: AppFilter): Promise<ApiAppRow[]> {
  const { kinds, project, enabled = null, name = null } = filter;
  const [inProject, ...ofProject] = project === undefined ? ['true'] : ofProjects('project', project);
  const ids = await tx.sql<{ id: string }>(
    `select client_id as id from api_apps
      where kind in (${kinds.map(() => '?').join(', ')})
        and ${inProject} and (?::boolean is null or enabled = ?) and (?::text is null or name = ?)
        and ${behind('client_id')}
      order by created_at desc, client_id desc limit ?`,
    [...kinds, ...ofProject, enabled, enabled, name, name, ...place(filter)],
  );
  const rows = await tx.apps.list({ clientId: ids.map(({ id }) => id) });
  return inOrder(ids, rows, ({ clientId }) => clientId);
}

/** Administrators, newest first, one more than `limit`. */
async function admins(tx: ReadTx, part: Part & { username?: string }): Promise<AdminRow[]> {
  const { username = null } = part;
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from admins where (?::text is null or username = ?) and ${behind('id::text')}
      order by created_at desc, id::text desc limit ?`,
    [username, username, ...place(part)],
  );
  const rows = await tx.admins.list({ id: ids.map(({ id }) => id) });
  return inOrder(ids, rows, ({ id }) => id);
}

/** The rows after a cursor; `place` has its parameters. */
function behind(id: string, createdAt = 'created_at'): string {
  return `(?::timestamptz is null or (${createdAt}, ${id}) < (?::timestamptz, ?))`;
}

/** The parameters of `behind` and of `limit`, which reads one row more to see whether there are more. */
function place({ cursor, limit }: Part): unknown[] {
  const at = cursor?.createdAt ?? null;
  return [at, at, cursor?.id ?? '', limit + 1];
}

/** Rows in the order of their ids; a row that went in between is left out. */
function inOrder<Row>(ids: readonly { id: string }[], rows: readonly Row[], idOf: (row: Row) => string): Row[] {
  const byId = new Map(rows.map((row) => [idOf(row), row]));
  return ids.map(({ id }) => byId.get(id)).filter((row) => row !== undefined);
}

/** Lines of the audit log, newest first, one more than `limit`. Their ids are in the order of their commits. */
async function auditLines(tx: ReadTx, filter: AuditFilter): Promise<AuditRow[]> {
  const { actor = null, action = null, target = null, from = null, to = null, cursor } = filter;
  const before = cursor && /^\d{1,18}$/.test(cursor.id) ? cursor.id : null;
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from audit_log
      where (?::text is null or actor = ?) and (?::text is null or action = ?) and (?::text is null or target = ?)
        and (?::timestamptz is null or at >= ?) and (?::timestamptz is null or at < ?)
        and (?::bigint is null or id < ?::bigint)
      order by audit_log.id desc limit ?`,
    [actor, actor, action, action, target, target, from, from, to, to, before, before, filter.limit + 1],
  );
  return read(tx, ids);
}

/** Lines of the audit log in their own order, behind `after`. */
async function auditAfter(tx: ReadTx, after: bigint, limit: number): Promise<AuditRow[]> {
  const ids = await tx.sql<{ id: string }>(
    `select id::text as id from audit_log where id > ?::bigint order by audit_log.id limit ?`,
    [String(after), limit],
  );
  return read(tx, ids);
}

/** The hash of the first line behind `after`, if there is one. */
export async function auditHashAfter(tx: ReadTx, after: string): Promise<string | undefined> {
  const text = `select hash from audit_log where id > ?::bigint order by audit_log.id limit 1`;
  return (await tx.prepared<{ hash: string }>(text, [after]))[0]?.hash;
}

async function read(tx: ReadTx, ids: readonly { id: string }[]): Promise<AuditRow[]> {
  const rows = await tx.audit.list({ id: ids.map(({ id }) => BigInt(id)) });
  return inOrder(ids, rows, ({ id }) => String(id));
}

/** The sessions of an account that are alive, newest first, one more than `limit`. */
async function sessions(tx: ReadTx, adminId: string, filter: Parameters<SessionQueries['sessions']>[2]) {
  const ids = await tx.sql<{ id: string }>(
    `select s.jti as id from sessions s join admins a on a.id = s.admin_id and a.generation = s.generation
      where s.admin_id = ?::uuid and s.replaced_at is null and s.expires_at > ? and s.seen_at >= ?
        and ${behind('s.jti', 's.created_at')}
      order by s.created_at desc, s.jti desc limit ?`,
    [adminId, filter.at, filter.seenSince, ...place(filter)],
  );
  const rows = await tx.sessions.list({ jti: ids.map(({ id }) => id) });
  return inOrder(ids, rows, ({ jti }) => jti);
}

/** Notes the use of a session. */
async function touchSession(tx: Tx, jti: string, at: Date): Promise<void> {
  await tx.prepared('update sessions set seen_at = greatest(seen_at, ?) where jti = ?', [at, jti]);
}

/** Ends every session of an account but one; one that was replaced is no session any more, and does not count. */
async function endOtherSessions(tx: Tx, { adminId, jti, at }: { adminId: string; jti: string; at: Date }) {
  const rows = await tx.sql<{ counts: boolean }>(
    `delete from sessions where admin_id = ?::uuid and (jti <> ? or replaced_at is not null)
     returning replaced_at is null and expires_at > ?::timestamptz as counts`,
    [adminId, jti, at],
  );
  return rows.filter(({ counts }) => counts).length;
}

/**
 * By the clock of the database and a day late: a replica whose clock is ahead must not forget what others still need, and for
 * one whose clock is behind a token that has expired is still alive.
 */
function deleteExpired(store: Store, table: 'revoked_tokens' | 'sessions', goesOn?: () => boolean): Promise<number> {
  const over = `expires_at < now() - interval '1 day'`;
  const clean = async (): Promise<PartDone<true>> => {
    const rows = await store.transaction((tx) =>
      tx.prepared(
        `delete from ${table} where ctid = any (array(
           select ctid from ${table} where ${over} order by expires_at limit $1 for update skip locked))
         returning 1`,
        [PART_ROWS],
      ),
    );
    return { removed: rows.length, next: rows.length < PART_ROWS ? undefined : true };
  };
  return inParts(clean, goesOn);
}

/** What limits are counted by: orders of an hour, their amounts of a day and of a month, refunds of a day. */
export type UseSpan = LimitUseRow['span'];

/** What is used in a span. */
export type Use = Pick<LimitUseRow, 'span' | 'beginsAt' | 'used'>;

type Whose = Pick<LimitUseRow, 'clientId' | 'currency'>;

/**
 * Adds to what is used and gives what it is then; the rows stay locked until the transaction ends, so nobody counts past
 * another. Every caller names the spans in the order of their names.
 */
export async function countUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<Use[]> {
  const rows = await tx.prepared<{ span: UseSpan; used: string | number | bigint }>(
    `insert into limit_uses as held (client_id, currency, span, begins_at, used)
     values ${uses.map(() => '(?, ?, ?, ?::timestamptz, ?::bigint)').join(', ')}
     on conflict (client_id, currency, span, begins_at) do update set used = held.used + excluded.used
     returning span, used`,
    uses.flatMap(({ span, beginsAt, used }) => [clientId, currency, span, beginsAt, String(used)]),
  );
  return uses.map(({ span, beginsAt }) => ({
    span,
    beginsAt,
    used: BigInt(rows.find((row) => row.span === span)?.used ?? 0),
  }));
}

/** Changes what was used by spans that are still kept; locks in the same order as `countUses`. */
export async function shiftUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<void> {
  const spans = uses.map(() => '(?::varchar, ?::timestamptz, ?::bigint)').join(', ');
  await tx.prepared(
    `with part as materialized (
       select u.span, u.begins_at, v.by
         from limit_uses u join (values ${spans}) v (span, begins_at, by) on v.span = u.span and v.begins_at = u.begins_at
        where u.client_id = ? and u.currency = ? order by u.span for update of u)
     update limit_uses u set used = u.used + part.by from part
      where u.client_id = ? and u.currency = ? and u.span = part.span and u.begins_at = part.begins_at`,
    [
      ...uses.flatMap(({ span, beginsAt, used }) => [span, beginsAt, String(used)]),
      clientId,
      currency,
      clientId,
      currency,
    ],
  );
}
