/** The list of channels, and the serial of a certificate as each channel computes it. */
import type { X509Certificate } from 'node:crypto';
import type { ChannelKind, PayWay } from '../payments/channel.ts';
import { alipayKind } from './alipay/kind.ts';
import { certSerial, rootCertSerial } from './alipay/signature.ts';
import { paypalKind } from './paypal/kind.ts';
import { wechatKind } from './wechat/kind.ts';

/** All channels by their name in the API. README.md lists the steps to add a channel. */
export const CHANNEL_KINDS: ReadonlyMap<PayWay, ChannelKind> = new Map(
  [alipayKind, wechatKind, paypalKind].map((kind) => [kind.payWay, kind]),
);

/** Returns the serial of a certificate file. Alipay computes a serial of its own. */
export function channelSerial(kind: string, certificates: readonly [X509Certificate, ...X509Certificate[]]): string {
  const [leaf] = certificates;
  if (!kind.startsWith('alipay_')) return leaf.serialNumber;
  return kind === 'alipay_root_cert' ? rootCertSerial(certificates) : certSerial(leaf);
}
