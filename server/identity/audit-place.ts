import { z } from 'zod';

const AuditFault = z.enum([
  'line_changed',
  'line_missing',
  'key_former',
  'key_unknown',
  'tip_missing',
  'first_missing',
  'lines_lost',
]);
/** Why the log is not what was written. */
export type AuditFault = z.infer<typeof AuditFault>;

const Count = z.int().min(0);
const Id = z.string().regex(/^[\w-]{1,64}$/);

const AuditPlace = z
  .object({
    lines: Count,
    tip: z.string().regex(/^[0-9a-f]{64}$/),
    last: z.string().regex(/^\d{1,18}$/),
    isTipFound: z.boolean(),
    isBegun: z.boolean(),
    seen: z.array(Id).readonly(),
    current: z.object({ id: Id, since: z.iso.datetime() }).optional(),
    open: z.object({ id: Id, reason: AuditFault, until: z.number() }).optional(),
  })
  .readonly();

/** What a proof of the audit log knows between two parts; whoever makes one up deceives nobody else. */
export type AuditPlace = z.infer<typeof AuditPlace>;

/** Reads a place that was JSON; undefined when it is none. */
export function readAuditPlace(text: string): AuditPlace | undefined {
  try {
    return AuditPlace.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
