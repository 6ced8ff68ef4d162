/** Keys, X.509 certificates written in DER, and the authority that issues them. */
import { type KeyObject, X509Certificate, createPrivateKey, generateKeyPair, randomBytes, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writePrivately } from './folder.ts';

/** The ASN.1 tags (X.690) that a certificate uses. */
const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, null: 0x05, oid: 0x06, utf8: 0x0c, sequence: 0x30, set: 0x31 };

function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

/** Encodes a SEQUENCE of the given elements. */
export function sequence(...items: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, ...items);
}

function setOf(item: Uint8Array): Buffer {
  return element(TAG.set, item);
}

/** Encodes a non-negative INTEGER from big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const sign = (bytes[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return element(TAG.integer, sign, bytes);
}

/** Encodes an OBJECT IDENTIFIER from its dotted form. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAG.oid, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Encodes a BIT STRING without unused bits. */
export function bitString(bytes: Uint8Array): Buffer {
  return element(TAG.bits, Buffer.from([0]), bytes);
}

/** OCTET STRING. */
export function octetString(bytes: Uint8Array): Buffer {
  return element(TAG.octets, bytes);
}

function utf8String(text: string): Buffer {
  return element(TAG.utf8, Buffer.from(text, 'utf8'));
}

/** Encodes the DER value NULL. */
export function nothing(): Buffer {
  return element(TAG.null);
}

function yes(): Buffer {
  return element(0x01, Buffer.from([0xff]));
}

/** Encodes a time as UTCTime, or as GeneralizedTime from 2050 on (RFC 5280 §4.1.2.5). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050
    ? element(0x17, Buffer.from(digits.slice(2), 'ascii'))
    : element(0x18, Buffer.from(digits, 'ascii'));
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes =
    length < 0x100
      ? [length]
      : length < 0x10000
        ? [length >> 8, length & 0xff]
        : [length >> 16, (length >> 8) & 0xff, length & 0xff];
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) groups.unshift((rest & 0x7f) | 0x80);
  return groups;
}

const NAME_OIDS = { C: '2.5.4.6', O: '2.5.4.10', OU: '2.5.4.11', CN: '2.5.4.3' } as const;
const SHA256_RSA = sequence(objectId('1.2.840.113549.1.1.11'), nothing());
const SHA256_ECDSA = sequence(objectId('1.2.840.10045.4.3.2'));

/** A distinguished name; written in the order C, O, OU, CN. */
export interface DistinguishedName {
  C: string;
  O: string;
  OU: string;
  CN: string;
}

interface CertificateRequest {
  subject: DistinguishedName;
  issuer: DistinguishedName;
  publicKey: KeyObject;
  signer: KeyObject;
  ca: boolean;
  dnsNames?: readonly string[];
  days?: number;
  /** The serial number; random if absent. */
  serial?: Buffer;
}

export interface KeyPair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** Creates an RSA-2048 key pair on the thread pool. */
export function newRsaKeys(): Promise<KeyPair> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
}

/** Creates a P-256 key pair for a root certificate that is not RSA, as in Alipay's own root file. */
export function newEcKeys(): Promise<KeyPair> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
}

/** Writes an X.509 v3 certificate (RFC 5280), signed with SHA-256 and valid from yesterday, as PEM. */
export function issueCertificate(request: CertificateRequest): string {
  const algorithm = request.signer.asymmetricKeyType === 'ec' ? SHA256_ECDSA : SHA256_RSA;
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))),
    integer(request.serial ?? serialNumber()),
    algorithm,
    encodedName(request.issuer),
    validity(request.days ?? 3650),
    encodedName(request.subject),
    request.publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions(request))),
  );
  const der = sequence(body, algorithm, bitString(sign('SHA256', body, request.signer)));
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

/** 16 random bytes without a leading zero or sign bit, so that every reader prints the same serial. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = 0x20 | (bytes[0]! & 0x5f);
  return bytes;
}

function encodedName(name: DistinguishedName): Buffer {
  const parts = (['C', 'O', 'OU', 'CN'] as const).map((key) => {
    const value = key === 'C' ? element(0x13, Buffer.from(name.C, 'ascii')) : utf8String(name[key]);
    return setOf(sequence(objectId(NAME_OIDS[key]), value));
  });
  return sequence(...parts);
}

function validity(days: number): Buffer {
  const day = 86_400_000;
  return sequence(time(new Date(Date.now() - day)), time(new Date(Date.now() + days * day)));
}

function extensions({ ca, dnsNames }: CertificateRequest): Buffer[] {
  const constraints = sequence(objectId('2.5.29.19'), yes(), octetString(ca ? sequence(yes()) : sequence()));
  const usage = sequence(objectId('2.5.29.15'), yes(), octetString(keyUsage(ca)));
  if (dnsNames === undefined) return [constraints, usage];
  const names = sequence(...dnsNames.map((name) => element(0x82, Buffer.from(name, 'ascii'))));
  return [constraints, usage, sequence(objectId('2.5.29.17'), octetString(names))];
}

/** Returns the key usage: keyCertSign and cRLSign for an authority, digitalSignature for other certificates. */
function keyUsage(ca: boolean): Buffer {
  return ca ? element(0x03, Buffer.from([1, 0x06])) : element(0x03, Buffer.from([7, 0x80]));
}

/** A certificate and the private key that belongs to it, as PEM. */
export interface Credential {
  certificate: string;
  privateKey: string;
}

/** The simulator's own certificate authority. Only the simulator's clients trust its certificates. */
export interface Authority {
  /** The root certificate as PEM. */
  readonly root: string;
  /**
   * A second root certificate (elliptic curve) as PEM. It is part of Alipay's root file, but the serial number that
   * Alipay computes for this file ignores it.
   */
  readonly otherRoot: string;
  issue(commonName: string, options?: { dnsNames?: readonly string[]; unit?: string }): Promise<Credential>;
  certify(commonName: string, publicKey: KeyObject): string;
  /** Returns the intermediate authority with this name. The first call creates and stores it. */
  between(name: string): Promise<Intermediate>;
}

interface Intermediate {
  /** Issues a certificate for a public key; the authority's own certificate is appended. */
  certify(commonName: string, publicKey: KeyObject, unit: string): string;
}

interface Stored extends Credential {
  other: string;
  between: Record<string, Credential>;
}

const ROOT_NAME = namedBy('Payment Simulator Root', 'Authority');

/** Opens the certificate authority stored in `dir`; creates it at the first start. */
export async function openAuthority(dir: string): Promise<Authority> {
  const file = join(dir, 'authority.json');
  if (!existsSync(file)) writePrivately(file, JSON.stringify(await newAuthority(), null, 2));
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Stored;
  const signer = createPrivateKey(stored.privateKey);
  const certify = (commonName: string, publicKey: KeyObject, unit = 'Simulator', dnsNames?: readonly string[]) =>
    issueCertificate({ subject: namedBy(commonName, unit), issuer: ROOT_NAME, publicKey, signer, ca: false, dnsNames });
  const made = new Map<string, Promise<Intermediate>>();
  const between = async (name: string): Promise<Intermediate> => {
    stored.between[name] ??= await newIntermediate(name, signer);
    writePrivately(file, JSON.stringify(stored, null, 2));
    return openIntermediate(name, stored.between[name]);
  };
  return {
    root: stored.certificate,
    otherRoot: stored.other,
    certify,
    between(name) {
      const known = made.get(name) ?? between(name);
      made.set(name, known);
      return known;
    },
    async issue(commonName, { dnsNames, unit } = {}) {
      const keys = await newRsaKeys();
      return { certificate: certify(commonName, keys.publicKey, unit, dnsNames), privateKey: pkcs8(keys.privateKey) };
    },
  };
}

/** Returns the serial number of a certificate as upper-case hex without leading zeros. */
export function serialOf(certificate: string): string {
  return new X509Certificate(certificate).serialNumber.replace(/^0+/, '').toUpperCase();
}

/** Exports a private key as PKCS #8 PEM. */
export function pkcs8(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Exports a public key as SPKI PEM. */
export function spki(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

async function newAuthority(): Promise<Stored> {
  const [rsa, ec] = await Promise.all([newRsaKeys(), newEcKeys()]);
  const otherName = namedBy('Payment Simulator Other Root', 'Authority');
  return {
    certificate: issueCertificate({
      subject: ROOT_NAME,
      issuer: ROOT_NAME,
      publicKey: rsa.publicKey,
      signer: rsa.privateKey,
      ca: true,
    }),
    privateKey: pkcs8(rsa.privateKey),
    other: issueCertificate({
      subject: otherName,
      issuer: otherName,
      publicKey: ec.publicKey,
      signer: ec.privateKey,
      ca: true,
    }),
    between: {},
  };
}

async function newIntermediate(name: string, signer: KeyObject): Promise<Credential> {
  const { publicKey, privateKey } = await newRsaKeys();
  const subject = namedBy(name, 'Authority');
  const certificate = issueCertificate({ subject, issuer: ROOT_NAME, publicKey, signer, ca: true });
  return { certificate, privateKey: pkcs8(privateKey) };
}

function openIntermediate(name: string, { certificate, privateKey }: Credential): Intermediate {
  const [issuer, signer] = [namedBy(name, 'Authority'), createPrivateKey(privateKey)];
  return {
    certify: (commonName, publicKey, unit) =>
      issueCertificate({ subject: namedBy(commonName, unit), issuer, publicKey, signer, ca: false }) + certificate,
  };
}

function namedBy(commonName: string, unit: string): DistinguishedName {
  return { C: 'CN', O: 'Payment Simulator', OU: unit, CN: commonName };
}
