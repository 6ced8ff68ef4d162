import type { AdminState, AppState, IdentityQueries, LoginState } from '../../identity/ports.ts';
import type { AskedKey, KeptKey } from '../entities/orders.ts';
import type { ReadTx, Tx } from '../store.ts';
import { auditAfter, auditLines } from './audit.ts';
import { admins, apps } from './identity-lists.ts';
import { sessionQueries } from './sessions.ts';

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
  ...sessionQueries,
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
