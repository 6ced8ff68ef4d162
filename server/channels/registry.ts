/** The list of channels, and the serial of a certificate as its channel computes it. */
import type { X509Certificate } from 'node:crypto';
import type { ChannelKind, PayWay } from '../payments/channel.ts';
import { alipayKind } from './alipay/kind.ts';
import { certSerial, rootCertSerial } from './alipay/signature.ts';
import { paypalKind } from './paypal/kind.ts';
import { wechatKind } from './wechat/kind.ts';

/** Every channel of the service, by its name in the API; README.md lists the steps for a new channel. */
export const CHANNEL_KINDS: ReadonlyMap<PayWay, ChannelKind> = new Map(
  [alipayKind, wechatKind, paypalKind].map((kind) => [kind.payWay, kind]),
);

/** The serial of a certificate file: Alipay computes its own, the other channels use the certificate's. */
export function channelSerial(kind: string, certificates: readonly [X509Certificate, ...X509Certificate[]]): string {
  const [leaf] = certificates;
  if (!kind.startsWith('alipay_')) return leaf.serialNumber;
  return kind === 'alipay_root_cert' ? rootCertSerial(certificates) : certSerial(leaf);
}
