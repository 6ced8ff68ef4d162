import { hash } from 'node:crypto';
import type { ApiAppRow } from '../db/entities/identity.ts';
import type { RequestKey, IdempotencyKeyRow, KeptKey } from '../db/entities/orders.ts';
import type { Store, Tx } from '../db/store.ts';
import { Conflict, NotAllowed } from '../errors.ts';
import type { Ports } from './ports.ts';
import { later } from './core/plan.ts';

/** A repeated request takes over the Idempotency-Key of a request that runs longer than this. */
const LEASE_SECONDS = 30;

export interface KeyedRequest {
  /** The owner of the key. Two callers may use the same key text without a conflict. */
  readonly scope: `app:${string}` | `admin:${string}`;
  /** Method and path pattern. The same key text at another operation is a different key. */
  readonly route: string;
  readonly key: string;
  readonly body: unknown;
  /** Path parameters. The same key with other parameters (for example another order) is a different request. */
  readonly params?: unknown;
  /** The same key with other parameters is a different request; absent = the operation has no query parameters. */
  readonly query?: unknown;
  /**
   * The stored row of the key, if it was loaded with the caller; null = there is no row; absent = not looked up yet.
   */
  readonly kept?: KeptKey | null | undefined;
}

export type { RequestKey, KeptKey };

export type AppTerms = Readonly<Pick<ApiAppRow, 'latePayment' | 'limits'>>;

/** A finished response, exactly as it is sent. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The response was stored before, and is sent with `Idempotent-Replayed: true`. */
  readonly replayed?: true;
}

/** An Idempotency-Key that is stored in the same transaction as the operation (`claimKey`). */
export interface KeyClaim {
  readonly scope: string;
  readonly route: string;
  readonly key: string;
  readonly fingerprint: string;
  /** The number (of an order, refund …) that an earlier request with this key stored; null = no earlier request. */
  readonly resume: string | null;
  /** True after this request has stored the key as its own; until then another request may own the key. */
  taken: boolean;
  /** This request owns the key until this time. `finish` updates the stored key only if it still contains this time. */
  leasedUntil: Date | null;
}

/**
 * Runs an operation once per Idempotency-Key. A repeated request receives the stored response. If the first request was
 * interrupted, the repeated request continues its operation. A repeated request is rejected while the first request is
 * running, or if its content differs from the first request.
 */
export type WithKey = (request: KeyedRequest, run: (claim: KeyClaim) => Promise<Answer>) => Promise<Answer>;

/** Creates the `WithKey` that stores responses; a 5xx is never stored, so that a retry continues the operation. */
export function createWithKey({ store, now }: Pick<Ports, 'store' | 'now'>): WithKey {
  return async (request, run) => {
    const { claim, stored } = await readClaim(store, request);
    const earlier = stored && answerOf(stored, now());
    if (earlier) return earlier;
    const answer = await run(claim);
    // `request.kept` was read before the request ran. If another request has stored a response under the key since,
    // that response is returned instead.
    if (request.kept === null && !claim.taken) {
      const { stored: since } = await readClaim(store, { ...request, kept: undefined });
      return (since && answerOf(since, now())) ?? answer;
    }
    await finish(store, claim, answer.status < 500 ? answer : undefined);
    return answer;
  };
}

/** The stored response, if there is one; throws 409 while another request owns the key. */
function answerOf(stored: KeptKey, now: Date): Answer | undefined {
  if (stored.state === 'done') return replay(stored.status ?? 200, stored.body ?? '');
  if (isLeased(stored, now)) throw inProgress();
  return undefined;
}

/** Runs an operation under a key without storing its response; a repeat finds the operation by the key. */
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

/** Stores the key in the transaction of the operation; the unique index lets only one concurrent request pass. */
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

/** Marks the key as not owned by this request, because the rollback removed it, and rethrows the error. */
export function givingUp(claim: KeyClaim | undefined): (error: unknown) => never {
  return (error) => {
    if (claim) claim.taken = false;
    throw error;
  };
}

/**
 * Converts a value to canonical JSON (RFC 8785), so that equal values give equal text: properties are sorted by UTF-16
 * code units, and numbers and strings are written as ECMAScript writes them.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  // A file is represented by its hash.
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

/**
 * Stores the response, if there is one, and ends the lease of the key. A database error is ignored, because a retry
 * finds the stored operation by the key.
 */
async function finish(store: Store, claim: KeyClaim, answer?: Answer): Promise<void> {
  if (!claim.taken) return;
  // After a rollback or an expired lease, another request may own the key. Therefore only a row with this request's
  // lease (the time until which it owns the key) is updated.
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
    hint: 'Use a new Idempotency-Key for a new request.',
  });
}
