import type { SessionQueries } from '../../identity/ports.ts';
import type { ReadTx, Store, Tx } from '../store.ts';
import { behind, inOrder, place } from './identity-lists.ts';
import { inParts, type Part, PART_ROWS } from './parts.ts';

/** The statements about sessions that need SQL of their own. */
export const sessionQueries: SessionQueries = {
  sessions,
  touchSession,
  endOtherSessions,
  deleteExpiredRevocations: (store, goesOn) => deleteExpired(store, 'revoked_tokens', goesOn),
  deleteExpiredSessions: (store, goesOn) => deleteExpired(store, 'sessions', goesOn),
};

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
  const clean = async (): Promise<Part<true>> => {
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
