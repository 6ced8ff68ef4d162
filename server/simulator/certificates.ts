import { generateKeyPair, randomBytes, sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import {
  bitString,
  element,
  integer,
  nothing,
  objectId,
  octetString,
  sequence,
  setOf,
  time,
  utf8String,
  yes,
} from './der.ts';

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

/** What a certificate says and who says it. */
export interface CertificateRequest {
  subject: DistinguishedName;
  issuer: DistinguishedName;
  publicKey: KeyObject;
  signer: KeyObject;
  ca: boolean;
  dnsNames?: readonly string[];
  days?: number;
  /** Random unless it is given. */
  serial?: Buffer;
}

/** A private key and its public half, both as PEM. */
export interface KeyPair {
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A new RSA-2048 key pair, made on the thread pool. */
export function newRsaKeys(): Promise<KeyPair> {
  return promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
}

/** A new P-256 key pair: for the root that is no RSA one, as in Alipay's own file. */
export function newEcKeys(): Promise<KeyPair> {
  return promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
}

/** Writes and signs an X.509 v3 certificate (RFC 5280) with SHA-256; valid from yesterday; PEM. */
export function issueCertificate(request: CertificateRequest): string {
  const algorithm = request.signer.asymmetricKeyType === 'ec' ? SHA256_ECDSA : SHA256_RSA;
  const body = sequence(
    element(0xa0, integer(Buffer.from([2]))),
    integer(request.serial ?? serialNumber()),
    algorithm,
    nameOf(request.issuer),
    validity(request.days ?? 3650),
    nameOf(request.subject),
    request.publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions(request))),
  );
  const der = sequence(body, algorithm, bitString(sign('SHA256', body, request.signer)));
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
}

/** 16 random bytes whose first is neither zero nor negative, so that every reader prints the same serial. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = 0x20 | (bytes[0]! & 0x5f);
  return bytes;
}

function nameOf(name: DistinguishedName): Buffer {
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

/** keyCertSign and cRLSign for an authority, digitalSignature for the others. */
function keyUsage(ca: boolean): Buffer {
  return ca ? element(0x03, Buffer.from([1, 0x06])) : element(0x03, Buffer.from([7, 0x80]));
}
