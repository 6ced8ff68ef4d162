import { type Contract, ignoresKey, KEY_IGNORED } from './contract.ts';
import { REPLICA_LAG } from './every-request.ts';
import type { Json } from './openapi-schemas.ts';

const text = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

/** Headers of answers, as components of the document. */
export const answerHeaders: Readonly<Record<string, Json>> = {
  'X-Request-Id': text('ID of the request, for questions to the operator.', '01JH0000000000000000000000'),
  RateLimit: text(
    'What is left in the window: `r` requests, for `t` seconds. Not sent where nothing is limited.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': text('The limit: `q` requests in `w` seconds.', '"default";q=600;w=60'),
  'Retry-After': {
    description: 'Seconds until a retry makes sense.',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
  'Idempotent-Replayed': {
    description: 'Sent with `true` if this is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  [REPLICA_LAG]: text('Sent if the answer was read from a replica: how many seconds old it may be.', '0.2'),
  [KEY_IGNORED]: {
    description:
      'Sent with `true` if the request has an `Idempotency-Key`: this operation takes none, so a retry is not protected by it.',
    schema: { type: 'string', const: 'true' },
  },
};

/** Which headers an answer may have: one that was given, or a refusal. */
export function headersOf(method: string, contract: Contract, kind: 'answer' | 'refusal'): Json {
  const names = [
    'X-Request-Id',
    ...(isLimited(contract) ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(kind === 'refusal' ? ['Retry-After'] : []),
    ...(contract.idempotent ? ['Idempotent-Replayed'] : []),
    ...(kind === 'answer' && method === 'GET' && contract.auth !== 'none' ? [REPLICA_LAG] : []),
    ...(kind === 'answer' && ignoresKey(method, contract) ? [KEY_IGNORED] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The requests of applications are counted. */
function isLimited({ auth }: Contract): boolean {
  return auth === 'any-token' || (typeof auth === 'object' && 'scope' in auth);
}
