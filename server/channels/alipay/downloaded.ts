import type { X509Certificate } from 'node:crypto';
import { readEnvelope } from './reply.ts';
import { isIssuedBy, leadsTo, type CertificateFile, type Measure } from './chain.ts';
import { certSerial, readCertificates } from './signature.ts';
import { CODE } from './status.ts';

/**
 * The authority that issues Alipay's certificates, and nobody else's: apps have theirs from "Class 1" below the same root.
 * Names are those of the certificates in the test fixtures of Alipay's own Node SDK; the sandbox is said to add " test".
 */
const ISSUER = /^CN=Ant Financial Certification Authority Class 2\b/m;
/** Alipay's company and the PID of the merchant that the app belongs to. */
const HOLDER = /^CN=(支付宝\(中国\)网络技术有限公司-\d{1,32})$/m;

/**
 * Reads the answer to `alipay.open.app.alipaycert.download` into the PEM text that was asked for by its serial; throws for anything
 * doubtful. The answer is signed with the key that is being asked for, if at all, so nothing but the certificate itself counts: it
 * leads to a pinned root, was issued by Alipay's authority for its own certificates, is valid, and names the same holder as one that
 * verifies now. So whoever may upload no certificate can bring none this way either.
 */
export function readDownloaded(body: Uint8Array, method: string, serial: string, measure: Measure): string {
  const { text } = readEnvelope(body, method);
  const { code, alipay_cert_content: base64 } = JSON.parse(text) as Record<string, unknown>;
  if (code !== CODE.ok || typeof base64 !== 'string') throw new Error('The certificate was refused.');
  const file = readCertificates(Buffer.from(base64, 'base64').toString('latin1'));
  const certificate = file.find((one) => certSerial(one) === serial);
  if (!certificate) throw new Error('The file does not hold the certificate of this serial.');
  const others = file.filter((one) => one !== certificate);
  const chain = chainOf({ certificate, others }, measure);
  if (!chain) throw new Error('The certificate is not one of Alipay for this app.');
  return [certificate, ...chain].map(String).join('');
}

/** What stands between the certificate and a root, if it is Alipay's: a file of it alone leads there, too. */
function chainOf(
  { certificate, others }: CertificateFile,
  { anchors, trusted, now }: Measure,
): readonly X509Certificate[] | undefined {
  const known = [...others, ...trusted.flatMap((file) => file.others)];
  const holder = holderOf(certificate);
  const isSameHolder = trusted.some(
    (file) => holderOf(file.certificate) === holder && issuersOf(file.certificate, known).length > 0,
  );
  if (holder === undefined || !isSameHolder || !isValid(certificate, now)) return undefined;
  const issuer = issuersOf(certificate, known).find((one) => isValid(one, now) && leadsTo(anchors, one, known));
  return issuer && [issuer, ...known.filter((one) => !one.raw.equals(issuer.raw))];
}

/** Alipay's own authorities among those given that issued the certificate. */
function issuersOf(certificate: X509Certificate, among: readonly X509Certificate[]): X509Certificate[] {
  return among.filter((one) => one.ca && ISSUER.test(one.subject) && isIssuedBy(certificate, one));
}

function holderOf({ subject }: X509Certificate): string | undefined {
  return HOLDER.exec(subject)?.[1];
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now && now < validToDate;
}
