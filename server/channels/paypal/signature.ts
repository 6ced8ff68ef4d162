/** Builds the signed text of a webhook and checks PayPal's certificate. */
import type { Buffer } from 'node:buffer';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { crc32 } from 'node:zlib';
import type { Mode } from '../../payments/channel.ts';

export interface Transmission {
  id: string;
  time: string;
  certUrl: string;
  signature: string;
  algorithm: string;
}

/**
 * The signed text: `id|time|webhook id|CRC32 of the raw body as an unsigned decimal` (PayPal, Webhooks integration).
 */
export function webhookText(transmissionId: string, transmissionTime: string, webhookId: string, body: Buffer): string {
  return [transmissionId, transmissionTime, webhookId, String(crc32(body))].join('|');
}

/** Thrown for a webhook certificate that must not be used. */
export class CertificateRefused extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'CertificateRefused';
  }
}

const HOSTS: Readonly<Record<Exclude<Mode, 'simulator'>, readonly string[]>> = {
  live: ['api.paypal.com', 'api-m.paypal.com'],
  sandbox: ['api.sandbox.paypal.com', 'api-m.sandbox.paypal.com'],
};

const PATH = /^\/v1\/notifications\/certs\/[A-Za-z0-9-]{1,128}$/;
const LONGEST_CHAIN = 6;

/**
 * Whether a webhook certificate may be downloaded from this URL. It must be an https URL of PayPal with the path of
 * PayPal's certificates. In simulator mode it must be a URL of the simulator.
 */
export function isCertificateUrl(text: string, mode: Mode, apiUrl: string): boolean {
  if (mode === 'simulator') return text.startsWith(apiUrl) && PATH.test(text.slice(apiUrl.length));
  return HOSTS[mode].some((host) => {
    const origin = `https://${host}`;
    return text.startsWith(origin) && PATH.test(text.slice(origin.length));
  });
}

/** `intermediates` complete a chain if the certificate file lacks an intermediate certificate. */
export interface Trust {
  roots: readonly X509Certificate[];
  intermediates: readonly X509Certificate[];
}

export interface JudgedKey {
  key: KeyObject;
  /** False if the certificate itself is valid, but an intermediate certificate between it and a root is missing. */
  isChained: boolean;
  until: Date;
}

/**
 * Checks the first certificate in `pem` and returns its key. Throws CertificateRefused if the certificate is not
 * PayPal's or has expired. Also throws if its chain is complete but does not lead to a trusted root. If an issuer in
 * the chain is missing, `isChained` is false.
 */
export function judgeKey(pem: string, { roots, intermediates }: Trust, at: Date): JudgedKey {
  const [leaf, ...others] = readPems(pem);
  if (!leaf) throw new CertificateRefused('The certificate file contains no certificate.');
  checkName(leaf);
  checkStrength(leaf);
  const isChained = leadsToRoot(leaf, [...others, ...intermediates], roots, at);
  return { key: leaf.publicKey, isChained, until: leaf.validToDate };
}

/** Returns the root certificates of Node.js. They are parsed at the first call. */
export function publicRoots(): readonly X509Certificate[] {
  parsedRoots ??= rootCertificates.map((pem) => new X509Certificate(pem));
  return parsedRoots;
}
let parsedRoots: readonly X509Certificate[] | undefined;

/** Parses every certificate of a PEM text, in its sequence. Throws CertificateRefused if one cannot be parsed. */
export function readPems(text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length > LONGEST_CHAIN)
    throw new CertificateRefused('The certificate file contains more than six certificates.');
  try {
    return blocks.map((pem) => new X509Certificate(pem));
  } catch (error) {
    throw new CertificateRefused(`A certificate cannot be read: ${String(error)}`);
  }
}

function checkName({ subject }: X509Certificate): void {
  const names = subject.split('\n').filter((line) => line.startsWith('CN='));
  if (names.length !== 1 || !/^CN=(?:[a-z0-9-]+\.)+paypal\.com$/i.test(names[0] ?? '')) {
    throw new CertificateRefused('The certificate was not issued to *.paypal.com.');
  }
}

function checkStrength({ publicKey }: X509Certificate): void {
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  if (publicKey.asymmetricKeyType !== 'rsa' || bits < 2048)
    throw new CertificateRefused('The key of the certificate is not an RSA key of at least 2048 bits.');
}

/**
 * Whether a certificate leads to a trusted root. Each step must be in date and signed by a CA certificate. All paths
 * are tried, because an authority may have several certificates with the same name and key, some of them expired.
 * Returns false if an issuer is missing. Throws if no issuer is missing and no path leads to a root.
 */
function leadsToRoot(
  from: X509Certificate,
  others: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  at: Date,
): boolean {
  if (!isInDate(from, at)) throw new CertificateRefused('The certificate has expired or is not valid yet.');
  const known = [...roots, ...others];
  const passed = new Set([from]);
  let lacksIssuer = false;
  for (let [step, level] = [0, [from]]; step < LONGEST_CHAIN && level.length > 0; step += 1) {
    const isRooted = (one: X509Certificate) => roots.some((root) => root.ca && isInDate(root, at) && issued(root, one));
    if (level.some(isRooted)) return true;
    lacksIssuer ||= level.some((one) => one.issuer !== one.subject && !isNamed(known, one));
    const above = others.filter(
      (one) => !passed.has(one) && one.ca && isInDate(one, at) && level.some((below) => issued(one, below)),
    );
    for (const one of above) passed.add(one);
    level = above;
  }
  if (lacksIssuer) return false;
  throw new CertificateRefused('The certificate chain does not lead to a trusted root.');
}

/**
 * Whether a certificate with the name of the issuer is known. If a known certificate has this name but the signature is
 * by another key, the signed certificate is forged. Then the issuer is not reported as missing.
 */
function isNamed(known: readonly X509Certificate[], { issuer }: X509Certificate): boolean {
  return known.some(({ subject }) => subject === issuer);
}

function issued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isInDate({ validFromDate, validToDate }: X509Certificate, at: Date): boolean {
  return validFromDate <= at && at <= validToDate;
}
