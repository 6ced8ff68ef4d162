import { InvalidRequest } from '../errors.ts';

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
