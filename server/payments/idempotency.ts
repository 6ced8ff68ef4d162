import { createHash } from 'node:crypto';
import type { Tx } from '../db/tx.ts';
import { Conflict, NotAllowed } from '../errors.ts';
import type { Ports } from './ports.ts';
import { later } from './schedule.ts';

/** A claim lives this long; a request that takes longer is answered by its retry. */
const LEASE_SECONDS = 30;

/** An Idempotency-Key on its way into the transaction that writes the intent (payments.md §4). */
export interface KeyClaim {
  scope: string;
  route: string;
  key: string;
  fingerprint: string;
  /** The intent of an earlier try whose answer was never stored. */
  resume: string | null;
  /** Set when this request owns the key. */
  taken: boolean;
  /** The lease that this request wrote: what it finishes must still carry it. */
  leasedUntil: Date | null;
}

/** One request under a key, as the HTTP layer hands it over; a structural twin of its own type. */
interface KeyedRequest {
  caller: { kind: 'app'; clientId: string } | { kind: 'admin'; id: string };
  route: string;
  key: string;
  body: unknown;
  params?: unknown;
}

interface KeyedAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  replayed?: boolean;
}

/** Runs a request once per key: replays a finished one, resumes a broken one, refuses a running or a different one. */
export function createIdempotency({ store, now }: Pick<Ports, 'store' | 'now'>) {
  return async <Request extends KeyedRequest, Answer extends KeyedAnswer>(
    request: Request,
    run: (request: Request & { claim: KeyClaim }) => Promise<Answer>,
  ): Promise<Answer | KeyedAnswer> => {
    const claim = claimFor(request);
    const stored = await store.read((tx) => tx.keys.find({ scope: claim.scope, route: claim.route, key: claim.key }));
    if (stored) {
      if (stored.fingerprint !== claim.fingerprint) throw conflict();
      if (stored.state === 'done') return replay(stored.status ?? 200, stored.body ?? '');
      if (stored.leasedUntil !== null && stored.leasedUntil > now()) throw inProgress();
      claim.resume = stored.intentNo;
    }
    const answer = await run({ ...request, claim });
    // What happened has happened, also when it cannot be noted any more: the retry finds the intent itself.
    if (claim.taken) await finish(claim, answer).catch(() => {});
    return answer;
  };

  /** A 5xx is never the stored answer: the retry continues the intent. */
  async function finish(claim: KeyClaim, answer: KeyedAnswer): Promise<void> {
    // A claim that was rolled back, or whose lease ran out, may be another request's by now.
    const where = { scope: claim.scope, route: claim.route, key: claim.key, leasedUntil: claim.leasedUntil };
    const patch =
      answer.status < 500
        ? { state: 'done' as const, status: answer.status, body: answer.body, leasedUntil: null }
        : { leasedUntil: null };
    await store.read((tx) => tx.keys.update(where, patch));
  }
}

/** Claims the key in the transaction that writes the intent; the unique index decides who is first. */
export async function claimKey(tx: Tx, claim: KeyClaim | undefined, intentNo: string, now: Date): Promise<void> {
  if (!claim) return;
  const where = { scope: claim.scope, route: claim.route, key: claim.key };
  const leasedUntil = later(now, LEASE_SECONDS);
  if (claim.resume === null) {
    const row = { ...where, fingerprint: claim.fingerprint, intentNo, state: 'running' as const, leasedUntil };
    const isNew = await tx.keys.insertIfNew({ ...row, status: null, body: null, createdAt: now });
    if (!isNew) throw inProgress();
  } else {
    const row = await tx.keys.lock(where);
    if (!row || row.state === 'done' || (row.leasedUntil !== null && row.leasedUntil > now)) throw inProgress();
    await tx.keys.update(where, { leasedUntil });
  }
  claim.taken = true;
  claim.leasedUntil = leasedUntil;
}

/** RFC 8785: members sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => `${JSON.stringify(name)}:${canonicalJson(one)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** SHA-256 (hex) of a value's RFC 8785 form. */
export function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function claimFor({ caller, route, key, body, params }: KeyedRequest): KeyClaim {
  const scope = caller.kind === 'app' ? `app:${caller.clientId}` : `admin:${caller.id}`;
  return {
    scope,
    route,
    key,
    fingerprint: digest({ body: body ?? null, params: params ?? null }),
    resume: null,
    taken: false,
    leasedUntil: null,
  };
}

function replay(status: number, body: string): KeyedAnswer {
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  return { status, headers: { 'content-type': `${type}; charset=utf-8` }, body, replayed: true };
}

function inProgress(): Conflict {
  return new Conflict('idempotency_in_progress', 'A request with this Idempotency-Key is still running.', {
    retryable: true,
    retryAfter: 1,
  });
}

function conflict(): NotAllowed {
  return new NotAllowed('idempotency_conflict', 'This Idempotency-Key was used with another request.', {
    hint: 'Use a new key for a new request.',
  });
}
