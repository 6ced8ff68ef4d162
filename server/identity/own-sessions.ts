import type { SessionRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { type Audit, by } from './audit.ts';
import type { Actor, Part, Session, SessionQueries } from './ports.ts';
import { usedSince } from './session-use.ts';

/** What looking at the own sessions needs. */
export interface OwnSessionPorts {
  store: Store;
  queries: Pick<SessionQueries, 'sessions'>;
  audit: Audit;
  idleMinutes: number;
  now: () => Date;
}

/** What somebody may do with the sessions of the own account. */
export interface OwnSessions {
  /** Those that are alive, newest first, one more than `limit`. */
  list(session: Session, part: Part): Promise<SessionRow[]>;
  /** Ends one for every replica; throws NotFound when it is over already, or is somebody else's. */
  end(session: Session, actor: Actor, id: string): Promise<void>;
}

/** Makes them. */
export function createOwnSessions({ store, queries, audit, idleMinutes, now }: OwnSessionPorts): OwnSessions {
  return {
    list: ({ id }, part) => {
      const at = now();
      return store.read((tx) => queries.sessions(tx, id, { ...part, at, seenSince: usedSince(at, idleMinutes) }));
    },
    end: ({ id, username }, actor, jti) =>
      store.transaction(async (tx) => {
        const at = now();
        const row = await tx.sessions.lock({ jti, adminId: id });
        const { expiresAt } = row ?? {};
        if (!expiresAt || expiresAt <= at) throw new NotFound('session');
        if (!(await tx.revokedTokens.insertIfNew({ jti, owner: id, expiresAt, revokedAt: at })))
          throw new NotFound('session');
        await audit(tx, { ...by(actor), action: 'admin.end-session', target: username, after: { session: jti } });
      }),
  };
}
