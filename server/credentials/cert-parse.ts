import { createHash, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { CertRow } from '../db/entities/credentials.ts';
import type { CertKindSpec } from '../payments/channel.ts';
import { bitsOf, PemRefused, readCertificates, readPrivateKey, readPublicKey, readText, requireRsa } from './pem.ts';

/** What a certificate file turned out to be; `privatePem` is PKCS #8 without a passphrase and leaves only sealed. */
export type ParsedCert = Pick<
  CertRow,
  'subject' | 'issuer' | 'serialNumber' | 'fingerprint' | 'notBefore' | 'notAfter' | 'publicPem'
> & { privatePem: string | null };

/** How a channel counts the serial of a certificate file. */
export type SerialOf = (kind: string, certificates: readonly [X509Certificate, ...X509Certificate[]]) => string;

/** Certificates whose private key is ours, and the kind of that key. */
export const PAIRS: ReadonlyMap<string, string> = new Map([
  ['alipay_app_cert', 'alipay_app_key'],
  ['wechat_merchant_cert', 'wechat_merchant_key'],
]);

/** The other half of a pair, from either half. */
export function partnerOf(kind: string): string | undefined {
  return PAIRS.get(kind) ?? [...PAIRS].find(([, key]) => key === kind)?.[0];
}

/** Whether the kind vouches for others: it may be expired, and what it signs with is not ours to choose. */
export function isRoot(kind: string): boolean {
  return /_(root_cert|ca)$/.test(kind);
}

/** Reads a file as what its kind says it is; throws PemRefused, or 413 when it is larger than 64 KB. */
export function parseCert(
  { kind, form }: Pick<CertKindSpec, 'kind' | 'form'>,
  { bytes, passphrase }: { bytes: Buffer; passphrase?: string | undefined },
  { now, serialOf }: { now: Date; serialOf: SerialOf },
): ParsedCert {
  const text = readText(bytes);
  if (form === 'private-key') {
    const key = readPrivateKey(text, passphrase);
    return { ...keyFacts(createPublicKey(key)), privatePem: String(key.export({ type: 'pkcs8', format: 'pem' })) };
  }
  if (form === 'public-key') return { ...keyFacts(readPublicKey(text)), privatePem: null };
  const certificates = readCertificates(text);
  requireUsable(kind, certificates, now);
  const [leaf] = certificates;
  return {
    subject: oneLine(leaf.subject),
    issuer: oneLine(leaf.issuer),
    serialNumber: serialOf(kind, certificates).slice(0, 512),
    fingerprint: createHash('sha256')
      .update(Buffer.concat(certificates.map(({ raw }) => raw)))
      .digest('hex'),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
    publicPem: certificates.map(String).join(''),
    privatePem: null,
  };
}

/** The SHA-256 of the public key of a certificate or key row; two rows with the same one are a pair. */
export function publicKeyOf({ publicPem }: Pick<CertRow, 'publicPem'>): string {
  const pem = publicPem ?? '';
  return spkiHash(pem.includes('BEGIN CERTIFICATE') ? new X509Certificate(pem).publicKey : createPublicKey(pem));
}

function requireUsable(kind: string, certificates: readonly X509Certificate[], now: Date): void {
  if (isRoot(kind)) {
    // Alipay's file holds SM2 roots beside the RSA ones.
    const rsa = certificates.flatMap(({ publicKey }) => (publicKey.asymmetricKeyType === 'rsa' ? [publicKey] : []));
    const [strongest] = rsa.toSorted((a, b) => bitsOf(b) - bitsOf(a));
    if (!strongest) throw new PemRefused('not_rsa', 'contains no RSA certificate');
    requireRsa(strongest);
    return;
  }
  const [leaf] = certificates;
  requireRsa(leaf!.publicKey);
  if (leaf!.validToDate <= now) throw new PemRefused('certificate_expired', 'has expired');
}

function keyFacts(key: KeyObject): Omit<ParsedCert, 'privatePem'> {
  return {
    subject: null,
    issuer: null,
    serialNumber: null,
    fingerprint: spkiHash(key),
    notBefore: null,
    notAfter: null,
    publicPem: String(key.export({ type: 'spki', format: 'pem' })),
  };
}

function spkiHash(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

function oneLine(name: string | undefined): string {
  return (name ?? '').replaceAll('\n', ', ');
}
