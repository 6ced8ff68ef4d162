import { X509Certificate } from 'node:crypto';
import type { FaultName } from '../faults.ts';
import type { SigningKey } from './account.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { beijingTime } from './present.ts';
import { refuse, tell } from './refusals.ts';
import { encrypted } from './seal.ts';

/** Downloading the platform certificates. */
export const CERTIFICATE_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/certificates$/, call: 'certificates', plan: planCertificates },
];

/** Every platform certificate, sealed with the APIv3 key; a merchant with public keys only has none. */
function planCertificates({ merchant: { verifyMode, platformKeys, apiV3Key } }: Asked): Planned {
  if (verifyMode === 'public-key')
    return settled(refuse(404, 'RESOURCE_NOT_EXISTS', '无可用的平台证书，请使用微信支付公钥'));
  return {
    act: (fault) => tell({ data: platformKeys.map((key) => describeCertificate(key, apiV3Key, fault)) }),
  };
}

function describeCertificate(
  { serial, publicPem }: SigningKey,
  apiV3Key: string,
  fault: FaultName | undefined,
): object {
  const { validFromDate, validToDate } = new X509Certificate(publicPem);
  return {
    serial_no: serial,
    effective_time: beijingTime(validFromDate.getTime()),
    expire_time: beijingTime(validToDate.getTime()),
    encrypt_certificate: encrypted(publicPem, 'certificate', apiV3Key, fault),
  };
}
