import { hash } from 'node:crypto';
import type { ApiAppRow } from '../db/entities/identity.ts';
import type { AskedKey, IdempotencyKeyRow, KeptKey } from '../db/entities/orders.ts';
import type { Store, Tx } from '../db/store.ts';
import { Conflict, NotAllowed } from '../errors.ts';
import type { Ports } from './ports.ts';
import { later } from './core/plan.ts';

/** A claim lives this long; a request that takes longer is answered by its retry. */
const LEASE_SECONDS = 30;

/** One request under an `Idempotency-Key`. */
export interface KeyedRequest {
  /** Whose key it is: two callers may use the same one. */
  readonly scope: `app:${string}` | `admin:${string}`;
  /** Method and pattern: the same key at another operation is another key. */
  readonly route: string;
  readonly key: string;
  readonly body: unknown;
  /** Parameters of the path: the same key for another order is another request. */
  readonly params?: unknown;
  /** Parameters of the query, for the same reason; left out where the operation has none. */
  readonly query?: unknown;
  /** What is kept under the key, when it was read with the caller; null = nothing. */
  readonly kept?: KeptKey | null | undefined;
}

export type { AskedKey, KeptKey };

/** What holds for the payments of an application. */
export type AppTerms = Readonly<Pick<ApiAppRow, 'latePayment' | 'limits'>>;

/** A finished answer, exactly as it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** It was stored before, and is sent with `Idempotent-Replayed: true`. */
  readonly replayed?: true;
}

/** An Idempotency-Key on its way into the transaction that writes the intent (`claimKey`). */
export interface KeyClaim {
  readonly scope: string;
  readonly route: string;
  readonly key: string;
  readonly fingerprint: string;
  /** The intent of an earlier try whose answer was never stored. */
  readonly resume: string | null;
  /** Set when this request owns the key. */
  taken: boolean;
  /** The lease that this request wrote: what it finishes must still carry it. */
  leasedUntil: Date | null;
}

/** Runs a request once per key: replays a finished one, resumes a broken one, refuses a running or a different one. */
export type WithKey = (request: KeyedRequest, run: (claim: KeyClaim) => Promise<Answer>) => Promise<Answer>;

/** The protocol for answers that are kept. A 5xx never is: the retry continues the intent. */
export function createWithKey({ store, now }: Pick<Ports, 'store' | 'now'>): WithKey {
  return async (request, run) => {
    const { claim, stored } = await readClaim(store, request);
    const earlier = stored && answerOf(stored, now());
    if (earlier) return earlier;
    const answer = await run(claim);
    // What was read with the caller may be older than the body: a refusal must not stand where an answer is kept by now.
    if (request.kept === null && !claim.taken) {
      const { stored: since } = await readClaim(store, { ...request, kept: undefined });
      return (since && answerOf(since, now())) ?? answer;
    }
    await finish(store, claim, answer.status < 500 ? answer : undefined);
    return answer;
  };
}

/** The answer that is kept, if it is there; refuses while another request is at it. */
function answerOf(stored: KeptKey, now: Date): Answer | undefined {
  if (stored.state === 'done') return replay(stored.status ?? 200, stored.body ?? '');
  if (isLeased(stored, now)) throw inProgress();
  return undefined;
}

/** The protocol for an operation whose answer is the present state of its intent: the key leads there, nothing is kept. */
export async function withIntentKey<Result>(
  store: Store,
  request: KeyedRequest,
  run: (claim: KeyClaim) => Promise<Result>,
): Promise<Result> {
  const { claim } = await readClaim(store, request);
  try {
    return await run(claim);
  } finally {
    await finish(store, claim);
  }
}

/** Claims the key in the transaction that writes the intent; the unique index decides who is first. */
export async function claimKey(tx: Tx, claim: KeyClaim, intentNo: string, now: Date): Promise<void> {
  const leasedUntil = later(now, LEASE_SECONDS);
  if (claim.resume === null) {
    const row = { ...whereOf(claim), fingerprint: claim.fingerprint, intentNo, state: 'running' as const, leasedUntil };
    const isNew = await tx.keys.insertIfNew({ ...row, status: null, body: null, createdAt: now });
    if (!isNew) throw inProgress();
  } else {
    const row = await tx.keys.lock(whereOf(claim));
    if (!row || row.state === 'done' || isLeased(row, now)) throw inProgress();
    await tx.keys.update(whereOf(claim), { leasedUntil });
  }
  claim.taken = true;
  claim.leasedUntil = leasedUntil;
}

/** Hands an error on that rolls the claim back with the rest: the key is not this request's any more. */
export function givingUp(claim: KeyClaim | undefined): (error: unknown) => never {
  return (error) => {
    if (claim) claim.taken = false;
    throw error;
  };
}

/** RFC 8785: members sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  // The bytes of a file count by their fingerprint.
  if (value instanceof Uint8Array) return JSON.stringify(`sha256:${hash('sha256', value)}`);
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
  return hash('sha256', canonicalJson(value));
}

async function readClaim(store: Store, request: KeyedRequest) {
  const fingerprint = digest({ body: request.body ?? null, params: request.params ?? null, query: request.query });
  const stored =
    request.kept === undefined ? await store.read((tx) => tx.keys.find(whereOf(request))) : (request.kept ?? undefined);
  if (stored && stored.fingerprint !== fingerprint) throw conflict();
  const resume = stored?.intentNo ?? null;
  const claim: KeyClaim = { ...whereOf(request), fingerprint, resume, taken: false, leasedUntil: null };
  return { claim, stored };
}

/** What happened has happened, also when it cannot be noted any more: the retry finds the intent itself. */
async function finish(store: Store, claim: KeyClaim, answer?: Answer): Promise<void> {
  if (!claim.taken) return;
  // A claim that was rolled back, or whose lease ran out, may be another request's by now.
  const where = { ...whereOf(claim), leasedUntil: claim.leasedUntil };
  const kept = answer && { state: 'done' as const, status: answer.status, body: answer.body };
  await store.autocommit((tx) => tx.keys.update(where, { ...kept, leasedUntil: null })).catch(() => {});
}

function whereOf({ scope, route, key }: Pick<KeyClaim, 'scope' | 'route' | 'key'>) {
  return { scope, route, key };
}

function isLeased({ leasedUntil }: Pick<IdempotencyKeyRow, 'leasedUntil'>, now: Date): boolean {
  return leasedUntil !== null && leasedUntil > now;
}

function replay(status: number, body: string): Answer {
  const type = status >= 400 ? 'application/problem+json' : 'application/json';
  return { status, headers: { 'content-type': `${type}; charset=utf-8` }, body, replayed: true };
}

function inProgress(): Conflict {
  return new Conflict('idempotency_in_progress', 'A request with this Idempotency-Key is still being processed.', {
    retryable: true,
    retryAfter: 1,
  });
}

function conflict(): NotAllowed {
  return new NotAllowed('idempotency_conflict', 'This Idempotency-Key was already used with another request.', {
    hint: 'Use a new key for a new request.',
  });
}
