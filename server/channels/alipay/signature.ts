import { createHash, sign, verify, X509Certificate, type KeyObject } from 'node:crypto';
import type { KeyRing, VerifyKey } from '../key-ring.ts';

/** The OID (object identifier) prefix of RSA algorithms. The SM2 certificates in Alipay's root file have other OIDs. */
const PKCS1 = '1.2.840.113549.1.1';

/** The signed text of a request: no `sign`, no empty values, sorted by name, not URL-encoded (open API v2). */
export function requestText(params: Readonly<Record<string, string>>): string {
  return joinSorted(Object.entries(params).filter(([key, value]) => key !== 'sign' && value !== ''));
}

/** The signed text of a notification: no `sign` and `sign_type`, sorted by name, URL-decoded (open API v2). */
export function notificationText(params: Readonly<Record<string, string>>): string {
  return joinSorted(Object.entries(params).filter(([key]) => key !== 'sign' && key !== 'sign_type'));
}

/** Signs with RSA2 (SHA256withRSA, result in base64) on the thread pool. A string is signed as UTF-8 bytes. */
export function signRsa2(text: string | Uint8Array, key: KeyObject): Promise<string> {
  return new Promise((resolve, reject) => {
    sign('RSA-SHA256', bytesOf(text), key, (error, signature) =>
      error ? reject(error) : resolve(signature.toString('base64')),
    );
  });
}

/** Whether `signature` (base64) is this key's RSA2 signature of the text. A malformed signature returns false. */
export function verifyRsa2(text: string | Uint8Array, signature: string, key: KeyObject): boolean {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return false;
  return verify('RSA-SHA256', bytesOf(text), key, Buffer.from(signature, 'base64'));
}

/** Finds the key that made this signature. All keys are tried, because notifications contain no serial. */
export function signerIn(ring: KeyRing, text: string | Uint8Array, sign: string): VerifyKey | undefined {
  return ring.all().find(({ key }) => verifyRsa2(text, sign, key));
}

/** Computes Alipay's serial of a certificate: the MD5 of the issuer and the decimal serial number, in hexadecimal. */
export function certSerial(certificate: X509Certificate): string {
  const issuer = certificate.issuer.split('\n').toReversed().map(unescapeRdn).join(',');
  const serial = BigInt(`0x${certificate.serialNumber}`).toString();
  return createHash('md5')
    .update(issuer + serial, 'utf8')
    .digest('hex');
}

/** Computes Alipay's serial of its root file: the serials of the RSA certificates, joined by `_`. */
export function rootCertSerial(certificates: readonly X509Certificate[]): string {
  return certificates
    .filter((certificate) => certificate.signatureAlgorithmOid.startsWith(PKCS1))
    .map(certSerial)
    .join('_');
}

/** Parses every certificate of a PEM file, in the sequence of the file. Throws if one cannot be parsed. */
export function readCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function joinSorted(entries: [string, string][]): string {
  return entries
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${key}=${value}`)
    .join('&');
}

/** Node escapes issuer values (RFC 2253), but Alipay computes the serial from the plain values. */
function unescapeRdn(line: string): string {
  return line.replace(/\\(?:([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
}
