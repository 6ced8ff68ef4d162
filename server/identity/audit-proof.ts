import { z } from 'zod';
import type { AuditRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import {
  type AuditKey,
  type AuditKeys,
  type AuditTip,
  FIRST_ADMIN,
  type KnownTip,
  LINES_LOST,
  chainHash,
  firstHash,
} from './audit.ts';
import type { IdentityQueries } from './ports.ts';

/** Facts about the audit log that the caller of the verification knows from a source outside the database. */
export interface AuditKnowledge {
  /** The hash of a line that was copied from the log earlier. The log must still contain this line. */
  tip?: string | undefined;
  /**
   * The id of an audit line. Two findings up to this line are not faults. The first is a line with a former key, which
   * an outdated replica wrote. The second is a report of lost lines after the database was restored or failed over.
   */
  acceptUntil?: bigint | undefined;
}

export interface AuditProof {
  readonly lines: number;
  /**
   * The hash of the last verified line. If it is stored outside the database, a later verification detects that lines
   * were removed from the end of the log.
   */
  readonly tip: string;
  /** `id` is the id of the faulty line. For a missing line it is the expected id, hash or action. */
  readonly broken?: { readonly id: string; readonly reason: AuditFault };
  /** The state from which the next partial verification continues. Absent at the end of the log. */
  readonly next?: AuditPlace;
}

/** `lines` is the maximum number of lines to verify. Absent `from` = the start of the log. */
export interface AuditPart {
  readonly from?: AuditPlace | undefined;
  readonly lines: number;
}

/**
 * For this time (ms) after the first line with a new key, lines with the former key are still accepted. In this time,
 * replicas that do not have the new key yet are replaced.
 */
const ROLLING_MS = 86_400_000;
const pageSize = 1000;

/**
 * Verifies that no line of the audit log was changed, removed from the middle, or added without a key. It reads the log
 * from the first line, completely or in parts. If the caller knows the hash of an earlier line (`tip`), the log must
 * still contain this line. If an administrator exists, the log must contain the line about the creation of the first
 * administrator.
 */
export async function verifyAuditChain(
  { store, now, known }: { store: Store; now: () => Date; known?: KnownTip },
  { auditAfter }: Pick<IdentityQueries, 'auditAfter'>,
  keys: Pick<AuditKeys, 'all'>,
  knowledge: AuditKnowledge = {},
  { from, lines: most }: AuditPart = { lines: Number.POSITIVE_INFINITY },
): Promise<AuditProof> {
  const proof = createProof(await keys.all(), knowledge, from);
  for (let left = most; left > 0;) {
    const size = Math.min(left, pageSize);
    const page = await store.read((tx) => auditAfter(tx, proof.last(), size));
    for (const line of page) {
      const broken = proof.take(line);
      if (broken) return { ...proof.found(), broken };
    }
    if (page.length < size) {
      const broken =
        proof.end(now(), await store.read((tx) => tx.admins.count({}))) ??
        proof.lacks(await store.read(async (tx) => known?.lost(tx)));
      return { ...proof.found(), ...(broken && { broken }) };
    }
    left -= page.length;
  }
  return { ...proof.found(), next: proof.place() };
}

type Keys = Awaited<ReturnType<AuditKeys['all']>>;
type Broken = NonNullable<AuditProof['broken']>;

function createProof(
  { configured, former }: Keys,
  { tip: expected, acceptUntil = 0n }: AuditKnowledge,
  from: AuditPlace | undefined,
) {
  const byId = new Map([...configured, ...former].map((key) => [key.id, key]));
  const formerIds = new Set(former.map(({ id }) => id));
  const seen = new Set(from?.seen);
  let found = { lines: from?.lines ?? 0, tip: from?.tip ?? firstHash };
  let isTipFound = expected === undefined || expected === firstHash || from?.isTipFound === true;
  let isBegun = from?.isBegun === true;
  let lastId = BigInt(from?.last ?? 0);
  /** The newest key that a line has used. A line with a former key must soon be followed by a line with this key. */
  let current = from?.current && { id: from.current.id, since: new Date(from.current.since) };
  let open: AuditPlace['open'] = from?.open;

  return { take, end, lacks, last: () => lastId, found: () => found, place };

  function place(): AuditPlace {
    return {
      ...found,
      last: String(lastId),
      isTipFound,
      isBegun,
      seen: [...seen],
      ...(current && { current: { id: current.id, since: current.since.toISOString() } }),
      ...(open && { open }),
    };
  }

  function take(line: AuditRow): Broken | undefined {
    const id = BigInt(line.id);
    const key = byId.get(line.keyId);
    if (line.previousHash !== found.tip) return { id: String(id), reason: 'line_missing' };
    if (!key) return { id: String(id), reason: 'key_unknown' };
    if (chainHash(line, key) !== line.hash) return { id: String(id), reason: 'line_changed' };
    if (line.action === LINES_LOST && id > acceptUntil) return { id: String(id), reason: 'lines_lost' };
    const broken = isCurrent(key) ? follow(line, key) : void leaveOpen(id);
    found = { lines: found.lines + 1, tip: line.hash };
    isTipFound ||= line.hash === expected;
    isBegun ||= line.action === FIRST_ADMIN;
    lastId = id;
    return broken;
  }

  /** Once a newer key was used, a former key must not become the newest again: an attacker may have obtained it. */
  function isCurrent({ id }: AuditKey): boolean {
    if (!current || current.id === id) return true;
    return !seen.has(id) && (!formerIds.has(id) || formerIds.has(current.id));
  }

  function follow({ at }: AuditRow, key: AuditKey): Broken | undefined {
    const late = overdue(at);
    if (late) return late;
    open = undefined;
    seen.add(key.id);
    if (current?.id !== key.id) current = { id: key.id, since: at };
    return undefined;
  }

  function leaveOpen(id: bigint): void {
    if (!current || id <= acceptUntil) return;
    const until = current.since.getTime() + ROLLING_MS;
    open ??= { id: String(id), reason: 'key_former', until };
  }

  function overdue(at: Date): Broken | undefined {
    return open && at.getTime() > open.until ? { id: open.id, reason: open.reason } : undefined;
  }

  function end(now: Date, admins: number): Broken | undefined {
    const late = overdue(now);
    if (late) return late;
    if (!isTipFound) return { id: expected!, reason: 'tip_missing' };
    return isBegun || admins === 0 ? undefined : { id: FIRST_ADMIN, reason: 'first_missing' };
  }

  function lacks(lost: AuditTip | undefined): Broken | undefined {
    const id = lost && BigInt(lost.after) + 1n;
    return id && id > acceptUntil ? { id: String(id), reason: 'lines_lost' } : undefined;
  }
}

const AuditFault = z.enum([
  'line_changed',
  'line_missing',
  'key_former',
  'key_unknown',
  'tip_missing',
  'first_missing',
  'lines_lost',
]);
type AuditFault = z.infer<typeof AuditFault>;

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

/** The client stores this state and sends it back, so a forged state misleads only that client. */
type AuditPlace = z.infer<typeof AuditPlace>;

/** Parses the state of a verification from JSON. Returns undefined if the text is invalid. */
export function readAuditPlace(text: string): AuditPlace | undefined {
  try {
    return AuditPlace.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
