import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { promisify } from 'node:util';

/**
 * Replaces node:crypto signatures inside a simulated world, because RSA is nearly all of a payment's cost there: a signature is a
 * keyed hash that only the matching key verifies, and keys and certificates are read once. The real ones are tested against the
 * channels' own vectors (test/oracles). For a process of its own.
 */
export function takeOverSignatures(): void {
  crypto.sign = ((_algorithm: string, data: Uint8Array, key: KeyObject, told?: Told) => {
    const signature = signatureOf(data, key);
    if (!told) return signature;
    queueMicrotask(() => told(null, signature));
    return undefined;
  }) as typeof crypto.sign;
  crypto.verify = ((_algorithm: string, data: Uint8Array, key: KeyObject, signature: Uint8Array) =>
    signatureOf(data, key).equals(signature)) as typeof crypto.verify;
  crypto.createPrivateKey = once(crypto.createPrivateKey as never) as never;
  crypto.createPublicKey = once(crypto.createPublicKey as never) as never;
  crypto.X509Certificate = new Proxy(crypto.X509Certificate, {
    construct: (real, [pem]: [string | Buffer]) => certificateOf(String(pem), () => new real(pem)),
  });
  syncBuiltinESMExports();
}

/** Generates key pairs serially, so that other random draws keep their order. */
export function takeOverKeyPairs(): void {
  const { generateKeyPairSync } = crypto;
  const next = async (type: 'rsa', options: never) => generateKeyPairSync(type, options);
  crypto.generateKeyPair = Object.assign(() => {}, { [promisify.custom]: next }) as never;
  syncBuiltinESMExports();
}

type Told = (error: Error | null, signature: Buffer) => void;

/** The hash of the signed data beside that of the key, twice: as long as a signature by an RSA key of 2048 bits. */
function signatureOf(data: Uint8Array, key: KeyObject): Buffer {
  const half = crypto.hash('sha256', data) + fingerprintOf(key);
  return Buffer.from(half + half, 'latin1');
}

const fingerprints = new WeakMap<KeyObject, string>();

/** The same for both keys of a pair. */
function fingerprintOf(key: KeyObject): string {
  const known = fingerprints.get(key);
  if (known !== undefined) return known;
  const open = key.type === 'private' ? crypto.createPublicKey(key) : key;
  const fingerprint = crypto.hash('sha256', open.export({ type: 'spki', format: 'der' }));
  fingerprints.set(key, fingerprint);
  return fingerprint;
}

const certificates = new Map<string, object>();

function certificateOf(pem: string, read: () => object): object {
  const known = certificates.get(pem) ?? read();
  certificates.set(pem, known);
  return known;
}

/** Caches the key of each text or key. */
function once(read: (from: unknown) => KeyObject): (from: unknown) => KeyObject {
  const texts = new Map<string, KeyObject>();
  const keys = new WeakMap<object, KeyObject>();
  return (from) => {
    if (typeof from === 'string') {
      const known = texts.get(from) ?? read(from);
      texts.set(from, known);
      return known;
    }
    if (typeof from !== 'object' || from === null || !('type' in from) || 'key' in from) return read(from);
    const known = keys.get(from) ?? read(from);
    keys.set(from, known);
    return known;
  };
}
