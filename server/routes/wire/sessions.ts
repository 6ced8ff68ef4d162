import { z } from 'zod';
import type { SessionRow } from '../../identity/ports.ts';
import { Timestamp } from './fields.ts';

/** The path parameter of one session of the own account. */
export const BySessionId = z.object({ id: z.uuid() });

/** A session in an answer. */
export const SessionEntry = z
  .object({
    id: z.uuid(),
    /** The session of this very request. */
    current: z.boolean(),
    secondFactor: z.boolean().describe('Whether a code of the second factor was given in it.'),
    ip: z.string().nullable(),
    userAgent: z.string().nullable(),
    createdAt: Timestamp,
    /** To the minute. */
    lastUsedAt: Timestamp,
    expiresAt: Timestamp,
  })
  .meta({ id: 'AdminSessionEntry' });

/** How a session is shown in the session `current`. */
export function presentSession(row: SessionRow, current: string): z.input<typeof SessionEntry> {
  const { jti, ip, userAgent, secondFactor } = row;
  return {
    id: jti,
    current: jti === current,
    secondFactor: secondFactor ?? false,
    ip: ip ?? null,
    userAgent: userAgent ?? null,
    createdAt: row.createdAt.toISOString(),
    lastUsedAt: row.seenAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
  };
}

/** The place of a session in its list. */
export function placeOfSession({ createdAt, jti }: SessionRow): { createdAt: Date; id: string } {
  return { createdAt, id: jti };
}
