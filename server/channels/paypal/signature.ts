/** The signed text of a webhook, and the check of PayPal's certificate. */
import type { Buffer } from 'node:buffer';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { crc32 } from 'node:zlib';
import type { Mode } from '../../payments/channel.ts';

/** The signature headers of a delivery. */
export interface Transmission {
  id: string;
  time: string;
  certUrl: string;
  signature: string;
  algorithm: string;
}

/** The signed text of a webhook: `id|time|webhook id|CRC32 of the raw body as an unsigned decimal` (PayPal, Webhooks integration). */
export function webhookText(transmissionId: string, transmissionTime: string, webhookId: string, body: Buffer): string {
  return [transmissionId, transmissionTime, webhookId, String(crc32(body))].join('|');
}

/** A webhook certificate that must not be used. */
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

/** Whether a certificate may be fetched from this URL: https, one of PayPal's hosts for the mode, only the certs path. */
export function isCertificateUrl(text: string, mode: Mode, apiUrl: string): boolean {
  if (mode === 'simulator') return text.startsWith(apiUrl) && PATH.test(text.slice(apiUrl.length));
  return HOSTS[mode].some((host) => {
    const origin = `https://${host}`;
    return text.startsWith(origin) && PATH.test(text.slice(origin.length));
  });
}

/** The trusted roots, and the intermediates that may be used besides those in a certificate's own file. */
export interface Trust {
  roots: readonly X509Certificate[];
  intermediates: readonly X509Certificate[];
}

/** The key of a webhook certificate, and the result of its check. */
export interface JudgedKey {
  key: KeyObject;
  /** False = name and dates are right, but a certificate between it and a root is missing. */
  isChained: boolean;
  until: Date;
}

/** The key of the first certificate in `pem`; throws CertificateRefused unless it is PayPal's, in date, and leads to a trusted root or its issuer is missing. */
export function judgeKey(pem: string, { roots, intermediates }: Trust, at: Date): JudgedKey {
  const [leaf, ...others] = readPems(pem);
  if (!leaf) throw new CertificateRefused('The file contains no certificate.');
  checkName(leaf);
  checkStrength(leaf);
  const isChained = leadsToRoot(leaf, [...others, ...intermediates], roots, at);
  return { key: leaf.publicKey, isChained, until: leaf.validToDate };
}

/** The roots of Node, parsed on first use. */
export function publicRoots(): readonly X509Certificate[] {
  parsedRoots ??= rootCertificates.map((pem) => new X509Certificate(pem));
  return parsedRoots;
}
let parsedRoots: readonly X509Certificate[] | undefined;

/** Every certificate of a PEM text, in order; throws CertificateRefused if one cannot be read. */
export function readPems(text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length > LONGEST_CHAIN) throw new CertificateRefused('The certificate chain is too long.');
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
    throw new CertificateRefused('The key is not an RSA key of at least 2048 bits.');
}

/**
 * Whether a certificate leads to a trusted root. All paths are tried, because an authority may have several certificates of one name and key,
 * some of them expired. Every step is in date and signed by a CA certificate. False if an issuer is missing; throws if every issuer is there
 * and no path leads to a root.
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

/** Whether a known certificate has the issuer's name; if it did not sign, the certificate is forged and no issuer is missing. */
function isNamed(known: readonly X509Certificate[], { issuer }: X509Certificate): boolean {
  return known.some(({ subject }) => subject === issuer);
}

function issued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isInDate({ validFromDate, validToDate }: X509Certificate, at: Date): boolean {
  return validFromDate <= at && at <= validToDate;
}
