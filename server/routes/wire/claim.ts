import type { IdempotentRequest } from '../../http/idempotency.ts';
import type { KeyClaim } from '../../payments/idempotency.ts';

/** The claim on its Idempotency-Key that a request carries, if the caller sent a key. */
export function claimOf(idempotent: IdempotentRequest | undefined): KeyClaim | undefined {
  return idempotent && 'claim' in idempotent ? (idempotent.claim as KeyClaim) : undefined;
}
