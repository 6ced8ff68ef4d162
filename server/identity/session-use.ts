import type { Store } from '../db/store.ts';
import type { AdminState, SessionQueries } from './ports.ts';
import type { GenuineToken } from './tokens.ts';

const NOTED_MS = 60_000;

/** From when on a session must have been used to be alive; always, where there is no idle time. */
export function usedSince(now: Date, idleMinutes: number): Date {
  return new Date(idleMinutes === 0 ? 0 : now.getTime() - idleMinutes * 60_000);
}

/** What noting the use of sessions needs. */
export interface SessionUsePorts {
  store: Store;
  queries: Pick<SessionQueries, 'touchSession'>;
  now: () => Date;
}

/** Notes the use of a session beside the request, at most once a minute; losing one is no harm. */
export function createSessionUse({ store, queries, now }: SessionUsePorts) {
  const underway = new Set<string>();
  return ({ seenAt }: AdminState, { jti }: GenuineToken): void => {
    const at = now();
    if (underway.has(jti) || at.getTime() - seenAt.getTime() < NOTED_MS) return;
    underway.add(jti);
    store
      .autocommit((tx) => queries.touchSession(tx, jti, at))
      .catch(() => {})
      .finally(() => underway.delete(jti));
  };
}
