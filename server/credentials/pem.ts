// Reads certificate and key files: parses PEM, DER and bare base64 (without BEGIN and END lines), limits the time that
// decryption takes, and checks that a file has the expected kind.
import { type KeyObject, X509Certificate, createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { CERT_PAIRS } from '../domain.ts';
import type { CertRow } from '../db/entities/credentials.ts';
import { AppError } from '../errors.ts';
import type { CertKindSpec } from '../payments/channel.ts';

/**
 * A certificate or key file cannot be used. `code` is stable. The message never quotes the file, because it may contain
 * a private key.
 */
export class PemRefused extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.name = 'PemRefused';
    this.code = code;
  }
}

/** Maximum size of a certificate or key, in bytes. */
const MAX_PEM_BYTES = 64 * 1024;

/**
 * Maximum number of PBKDF2 rounds for decrypting a key. Common tools use fewer. This many rounds take about 50 ms, in
 * which the process handles no other request.
 */
const MOST_ROUNDS = 100_000;
/** Maximum size of an RSA key in bits. Larger keys make every signature slow, and no channel uses them. */
const MOST_BITS = 8192;

const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----([\sA-Za-z0-9+/=]+)-----END ENCRYPTED PRIVATE KEY-----/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** The body ends at the next five dashes, which keeps the regular expression fast for every input. */
const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----((?:[^-]|-(?!----))*)-----END \1-----/g;
/** The header of keys that are encrypted in the format that was used before PKCS #8 (RFC 1421). */
const OLD_ENCRYPTION = /^\s*Proc-Type:\s*4,\s*ENCRYPTED\s+DEK-Info:\s*([A-Z0-9-]+,[0-9A-Fa-f]+)\s/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the file as text, a DER certificate as PEM. Throws PemRefused, or a 413 if the file is too large. */
export function readText(bytes: Buffer): string {
  if (bytes.length > MAX_PEM_BYTES)
    throw new AppError('body_too_large', 413, `The certificate or key is larger than ${MAX_PEM_BYTES / 1024} KB.`);
  if (bytes.length === 0) throw new PemRefused('file_empty', 'is empty');
  if (bytes[0] === 0x30) return derToPem(bytes);
  try {
    return utf8.decode(bytes).trim();
  } catch {
    throw new PemRefused('not_pem', 'is neither PEM text nor a DER certificate');
  }
}

/**
 * Restores the line breaks that OpenSSL requires. Forms, environment variables, JSON and YAML may join or indent lines,
 * escape line breaks and add quotes. Kubernetes and Vault encode the whole file as base64.
 */
function unfolded(given: string): string {
  const text = unescaped(given);
  const kept = bareBase64(text)?.toString('latin1');
  return rewrapped(kept !== undefined && isText(kept) ? unescaped(kept) : text);
}

/** PEM and base64 never contain quotes or backslashes, so these were added when the text was stored or copied. */
function unescaped(text: string): string {
  return text
    .replaceAll(/\\+u([0-9A-Fa-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\+[nrt]/g, '\n')
    .replaceAll(/["'`\\]/g, '')
    .trim();
}

/**
 * Whether decoded base64 is itself PEM or base64 text. Binary DER never passes this test, because its second byte is
 * not ASCII.
 */
function isText(kept: string): boolean {
  return kept.includes('-----BEGIN ') || bareBase64(kept) !== undefined;
}

function rewrapped(text: string): string {
  return text.replaceAll(BLOCK, (block, label: string, body: string) => {
    const cipher = OLD_ENCRYPTION.exec(body)?.[1];
    const base64 = body.replace(OLD_ENCRYPTION, '').replaceAll(/\s/g, '');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return block;
    const head = cipher === undefined ? '' : `Proc-Type: 4,ENCRYPTED\nDEK-Info: ${cipher}\n\n`;
    return `-----BEGIN ${label}-----\n${head}${base64.replaceAll(/.{64}(?!$)/g, '$&\n')}\n-----END ${label}-----`;
  });
}

/** The leaf certificate comes first. Throws PemRefused if the text has no certificate or has a private key. */
function readCertificates(given: string): [X509Certificate, ...X509Certificate[]] {
  const text = unfolded(given);
  if (text.includes('PRIVATE KEY'))
    throw new PemRefused('private_key_unexpected', 'contains a private key; upload only the certificate');
  const bare = bareBase64(text);
  const blocks = bare ? [derCertificate(bare)] : (text.match(CERTIFICATE) ?? []);
  const [leaf, ...rest] = blocks.flatMap((block) => (block === undefined ? [] : [parseCertificate(block)]));
  if (!leaf) throw new PemRefused('not_a_certificate', 'is not a certificate in PEM form');
  return [leaf, ...rest];
}

/** Reads a private key: PEM, or bare base64 of PKCS #8 or PKCS #1. Throws PemRefused. */
export function readPrivateKey(given: string, passphrase: string | undefined): KeyObject {
  const text = unfolded(given);
  if (!text.includes('PRIVATE KEY') && text.includes('-----BEGIN'))
    throw new PemRefused('not_a_private_key', 'is not a private key');
  const bare = bareBase64(text);
  if (bare) return requireRsa(readDer(bare, createPrivateKey, ['pkcs8', 'pkcs1'], 'not_a_private_key'));
  const isEncrypted = /ENCRYPTED/.test(text);
  if (isEncrypted && !passphrase) throw new PemRefused('passphrase_required', 'is encrypted; a passphrase is required');
  const der = encryptedDer(text);
  const body = bodyOf(text, ['PRIVATE KEY', 'RSA PRIVATE KEY']);
  try {
    // Decrypts only the PEM block whose number of PBKDF2 iterations was checked, not another block of the file.
    if (der) return requireRsa(createPrivateKey({ key: der, format: 'der', type: 'pkcs8', passphrase }));
    return requireRsa(
      (body && opens(body, createPrivateKey, ['pkcs8', 'pkcs1'])) ??
        createPrivateKey(passphrase ? { key: text, passphrase } : text),
    );
  } catch (error) {
    if (error instanceof PemRefused) throw error;
    if (isEncrypted) throw new PemRefused('passphrase_wrong', 'cannot be decrypted with this passphrase');
    throw new PemRefused('not_a_private_key', 'is not a private key');
  }
}

/**
 * Returns the DER bytes of an encrypted PKCS #8 key, or undefined if the text contains no such key. Throws PemRefused
 * for too many PBKDF2 iterations, because the sender of the file could otherwise make the decryption very slow.
 */
function encryptedDer(text: string): Buffer | undefined {
  if (!text.includes('BEGIN ENCRYPTED PRIVATE KEY')) return undefined;
  const der = Buffer.from(ENCRYPTED.exec(text)?.[1] ?? '', 'base64');
  const rounds = roundsToOpen(der);
  if (Number.isNaN(rounds)) throw new PemRefused('not_a_private_key', 'is not a private key');
  if (rounds > MOST_ROUNDS)
    throw new PemRefused(
      'passphrase_too_costly',
      `takes too long to decrypt; at most ${MOST_ROUNDS} PBKDF2 iterations are supported`,
    );
  return der;
}

/** Reads a public key: PEM or bare base64. Throws PemRefused. */
export function readPublicKey(given: string): KeyObject {
  const text = unfolded(given);
  if (text.includes('PRIVATE KEY')) throw new PemRefused('private_key_unexpected', 'is a private key');
  if (text.includes('CERTIFICATE')) throw new PemRefused('not_a_public_key', 'is a certificate, not a public key');
  const bare = bareBase64(text);
  const body = bare ?? bodyOf(text, ['PUBLIC KEY', 'RSA PUBLIC KEY']);
  // A private key must be refused explicitly, because OpenSSL would derive the public key from it without an error.
  if (body && opens(body, createPrivateKey, ['pkcs8', 'pkcs1']))
    throw new PemRefused('private_key_unexpected', 'is a private key');
  if (bare) return requireRsa(readDer(bare, createPublicKey, ['spki', 'pkcs1'], 'not_a_public_key'));
  try {
    return requireRsa((body && opens(body, createPublicKey, ['spki', 'pkcs1'])) ?? createPublicKey(text));
  } catch (error) {
    if (error instanceof PemRefused) throw error;
    throw new PemRefused('not_a_public_key', 'is not a public key');
  }
}

/** Throws PemRefused unless the key is RSA of 2048 to 8192 bits. */
function requireRsa(key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'rsa') throw new PemRefused('not_rsa', 'is not an RSA key');
  const bits = bitsOf(key);
  if (bits < 2048) throw new PemRefused('key_too_small', `has ${bits} bits; RSA keys must have at least 2048`);
  if (bits > MOST_BITS) throw new PemRefused('key_too_large', `has ${bits} bits; at most ${MOST_BITS} are supported`);
  return key;
}

/** The modulus length of an RSA key in bits; 0 for a key without modulus. */
function bitsOf(key: KeyObject): number {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits > MOST_BITS) forgetFault();
  return bits;
}

/**
 * Removes the error that OpenSSL keeps in its queue after it read a modulus above 16384 bits. With this error in the
 * queue, the next valid key would be rejected.
 */
function forgetFault(): void {
  try {
    createPublicKey('');
  } catch {
    // The failing call has removed the error.
  }
}

function parseCertificate(block: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch {
    throw new PemRefused('not_a_certificate', 'contains a certificate that cannot be parsed');
  }
}

/** Converts a DER certificate to PEM. Throws PemRefused for other DER files, for example PKCS #12 archives. */
function derToPem(bytes: Buffer): string {
  const pem = derCertificate(bytes);
  if (pem !== undefined) return pem;
  throw new PemRefused('not_pem', 'is neither PEM text nor a DER certificate; archives are not supported');
}

function derCertificate(bytes: Buffer): string | undefined {
  try {
    return new X509Certificate(bytes).toString();
  } catch {
    return undefined;
  }
}

function bareBase64(text: string): Buffer | undefined {
  const body = text.replace(/\s+/g, '');
  return /^[A-Za-z0-9+/]{64,}={0,2}$/.test(body) ? Buffer.from(body, 'base64') : undefined;
}

/**
 * Accepts the labels of PKCS #1 and PKCS #8 for both formats, because many tools write one format under the label of
 * the other.
 */
function bodyOf(text: string, [label, other]: readonly [string, string]): Buffer | undefined {
  const [, found = '', body = ''] = [...text.matchAll(BLOCK)].find(([, one = '']) => one.endsWith(label)) ?? [];
  if ((found !== label && found !== other) || OLD_ENCRYPTION.test(body)) return undefined;
  return Buffer.from(body, 'base64');
}

type ReadDer<Form extends string> = (input: { key: Buffer; format: 'der'; type: Form }) => KeyObject;

function readDer<Form extends string>(
  der: Buffer,
  read: ReadDer<Form>,
  forms: readonly Form[],
  code: string,
): KeyObject {
  const key = opens(der, read, forms);
  if (key) return key;
  throw new PemRefused(code, code === 'not_a_private_key' ? 'is not a private key' : 'is not a public key');
}

function opens<Form extends string>(der: Buffer, read: ReadDer<Form>, forms: readonly Form[]): KeyObject | undefined {
  for (const type of forms) {
    try {
      return read({ key: der, format: 'der', type });
    } catch {
      // Try the next form.
    }
  }
  return undefined;
}

const TAG = { integer: 0x02, octets: 0x04, sequence: 0x30 };
/** The object identifier 1.3.6.1.4.1.11591.4.11 (scrypt, RFC 7914 §7). */
const SCRYPT = Buffer.from('2b06010401da47040b', 'hex');

/**
 * Returns how many PBKDF2 iterations are needed to decrypt a PKCS #8 key (DER, RFC 5958 §3). The result is the largest
 * integer in the encryption parameters, so it is never less than the declared number of iterations. Returns Infinity
 * for scrypt, and NaN if the bytes are not an encrypted PKCS #8 key.
 */
export function roundsToOpen(der: Buffer): number {
  const [key, ...rest] = elementsOf(der) ?? [];
  const [algorithm, content] = (key?.tag === TAG.sequence && elementsOf(key.body)) || [];
  if (rest.length > 0 || algorithm?.tag !== TAG.sequence || content?.tag !== TAG.octets) return Number.NaN;
  return algorithm.body.includes(SCRYPT) ? Number.POSITIVE_INFINITY : Math.max(0, ...integersOf(algorithm.body));
}

interface Element {
  tag: number;
  body: Buffer;
}

/** Returns undefined if an element has no definite length or is cut off. */
function elementsOf(der: Buffer): Element[] | undefined {
  const elements: Element[] = [];
  for (let at = 0; at < der.length;) {
    const first = der[at + 1] ?? 0x80;
    const more = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + more;
    if (first === 0x80 || more > 3 || start > der.length) return undefined;
    const length = more === 0 ? first : der.readUIntBE(at + 2, more);
    if (start + length > der.length) return undefined;
    elements.push({ tag: der[at] ?? 0, body: der.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

function integersOf(der: Buffer): number[] {
  return (elementsOf(der) ?? [{ tag: TAG.integer, body: Buffer.alloc(0) }]).flatMap(({ tag, body }) => {
    if (tag === TAG.sequence) return integersOf(body);
    // If the encryption parameters cannot be parsed, the result is NaN. A number could be taken for a small number of
    // PBKDF2 iterations.
    return tag === TAG.integer ? [body.length > 0 ? Number(`0x${body.toString('hex')}`) : Number.NaN] : [];
  });
}

/** `privatePem` is unencrypted PKCS #8 and must be encrypted before it is stored. */
export type ParsedCert = Pick<
  CertRow,
  'subject' | 'issuer' | 'serialNumber' | 'fingerprint' | 'notBefore' | 'notAfter' | 'publicPem'
> & { privatePem: string | null };

/** Returns the serial number under which a channel identifies a certificate file. */
export type SerialOf = (kind: string, certificates: readonly [X509Certificate, ...X509Certificate[]]) => string;

/** Returns the counterpart of a kind: the kind of its private key or of its certificate; undefined if it has none. */
export function partnerOf(kind: string): string | undefined {
  return CERT_PAIRS.get(kind) ?? [...CERT_PAIRS].find(([, key]) => key === kind)?.[0];
}

/** Whether the kind is a root or CA certificate, which may be expired and may contain other algorithms than RSA. */
export function isRoot(kind: string): boolean {
  return /_(root_cert|ca)$/.test(kind);
}

/** Parses a file as the given certificate kind. Throws PemRefused, or a 413 if the file is larger than 64 KB. */
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

/** The SHA-256 of the public key; a certificate and a key with the same value belong together. */
export function publicKeyOf({ publicPem }: Pick<CertRow, 'publicPem'>): string {
  const pem = publicPem ?? '';
  return spkiHash(pem.includes('BEGIN CERTIFICATE') ? new X509Certificate(pem).publicKey : createPublicKey(pem));
}

function requireUsable(kind: string, certificates: readonly X509Certificate[], now: Date): void {
  if (isRoot(kind)) {
    // Only the RSA certificates are checked, because Alipay's root file contains SM2 roots next to the RSA roots.
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
