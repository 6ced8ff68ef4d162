import type { X509Certificate } from 'node:crypto';
import { certSerial, rootCertSerial } from './alipay/signature.ts';

/** The serial of a certificate file as its channel counts it: Alipay makes its own, the others take the certificate's. */
export function channelSerial(kind: string, certificates: readonly [X509Certificate, ...X509Certificate[]]): string {
  const [leaf] = certificates;
  if (!kind.startsWith('alipay_')) return leaf.serialNumber;
  return kind === 'alipay_root_cert' ? rootCertSerial(certificates) : certSerial(leaf);
}
