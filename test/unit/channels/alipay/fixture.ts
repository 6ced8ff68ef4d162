import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type {
  Channel,
  Download,
  Mode,
  PlaceOrder,
  RefundOrder,
  RefundRef,
  WireAnswer,
  WireRequest,
} from '../../../../server/payments/channel.ts';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { certSerial, readCertificates, signRsa2 } from '../../../../server/channels/alipay/signature.ts';

/** The text of a file in `fixtures/`. */
export function fixture(name: string): string {
  return readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
}

/** The key pairs of the app, of the channel and of the channel's next certificate. */
export const keys = {
  app: createPrivateKey(fixture('app.key')),
  channel: createPrivateKey(fixture('alipay.key')),
  next: createPrivateKey(fixture('alipay2.key')),
};

/** PEM texts of key mode and of certificate mode. */
export const keyMode = {
  alipay_app_key: [fixture('app.key')],
  alipay_public_key: [publicPem(keys.channel)],
};
export const certificateMode = {
  alipay_app_key: [fixture('app.key')],
  alipay_app_cert: [fixture('app.crt')],
  alipay_public_cert: [fixture('alipay.crt')],
  alipay_root_cert: [fixture('root.crt')],
};

export const APP_ID = '2021000000000001';
export const SELLER_ID = '2088000000000001';
export const NOW = new Date('2026-03-01T04:00:00Z');

export const order: PlaceOrder = {
  orderNo: 'T2026030100000001',
  subject: 'A cup of tea',
  amount: { minor: 1234n, currency: 'CNY' },
  scene: 'qr',
  expiresAt: new Date('2026-03-01T06:00:00Z'),
  sentAt: NOW,
  notifyUrl: 'https://pay.example.test/api/v1/notify/alipay/demo',
  returnUrl: 'https://pay.example.test/pay/return/T2026030100000001',
  cancelUrl: 'https://pay.example.test/pay/T2026030100000001',
  clientIp: null,
  openId: null,
  payCode: null,
  options: {},
};

export const ref = { ...order, channelOrderId: null, channelTradeNo: null };

export const refund: RefundOrder & RefundRef = {
  ...ref,
  refundNo: 'R2026030100000001',
  refundAmount: { minor: 234n, currency: 'CNY' },
  reason: 'cold',
  refundSentAt: NOW,
  channelRefundNo: null,
};

/** The SubjectPublicKeyInfo PEM of a key. */
export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

/** An HTTP response with this body. */
export function http(body: string | Buffer, status = 200): WireAnswer {
  return { status, headers: {}, body: Buffer.from(body) };
}

/** The signing options of a response. */
export interface Signing {
  key?: KeyObject;
  certificate?: string;
  member?: string;
}

/** A signed channel response to a method. */
export async function said(method: string, content: object, signing: Signing = {}): Promise<WireAnswer> {
  const { key = keys.channel, certificate, member = `${method.replaceAll('.', '_')}_response` } = signing;
  const raw = JSON.stringify(content);
  const serial = certificate ? `,"alipay_cert_sn":"${serialOf(certificate)}"` : '';
  return http(`{"${member}":${raw}${serial},"sign":"${await signRsa2(raw, key)}"}`);
}

/** The serial of the first certificate of a fixture file. */
export function serialOf(name: string): string {
  const [certificate] = readCertificates(fixture(name));
  if (!certificate) throw new Error(`${name} holds no certificate`);
  return certSerial(certificate);
}

/** A channel whose transport returns `reply`; `sent` records the requests. */
export function channelWith(
  reply: (request: WireRequest) => WireAnswer | Promise<WireAnswer>,
  options: {
    pems?: Record<string, string[]>;
    fields?: Record<string, string>;
    now?: Date;
    mode?: Mode;
    simulatorUrl?: string;
    download?: Download;
  } = {},
): { channel: Channel; sent: WireRequest[] } {
  const sent: WireRequest[] = [];
  const channel = alipayKind.create({
    mode: options.mode ?? 'sandbox',
    fields: options.fields ?? { appId: APP_ID },
    pems: options.pems ?? keyMode,
    simulatorUrl: options.simulatorUrl ?? null,
    ...(options.download && { download: options.download }),
    now: () => options.now ?? NOW,
    send: async (request) => {
      sent.push(request);
      return reply(request);
    },
  });
  return { channel, sent };
}

/** A channel that returns this signed content for every call. */
export function channelSaying(content: object, signing: Signing = {}, fields?: Record<string, string>): Channel {
  return channelWith(({ about }) => said(about.call, content, signing), { fields }).channel;
}
