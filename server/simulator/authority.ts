import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueCertificate, newEcKeys, newRsaKeys, type DistinguishedName } from './certificates.ts';
import { writePrivately } from './files.ts';

/** A certificate and the private key that belongs to it, as PEM. */
export interface Credential {
  certificate: string;
  privateKey: string;
}

/** The simulator's own certificate authority; its keys are worthless anywhere else. */
export interface Authority {
  /** PEM of the root that issues every certificate. */
  readonly root: string;
  /** PEM of an elliptic-curve root: part of Alipay's root file and ignored in its serial. */
  readonly otherRoot: string;
  /** Makes a key and a certificate for it. */
  issue(commonName: string, options?: { dnsNames?: readonly string[]; unit?: string }): Promise<Credential>;
  /** Issues a certificate for an existing public key. */
  certify(commonName: string, publicKey: KeyObject): string;
  /** The authority of this name between the root and its certificates, made and kept when it is first asked for. */
  between(name: string): Promise<Intermediate>;
}

/** An authority that the root vouches for. */
export interface Intermediate {
  /** Issues a certificate for a public key; the file has the authority's own behind it. */
  certify(commonName: string, publicKey: KeyObject, unit: string): string;
}

interface Stored extends Credential {
  other: string;
  /** By name. */
  between: Record<string, Credential>;
}

const ROOT_NAME = nameOf('Payment Simulator Root', 'Authority');

/** Opens the authority in `dir`, making it at the first start. */
export async function openAuthority(dir: string): Promise<Authority> {
  const file = join(dir, 'authority.json');
  if (!existsSync(file)) writePrivately(file, JSON.stringify(await newAuthority(), null, 2));
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Stored;
  const signer = createPrivateKey(stored.privateKey);
  const certify = (commonName: string, publicKey: KeyObject, unit = 'Simulator', dnsNames?: readonly string[]) =>
    issueCertificate({ subject: nameOf(commonName, unit), issuer: ROOT_NAME, publicKey, signer, ca: false, dnsNames });
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

/** The serial number of a certificate as upper-case hex without leading zeros. */
export function serialOf(certificate: string): string {
  return new X509Certificate(certificate).serialNumber.replace(/^0+/, '').toUpperCase();
}

/** A private key as PKCS #8 PEM. */
export function pkcs8(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** A public key as SPKI PEM. */
export function spki(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }).toString();
}

async function newAuthority(): Promise<Stored> {
  const [rsa, ec] = await Promise.all([newRsaKeys(), newEcKeys()]);
  const otherName = nameOf('Payment Simulator Other Root', 'Authority');
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
  const subject = nameOf(name, 'Authority');
  const certificate = issueCertificate({ subject, issuer: ROOT_NAME, publicKey, signer, ca: true });
  return { certificate, privateKey: pkcs8(privateKey) };
}

function openIntermediate(name: string, { certificate, privateKey }: Credential): Intermediate {
  const [issuer, signer] = [nameOf(name, 'Authority'), createPrivateKey(privateKey)];
  return {
    certify: (commonName, publicKey, unit) =>
      issueCertificate({ subject: nameOf(commonName, unit), issuer, publicKey, signer, ca: false }) + certificate,
  };
}

function nameOf(commonName: string, unit: string): DistinguishedName {
  return { C: 'CN', O: 'Payment Simulator', OU: unit, CN: commonName };
}
