import { createSign, generateKeyPairSync, randomBytes, X509Certificate, type KeyObject } from 'node:crypto';
import type {
  Channel,
  ChannelInput,
  OrderRef,
  PlaceOrder,
  RefundOrder,
  WireAnswer,
  WireRequest,
} from '../../../../server/payments/channel.ts';
import { encryptText } from '../../../../server/channels/wechat/signature.ts';
import { createWechatChannel } from '../../../../server/channels/wechat/channel.ts';
import { issueCertificate } from '../../../../server/simulator/certificates.ts';

/** The current time of these tests: 20:00 today in Beijing, because the readiness of a bill depends on the time of day. */
export const NOW = new Date(new Date().setUTCHours(12, 0, 0, 0));
export const MCHID = '1900000109';
/** A sub-merchant of a partner. */
export const SUB_MCHID = '1900000208';
export const APP_ID = 'wx0000000000000001';
export const API_V3_KEY = '0123456789abcdef0123456789ABCDEF';
export const PUBLIC_KEY_ID = 'PUB_KEY_ID_0119000001092026030400000001';
const NAME = { C: 'CN', O: 'Test', OU: 'Test', CN: 'Test' };

/** A signing key and the serial of its signatures. */
export interface Signer {
  serial: string;
  key: KeyObject;
  pem: string;
}

/** A key pair with a certificate whose serial names it. */
export function certifiedKey(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = issueCertificate({ subject: NAME, issuer: NAME, publicKey, signer: privateKey, ca: false });
  return { serial: new X509Certificate(pem).serialNumber, key: privateKey, pem };
}

/** A bare key pair, named by a public key id. */
export function bareKey(serial = PUBLIC_KEY_ID): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { serial, key: privateKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

export const MERCHANT = certifiedKey();
export const MERCHANT_KEY_PEM = MERCHANT.key.export({ type: 'pkcs8', format: 'pem' }).toString();
export const PLATFORM = certifiedKey();
export const OTHER_PLATFORM = certifiedKey();
export const PUBLIC = bareKey();

/** The variations of a signed message. */
export interface SignedHow {
  signer?: Signer;
  serial?: string;
  at?: Date;
  signature?: string;
}

/** The four headers over `body`, written independently so that the adapter does not check itself. */
export function signedHeaders(
  body: string,
  { signer = PLATFORM, serial, at = NOW, signature }: SignedHow = {},
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const nonce = randomBytes(12).toString('hex');
  const text = [timestamp, nonce, body, ''].join('\n');
  return {
    'wechatpay-timestamp': timestamp,
    'wechatpay-nonce': nonce,
    'wechatpay-serial': serial ?? signer.serial,
    'wechatpay-signature': signature ?? createSign('RSA-SHA256').update(text).sign(signer.key, 'base64'),
  };
}

/** A signed response. */
export function signed(status: number, body: object | string, how: SignedHow = {}): WireAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: signedHeaders(text, how), body: Buffer.from(text) };
}

/** An unsigned response. */
export function unsigned(status: number, body: object | string = ''): WireAnswer {
  return { status, headers: {}, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
}

/** `GET /v3/certificates` with these certificates, signed by the first by default. */
export function certificatesAnswer(
  signers: readonly Signer[],
  how: SignedHow & { apiV3Key?: string } = {},
): WireAnswer {
  const data = signers.map(({ serial, pem }) => {
    const encrypted = encryptText(
      pem,
      randomBytes(6).toString('hex'),
      'certificate',
      Buffer.from(how.apiV3Key ?? API_V3_KEY),
    );
    return {
      serial_no: serial,
      effective_time: '2026-01-01T00:00:00+08:00',
      expire_time: '2031-01-01T00:00:00+08:00',
      encrypt_certificate: {
        algorithm: 'AEAD_AES_256_GCM',
        nonce: encrypted.nonce,
        associated_data: encrypted.associatedData,
        ciphertext: encrypted.ciphertext,
      },
    };
  });
  return signed(200, { data }, { signer: signers[0], ...how });
}

/** The response of the fake channel; a throw is a failing transport. */
export type Answering = (request: WireRequest) => WireAnswer | Promise<WireAnswer>;

/** A channel that records its requests and responds with `answering`; `overrides` replace its input. */
export function channelWith(
  answering: Answering,
  overrides: Partial<ChannelInput> = {},
): { channel: Channel; sent: WireRequest[] } {
  const sent: WireRequest[] = [];
  const channel = createWechatChannel({
    ...platformInput(),
    send: async (request) => {
      sent.push(request);
      return answering(request);
    },
    ...overrides,
  });
  return { channel, sent };
}

/** A configuration with a stored platform certificate. */
export function platformInput(): ChannelInput {
  return {
    mode: 'live',
    fields: { mchid: MCHID, appId: APP_ID, apiV3Key: API_V3_KEY },
    pems: {
      wechat_merchant_key: [MERCHANT_KEY_PEM],
      wechat_merchant_cert: [MERCHANT.pem],
      wechat_platform_cert: [PLATFORM.pem],
    },
    simulatorUrl: null,
    now: () => NOW,
    send: () => Promise.reject(new Error('nothing is sent here')),
  };
}

/** A configuration in public-key mode. */
export function publicKeyInput(): ChannelInput {
  const { fields, pems, ...rest } = platformInput();
  return {
    ...rest,
    fields: { ...fields, publicKeyId: PUBLIC_KEY_ID },
    pems: {
      wechat_merchant_key: pems.wechat_merchant_key ?? [],
      wechat_merchant_cert: [MERCHANT.pem],
      wechat_public_key: [PUBLIC.pem],
    },
  };
}

/** An order before it is sent. */
export function placeOrder(overrides: Partial<PlaceOrder> = {}): PlaceOrder {
  return {
    orderNo: 'ORDER00001',
    subject: 'A cup of tea',
    amount: { minor: 1234n, currency: 'CNY' },
    scene: 'qr',
    expiresAt: new Date('2026-03-04T07:00:00.900Z'),
    sentAt: NOW,
    notifyUrl: 'https://pay.example.com/notify/wechat/default',
    returnUrl: 'https://pay.example.com/return/wechat/ORDER00001',
    cancelUrl: 'https://pay.example.com/pay/ORDER00001',
    clientIp: null,
    openId: null,
    payCode: null,
    options: {},
    ...overrides,
  };
}

/** The same order after it was sent. */
export function orderRef(overrides: Partial<OrderRef> = {}): OrderRef {
  const { orderNo, amount, scene, sentAt, expiresAt } = placeOrder();
  return { orderNo, amount, scene, sentAt, expiresAt, channelOrderId: null, channelTradeNo: null, ...overrides };
}

/** A refund of 1.00 of that order. */
export function refundOrder(overrides: Partial<RefundOrder> = {}): RefundOrder {
  return {
    ...orderRef(),
    refundNo: 'REFUND0001',
    refundAmount: { minor: 100n, currency: 'CNY' },
    reason: 'The tea was cold',
    notifyUrl: 'https://pay.example.com/notify/wechat/default',
    refundSentAt: NOW,
    ...overrides,
  };
}

/** A WeChat Pay trade, paid by default. */
export function trade(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    mchid: MCHID,
    appid: APP_ID,
    out_trade_no: 'ORDER00001',
    transaction_id: '4200001234202603040000000001',
    trade_type: 'NATIVE',
    trade_state: 'SUCCESS',
    trade_state_desc: 'ok',
    success_time: '2026-03-04T13:05:00+08:00',
    payer: { openid: 'openid-1' },
    amount: { total: 1234, payer_total: 1234, currency: 'CNY', payer_currency: 'CNY' },
    ...overrides,
  };
}

/** The same trade of a partner, with the partner's members. */
export function partnerTrade(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const { mchid, appid, ...rest } = trade();
  const names = { sp_mchid: mchid, sp_appid: appid, sub_mchid: SUB_MCHID };
  return { ...rest, ...names, payer: { sp_openid: 'sp-1' }, ...overrides };
}

/** A WeChat Pay refund, processing by default. */
export function refunded(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    refund_id: '50300001234202603040000000001',
    out_refund_no: 'REFUND0001',
    transaction_id: '4200001234202603040000000001',
    out_trade_no: 'ORDER00001',
    status: 'PROCESSING',
    amount: { total: 1234, refund: 100, payer_total: 1234, payer_refund: 100, currency: 'CNY' },
    ...overrides,
  };
}
