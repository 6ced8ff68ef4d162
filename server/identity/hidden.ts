import { createHmac } from 'node:crypto';

/** Writes a name as a key of the database that tells nobody the name: somebody may type a password where it belongs. */
export type Hide = (name: string) => string;

/** Makes the writer; other secrets give other keys. */
export function createHide(secret: Uint8Array): Hide {
  return (name) => createHmac('sha256', secret).update(name).digest('base64url').slice(0, 22);
}
