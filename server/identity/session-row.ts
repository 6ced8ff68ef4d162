import type { SessionRow } from '../db/entities/identity.ts';

/** A session that begins now, with the password. */
export interface NewSession {
  jti: string;
  adminId: string;
  generation: number;
  ip?: string | undefined;
  userAgent?: string | undefined;
  ttlSeconds: number;
}

/** The row of a session whose password was just given. */
export function sessionRow({ ttlSeconds, ip, userAgent, ...session }: NewSession, at: Date): SessionRow {
  return {
    ...session,
    ip: ip ?? null,
    userAgent: userAgent?.slice(0, 256) ?? null,
    createdAt: at,
    seenAt: at,
    confirmedAt: at,
    expiresAt: new Date(at.getTime() + ttlSeconds * 1000),
  };
}
