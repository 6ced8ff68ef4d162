import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { Place, Encryption } from '../db/encryption.ts';
import type { ReadTx, Store } from '../db/store.ts';
import { Conflict } from '../errors.ts';
import type { Mode } from '../payments/channel.ts';

/** The keys that sign payment codes and receipts. Simulator, sandbox and live payments have separate keys. */
export interface SigningKeys {
  /**
   * Loads the key of a mode (e.g. `live`), and creates it if the mode has none. Must not be called inside a
   * transaction, because a new key must be committed before it signs anything.
   */
  ensure(mode: Mode): Promise<void>;
  /**
   * Signs the payload `claims` and returns a compact JWS. Throws a 409 `changed_meanwhile` if `ensure` was not called
   * for the mode. With `signer` (a DID), the `kid` is a DID URL.
   */
  sign(mode: Mode, typ: string, claims: object, signer?: string): Promise<string>;
  /** Returns all public keys ever used, newest first (RFC 7517); simulator keys only if the simulator is enabled. */
  publicKeys(): Promise<{ keys: Record<string, unknown>[] }>;
}

interface LoadedKey {
  kid: string;
  key: KeyObject;
  until: number;
}

/** After this time (ms) a key is read again, because another replica may have created a newer one. */
const KEPT_MS = 60_000;

/** Creates the functions that sign payment codes and receipts. */
export function createSigningKeys({
  store,
  encryption,
  now,
  simulated,
}: {
  store: Store;
  encryption: Pick<Encryption, 'encrypt' | 'open'>;
  now: () => Date;
  simulated: boolean;
}): SigningKeys {
  const loaded = new Map<Mode, LoadedKey>();
  return {
    async ensure(mode) {
      if ((loaded.get(mode)?.until ?? 0) > now().getTime()) return;
      const row = (await store.read((tx) => newest(tx, mode))) ?? (await make(mode));
      const secret = JSON.parse(encryption.open(placeOf(row.kid), row.encrypted)) as JWK;
      const key = createPrivateKey({ key: secret, format: 'jwk' });
      loaded.set(mode, { kid: row.kid, key, until: now().getTime() + KEPT_MS });
    },
    async sign(mode, typ, claims, signer) {
      const one = loaded.get(mode);
      if (!one)
        throw new Conflict('changed_meanwhile', 'The channel configuration has just changed. Repeat the request.', {
          retryable: true,
          retryAfter: 1,
        });
      // jose would sign on another thread, and a code is signed in the transaction that writes its order.
      const header = { alg: 'EdDSA', typ, kid: signer === undefined ? one.kid : `${signer}#${one.kid}` };
      const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      return `${signed}.${sign(null, Buffer.from(signed), one.key).toString('base64url')}`;
    },
    async publicKeys() {
      const rows = await store.read((tx) => tx.signingKeys.list({}, { orderBy: { createdAt: 'desc' } }));
      const counting = rows.filter(({ mode }) => simulated || mode !== 'simulator');
      return { keys: counting.map(({ publicJwk }) => publicJwk) };
    },
  };

  /** A lock prevents several replicas from each creating a key. */
  async function make(mode: Mode) {
    const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
    const { kty, crv, x } = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint({ kty, crv, x } as JWK);
    const encrypted = encryption.encrypt(placeOf(kid), JSON.stringify(await exportJWK(pair.privateKey)));
    return store.transaction(async (tx) => {
      await tx.advisoryLock(`signing-key:${mode}`);
      const there = await newest(tx, mode);
      if (there) return there;
      const row = { kid, mode, publicJwk: { kty, crv, x, kid, alg: 'EdDSA', use: 'sig' }, encrypted, createdAt: now() };
      await tx.signingKeys.insert(row);
      return row;
    });
  }
}

async function newest(tx: ReadTx, mode: Mode) {
  const [row] = await tx.signingKeys.list({ mode }, { orderBy: { createdAt: 'desc' }, limit: 1 });
  return row;
}

function placeOf(kid: string): Place {
  return { table: 'signing_keys', id: kid, column: 'encrypted', version: 1 };
}
