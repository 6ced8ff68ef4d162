import type { AppError } from '../errors.ts';
import { InvalidRequest } from '../errors.ts';
import type { Caller } from './callers.ts';

/** One request under an `Idempotency-Key`; the route is its pattern, the body the parsed one. */
export interface IdempotentRequest {
  readonly caller: Caller;
  readonly route: string;
  readonly key: string;
  readonly body: unknown;
  /** Parameters of the path: the same key for another order is another request. */
  readonly params?: unknown;
}

/** A finished answer: exactly what is sent. `error` is set when it is a refusal that was foreseen; other faults are thrown by `run`. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
  error?: AppError;
  /** The answer was stored before; it is sent with `Idempotent-Replayed: true`. */
  replayed?: boolean;
}

/**
 * Port: runs the request once per key, or gives the stored answer back.
 * What is handed to `run` (possibly an extended request, e.g. with a claimed intent) reaches the handler as `idempotent`.
 */
export type Idempotency = (
  request: IdempotentRequest,
  run: (request: IdempotentRequest) => Promise<Answer>,
) => Promise<Answer>;

/** An implementation that remembers nothing; the handler still sees the key. */
export const withoutIdempotency: Idempotency = (request, run) => run(request);

/** Reads the `Idempotency-Key` header, bare or quoted (≤ 255 visible characters); throws a 400 when it is malformed. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = String(header);
  const key = /^"(.*)"$/.exec(text)?.[1] ?? text;
  if (!/^[\x21-\x7e]{1,255}$/.test(key) || key.includes('"')) {
    throw new InvalidRequest('Idempotency-Key must be 1 to 255 visible characters, bare or quoted.', [
      { pointer: '/headers/idempotency-key', code: 'invalid', detail: 'must be 1 to 255 visible characters' },
    ]);
  }
  return key;
}
