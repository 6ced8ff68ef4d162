import { calculateJwkThumbprint, CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Place, Encryption } from '../db/encryption.ts';
import type { ReadTx, Store } from '../db/store.ts';
import { Conflict } from '../errors.ts';
import type { Mode } from '../payments/channel.ts';

/** The keys that sign codes and receipts: one pair per mode, Ed25519, private parts sealed. */
export interface SigningKeys {
  /** Makes sure that the mode has a key that is committed; never call it inside a transaction. */
  ensure(mode: Mode): Promise<void>;
  /** A compact JWS of the claims; throws `changed_meanwhile` (409) when the mode was not ensured. `signer`: whose key it is, a DID. */
  sign(mode: Mode, typ: string, claims: object, signer?: string): Promise<string>;
  /** All public keys ever used, the newest first (RFC 7517); those of the simulator only where it counts. */
  publicKeys(): Promise<{ keys: Record<string, unknown>[] }>;
}

interface LoadedKey {
  kid: string;
  key: Awaited<ReturnType<typeof importJWK>>;
  until: number;
}

/** A newer key of another replica is used after this long at the latest (ms). */
const KEPT_MS = 60_000;

/** The keys over their ports. */
export function createSigningKeys({
  store,
  encryption,
  now,
  simulated,
}: {
  store: Store;
  encryption: Pick<Encryption, 'encrypt' | 'open'>;
  now: () => Date;
  /** Whether orders of the simulator count. */
  simulated: boolean;
}): SigningKeys {
  const loaded = new Map<Mode, LoadedKey>();
  return {
    async ensure(mode) {
      if ((loaded.get(mode)?.until ?? 0) > now().getTime()) return;
      const row = (await store.read((tx) => newest(tx, mode))) ?? (await make(mode));
      const secret = JSON.parse(encryption.open(placeOf(row.kid), row.encrypted)) as JWK;
      const key = await importJWK(secret, 'EdDSA');
      loaded.set(mode, { kid: row.kid, key, until: now().getTime() + KEPT_MS });
    },
    async sign(mode, typ, claims, signer) {
      const one = loaded.get(mode);
      if (!one)
        throw new Conflict('changed_meanwhile', 'The channel configuration was changed concurrently.', {
          retryable: true,
          retryAfter: 1,
        });
      return new CompactSign(Buffer.from(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'EdDSA', typ, kid: signer === undefined ? one.kid : `${signer}#${one.kid}` })
        .sign(one.key);
    },
    async publicKeys() {
      const rows = await store.read((tx) => tx.signingKeys.list({}, { orderBy: { createdAt: 'desc' } }));
      const counting = rows.filter(({ mode }) => simulated || mode !== 'simulator');
      return { keys: counting.map(({ publicJwk }) => publicJwk) };
    },
  };

  /** Two replicas may need the first key at once: the lock lets one make it. */
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
