import type { KeyObject } from 'node:crypto';
import { certSerial, readCertificates } from '../../channels/alipay/signature.ts';
import { newRsaKeys } from '../certificates.ts';
import { pkcs8 } from '../authority.ts';
import type { Core } from '../half.ts';

/**
 * Who issues what, as the certificates of Alipay's own Node SDK (its test fixtures) show: Alipay's are issued by "Class 2" to
 * Alipay's company and the merchant's PID, those of apps by "Class 1" to PID and app id.
 */
const ISSUERS = {
  alipay: 'Ant Financial Certification Authority Class 2 simulated',
  app: 'Ant Financial Certification Authority Class 1 simulated',
} as const;

/** Whose certificate: the merchant that the app belongs to, and the app. */
interface Owner {
  pid: string;
  appId: string;
}

const NAMES: Readonly<Record<keyof typeof ISSUERS, (owner: Owner) => string>> = {
  alipay: ({ pid }) => `支付宝(中国)网络技术有限公司-${pid}`,
  app: ({ pid, appId }) => `${pid}-${appId}`,
};

/** A new key of Alipay's or the app's, and its certificate with the one that issued it, as PEM. */
export async function newCredential(
  { authority }: Core,
  whose: keyof typeof ISSUERS,
  owner: Owner,
): Promise<{ privateKey: string; certificate: string }> {
  const [issuer, keys] = await Promise.all([authority.between(ISSUERS[whose]), newRsaKeys()]);
  return { privateKey: pkcs8(keys.privateKey), certificate: certificateOf(issuer, whose, owner, keys.publicKey) };
}

function certificateOf(
  issuer: Awaited<ReturnType<Core['authority']['between']>>,
  whose: keyof typeof ISSUERS,
  owner: Owner,
  publicKey: KeyObject,
): string {
  return issuer.certify(NAMES[whose](owner), publicKey, 'Alipay');
}

/** The serial of a certificate file, as Alipay counts it. */
export function serialOfFile(pem: string): string {
  const [leaf] = readCertificates(pem);
  if (leaf === undefined) throw new Error('The file holds no certificate.');
  return certSerial(leaf);
}
