import type { SessionRow } from '../db/entities/identity.ts';

/** A session that begins now. */
export interface NewSession {
  jti: string;
  adminId: string;
  generation: number;
  ip?: string | undefined;
  userAgent?: string | undefined;
  /** When the password was given, if it was. */
  confirmedAt?: Date;
  ttlSeconds: number;
}

/** The row of a session that begins at this instant. */
export function sessionRow({ ttlSeconds, ip, userAgent, confirmedAt, ...session }: NewSession, at: Date): SessionRow {
  return {
    ...session,
    ip: ip ?? null,
    userAgent: userAgent?.slice(0, 256) ?? null,
    createdAt: at,
    seenAt: at,
    confirmedAt: confirmedAt ?? null,
    expiresAt: new Date(at.getTime() + ttlSeconds * 1000),
  };
}
