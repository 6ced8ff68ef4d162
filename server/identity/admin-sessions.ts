import type { SessionRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import type { Actor, AdminRow, Part, SessionQueries } from './ports.ts';
import { usedSince } from './session-use.ts';

/** What looking at sessions needs. */
export interface AdminSessionPorts {
  store: Store;
  queries: Pick<SessionQueries, 'sessions'>;
  audit: Audit;
  idleMinutes: number;
  now: () => Date;
}

/** The sessions of an account: of the own one, or of another. */
export interface AdminSessions {
  /** Those that are alive, newest first, one more than `limit`; throws NotFound when there is no such account. */
  list(adminId: string, part: Part): Promise<SessionRow[]>;
  /** Ends one for every replica; throws NotFound when it is over already, or is another account's. */
  end(actor: Actor, adminId: string, id: string): Promise<void>;
  /** Ends all of an account for every replica. */
  endAll(actor: Actor, adminId: string): Promise<void>;
}

/** Makes them. */
export function createAdminSessions({ store, queries, audit, idleMinutes, now }: AdminSessionPorts): AdminSessions {
  return {
    list: (adminId, part) =>
      store.read(async (tx) => {
        found(await tx.admins.find({ id: adminId }));
        const at = now();
        return queries.sessions(tx, adminId, { ...part, at, seenSince: usedSince(at, idleMinutes) });
      }),
    end: (actor, adminId, jti) =>
      store.transaction(async (tx) => {
        const at = now();
        const { username } = found(await tx.admins.find({ id: adminId }));
        const row = await tx.sessions.lock({ jti, adminId, replacedAt: null });
        const { expiresAt } = row ?? {};
        if (!expiresAt || expiresAt <= at) throw new NotFound('session');
        await tx.sessions.delete({ jti });
        await audit(tx, { ...by(actor), action: 'admin.end-session', target: username, after: { session: jti } });
      }),
    endAll: (actor, id) =>
      store.transaction(async (tx) => {
        const { username, generation } = found(await tx.admins.lock({ id }));
        await tx.admins.update({ id }, { generation: generation + 1, updatedAt: now() });
        await audit(tx, { ...by(actor), action: 'admin.end-sessions', target: username });
      }),
  };
}

function found(admin: AdminRow | undefined): AdminRow {
  if (!admin) throw new NotFound('administrator');
  return admin;
}
