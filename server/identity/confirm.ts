import { InvalidRequest, Unauthenticated } from '../errors.ts';
import { by } from './audit.ts';
import { type CheckPorts, isRight, recordFailure } from './check-password.ts';
import type { KnownAddresses } from './known-addresses.ts';
import type { Actor, AdminState, IdentityQueries, Session } from './ports.ts';
import { type NewSession, sessionRow } from './session-row.ts';

const CONFIRMED_MS = 300_000;

/** Whether the password of a session was given so recently that nobody else is likely to sit there. */
export function isConfirmed({ confirmedAt }: Pick<AdminState, 'confirmedAt'>, now: Date): boolean {
  return confirmedAt !== null && now.getTime() - confirmedAt.getTime() <= CONFIRMED_MS;
}

/** What looking at the own password needs. */
export interface OwnPasswordPorts extends CheckPorts {
  queries: Pick<IdentityQueries, 'loginState'>;
  addresses: KnownAddresses;
  now: () => Date;
}

/** The account of a session, once its password was found right; a wrong one counts as a failed login and is a 400 at `pointer`. */
export async function requirePassword(
  ports: OwnPasswordPorts,
  { id, username }: Session,
  actor: Actor,
  { password, pointer }: { password: string; pointer: string },
) {
  const { store, queries, addresses, limits } = ports;
  const ip = actor.ip ?? '';
  const { admin, known } = await store.read((tx) => queries.loginState(tx, username, addresses.keyOf(ip)));
  if (admin?.id !== id) throw new Unauthenticated();
  const attempt = { username, ip, known };
  await limits.check(attempt);
  if (await isRight(ports, attempt, password, admin.passwordHash, 'reserved')) return admin;
  await recordFailure(ports, actor, attempt);
  throw new InvalidRequest('The current password is wrong.', [
    { pointer, code: 'password_wrong', detail: 'is not the current password' },
  ]);
}

/** Makes the confirmation of a session by the password of its account. */
export function createConfirm(ports: OwnPasswordPorts & { ttlSeconds: number }) {
  const { store, audit, now, ttlSeconds } = ports;
  return async (session: Session, actor: Actor, password: string): Promise<Date> => {
    const { generation } = await requirePassword(ports, session, actor, { password, pointer: '/password' });
    const at = now();
    await store.transaction(async (tx) => {
      const { jti, id: adminId, username } = session;
      if ((await tx.sessions.update({ jti }, { confirmedAt: at })) === 0) {
        const adopted: NewSession = { jti, adminId, generation, ip: actor.ip, ttlSeconds, confirmedAt: at };
        await tx.sessions.insertIfNew(sessionRow(adopted, at));
      }
      await audit(tx, { ...by(actor), action: 'admin.confirm', target: username });
    });
    return new Date(at.getTime() + CONFIRMED_MS);
  };
}
