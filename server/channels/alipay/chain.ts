import type { X509Certificate } from 'node:crypto';

/** A file of Alipay's own: its certificate and what came with it. */
export interface CertificateFile {
  certificate: X509Certificate;
  others: readonly X509Certificate[];
}

/** What a downloaded certificate is measured by. */
export interface Measure {
  /** The root certificate file. */
  anchors: readonly X509Certificate[];
  /** The files that verify now. */
  trusted: readonly CertificateFile[];
  now: Date;
}

/** Alipay's own chains have one certificate between; a few more are no reason to search for long. */
const LONGEST_CHAIN = 6;

/**
 * Whether a certificate leads to one of the anchors through certificates of its own file: every step is signed, and by a
 * certificate that may sign. The anchors are the pinned root file, whose dates do not count (some of its roots have run out).
 */
export function leadsTo(
  anchors: readonly X509Certificate[],
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  steps = LONGEST_CHAIN,
): boolean {
  if (anchors.some((anchor) => isIssuedBy(certificate, anchor))) return true;
  if (steps === 0) return false;
  const issuers = others.filter((other) => other.ca && isIssuedBy(certificate, other));
  return issuers.some((issuer) => {
    const rest = others.filter((other) => other !== issuer);
    return leadsTo(anchors, issuer, rest, steps - 1);
  });
}

/** Names, key identifiers and key usage, and the signature itself. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // The SM2 root in Alipay's file has a key that OpenSSL may not take.
    return false;
  }
}
