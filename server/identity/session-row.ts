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
  /** Whether a code of the second factor was given, and when. */
  secondFactor?: boolean;
  codeAt?: Date | undefined;
  ttlSeconds: number;
}

/** The row of a session that begins at this instant. */
export function sessionRow({ ttlSeconds, ...session }: NewSession, at: Date): SessionRow {
  const { ip, userAgent, confirmedAt, codeAt, secondFactor = false } = session;
  return {
    jti: session.jti,
    adminId: session.adminId,
    generation: session.generation,
    ip: ip ?? null,
    userAgent: userAgent?.slice(0, 256) ?? null,
    createdAt: at,
    seenAt: at,
    confirmedAt: confirmedAt ?? null,
    secondFactor,
    codeAt: codeAt ?? null,
    replacedAt: null,
    expiresAt: new Date(at.getTime() + ttlSeconds * 1000),
  };
}
