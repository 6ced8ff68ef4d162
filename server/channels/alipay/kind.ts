/** Alipay's limits, fields, certificates and settings to register, and the certificate download. */
import type {
  Addresses,
  CertsDownloaded,
  ChannelInput,
  ChannelKind,
  Registration,
  Scene,
} from '../../payments/channel.ts';
import { PERCENT_FIELD } from '../fee-rate.ts';
import { ALIPAY_BILLS } from './bills.ts';
import { createAlipay } from './channel.ts';
import { KINDS } from './settings.ts';

const KEY_MODE = "Key mode has no certificates: copy Alipay's public key from the console of the app.";
const BY_HAND =
  'Download the first public certificate, the root certificates and the app certificate in the console of the app; this service downloads only the successor of a trusted public certificate, by its serial.';

/**
 * Downloads Alipay's new public certificate by testing the configuration. If the response to the test is signed with a
 * certificate that is not stored, that certificate is downloaded and verified. Without an app certificate there is no
 * download.
 */
async function downloadAlipayCerts(input: ChannelInput): Promise<CertsDownloaded> {
  if (!input.pems[KINDS.appCert]?.length) return { ok: true, certs: [], byHand: KEY_MODE };
  const certs: { kind: string; pem: string }[] = [];
  const channel = createAlipay({ ...input, keep: (kind, pem) => void certs.push({ kind, pem }) });
  const tested = await channel.probe();
  if (!tested.ok) return { ok: false, field: tested.field, code: tested.code, message: tested.message };
  return { ok: true, certs, byHand: BY_HAND };
}

const CONSOLE = 'Open Platform (open.alipay.com), the app, Development settings (开发设置)';

/**
 * Lists the settings that the merchant must make in Alipay's console for this service. Source: "开发设置" of an app in the
 * console. 服务器IP白名单 and 应用网关 are optional. 授权回调地址 is only for user authorisation. The scenes page, wap, app and code
 * need no registered URL, because each order contains its own URLs.
 */
function alipayRegistrations({ publicUrl, notifyUrl }: Addresses): Registration<Scene>[] {
  return [
    {
      name: 'Website of the product',
      where: 'Merchant centre (b.alipay.com), when the product is signed for (签约, 网址)',
      values: [new URL(publicUrl).origin],
      scenes: ['page', 'wap'],
      by: 'hand',
      note: 'Name the website that offers the payment; it is this one where payers use the payment page of this service.',
    },
    {
      name: 'Server IP allowlist',
      where: `${CONSOLE}, Server IP allowlist (服务器IP白名单)`,
      values: [],
      scenes: ['qr', 'page', 'wap', 'app', 'jsapi', 'mini', 'code'],
      by: 'hand',
      note: 'Optional. If the app has such a list, the address from which this service calls out must be in it.',
    },
    {
      name: 'App gateway',
      where: `${CONSOLE}, App gateway (应用网关)`,
      values: [notifyUrl],
      scenes: ['qr', 'page', 'wap', 'app', 'jsapi', 'mini', 'code'],
      by: 'hand',
      note: "Optional: without it Alipay does not report that the payer's bank rejected a refund (收单退款冲退完成通知, to be subscribed to there).",
    },
    {
      name: 'Authorisation callback address',
      where: `${CONSOLE}, Authorisation callback (授权回调地址)`,
      values: [],
      scenes: ['jsapi'],
      by: 'hand',
      note: "Only for a page of your own that gets the payer's openId from Alipay: the address of that page.",
    },
  ];
}

/**
 * Alipay allows at most 15 days from the creation of a page, wap or app payment until the payer opens it. The service
 * uses the same limit for jsapi and mini.
 */
const FIFTEEN_DAYS = 15 * 86_400;

/** How long a payer at the till may take for a payment by payer's code; Alipay recommends at least five minutes. */
const CODE_SECONDS = 300;

const ALL_MODES = ['simulator', 'sandbox', 'live'] as const;

/**
 * Alipay's open API v2 with RSA2 signatures. With an app certificate, Alipay's messages are verified with certificates
 * and not with a public key.
 */
export const alipayKind: ChannelKind = {
  payWay: 'alipay',
  name: 'Alipay',
  modes: ALL_MODES,
  scenes: {
    qr: { type: 'qr', maxSeconds: 7200, needs: [] },
    page: { type: 'redirect', maxSeconds: FIFTEEN_DAYS, needs: [] },
    wap: { type: 'redirect', maxSeconds: FIFTEEN_DAYS, needs: [] },
    app: { type: 'app', maxSeconds: FIFTEEN_DAYS, needs: [] },
    jsapi: { type: 'jsapi', maxSeconds: FIFTEEN_DAYS, needs: ['openId'] },
    mini: { type: 'jsapi', maxSeconds: FIFTEEN_DAYS, needs: ['openId'] },
    code: { type: 'code', maxSeconds: CODE_SECONDS, needs: ['payCode'] },
  },
  defaultScene: 'qr',
  currencies: ['CNY'],
  defaultCurrency: 'CNY',
  limits: {
    minExpirySeconds: 60,
    maxRefundsPerOrder: null,
    refundSpacingSeconds: 3,
    refundWindowDays: 365,
    lateNotificationDays: 365,
    refundResendDays: null,
  },
  bills: ALIPAY_BILLS,
  notificationHelp: {
    account: { en: 'app_id, seller_id', zh: 'app_id、seller_id' },
    signature: { en: 'the fields sign and sign_type of the form', zh: '表单中的 sign 和 sign_type 字段' },
    key: {
      en: 'the Alipay public key (or certificate) is that of this app in the open platform, not the own public key',
      zh: '支付宝公钥（或证书）取自开放平台中的本应用，而不是应用自己的公钥',
    },
  },
  fields: [
    {
      name: 'appId',
      label: 'App ID',
      secret: false,
      requiredIn: ALL_MODES,
      pattern: /^\d{10,32}$/,
      help: 'App id in the Alipay Open Platform (16 digits). Orders stay bound to it as their account.',
    },
    {
      name: 'sellerId',
      label: 'Seller ID (PID)',
      secret: false,
      requiredIn: [],
      pattern: /^2088\d{12}$/,
      pinned: true,
      help: 'Merchant id (2088…). If set, it is sent with every order and checked in every notification. Orders stay bound to it.',
    },
    {
      name: 'appAuthToken',
      label: 'App authorisation token',
      secret: true,
      requiredIn: [],
      pattern: /^[\w-]{1,64}$/,
      // The merchant may renew the app authorisation token. So the token identifies the account only if there is no
      // seller ID.
      pinned: { unless: 'sellerId' },
      help: 'Only for service providers (ISV) acting for another merchant. Without a seller ID orders stay bound to it.',
    },
    {
      name: 'miniAppId',
      label: 'Mini program app ID',
      secret: false,
      requiredIn: [],
      pattern: /^\d{16}$/,
      help: 'App id of the mini program that the scenes mini and jsapi pay in (op_app_id). Leave it empty if it is the app ID itself.',
    },
    {
      name: 'qrProductCode',
      label: 'Product of QR codes',
      secret: false,
      requiredIn: [],
      pattern: /^[A-Z][A-Z_]{1,63}$/,
      help: 'Product code sent with QR codes. Leave it empty for FACE_TO_FACE_PAYMENT; set QR_CODE_OFFLINE if the merchant has signed only for that. Test the configuration to find out which one is missing.',
    },
    {
      name: 'agentServiceId',
      label: 'Service ID for agents',
      secret: false,
      requiredIn: [],
      pattern: /^[\w-]{1,64}$/,
      help: 'Service id that Alipay gave for payments by its agents. If set, the 402 of a skill that is paid with Alipay carries Payment-Needed; needs the seller ID.',
    },
    {
      name: 'agentSellerName',
      label: 'Seller name for agents',
      secret: false,
      requiredIn: [],
      pattern: /^.{1,32}$/u,
      help: "Name that Alipay's agents show to the payer.",
    },
    PERCENT_FIELD,
  ],
  certKinds: [
    {
      kind: KINDS.appKey,
      label: 'App private key',
      form: 'private-key',
      verifies: false,
      help: 'Signs requests. RSA of at least 2048 bits, PEM or the bare base64 of the key tool (PKCS #8 or PKCS #1).',
    },
    {
      kind: KINDS.publicKey,
      label: "Alipay's public key",
      form: 'public-key',
      verifies: true,
      help: "Key mode: verifies responses and notifications. This is Alipay's key from the console, not the key of the app.",
    },
    {
      kind: KINDS.appCert,
      label: 'App certificate',
      form: 'certificate',
      verifies: false,
      help: 'Certificate mode: appCertPublicKey_….crt. Uploading it enables certificate mode.',
    },
    {
      kind: KINDS.publicCert,
      label: "Alipay's public certificate",
      form: 'certificate-chain',
      verifies: true,
      help: 'Certificate mode: alipayCertPublicKey_RSA2.crt, the whole file. When Alipay changes it, the new one is downloaded; several may be valid at the same time.',
    },
    {
      kind: KINDS.rootCert,
      label: "Alipay's root certificates",
      form: 'certificate-chain',
      verifies: true,
      help: 'Certificate mode: alipayRootCert.crt, the whole file.',
    },
  ],
  accountOf: ({ appId = '' }) => appId,
  missing: (mode, fields, kinds) => [
    ...alipayKind.fields.filter(({ name, requiredIn }) => requiredIn.includes(mode) && !fields[name]).map(nameOf),
    ...neededKinds(kinds).filter((kind) => !kinds.has(kind)),
  ],
  registrations: (_fields, addresses) => alipayRegistrations(addresses),
  create: createAlipay,
  downloadCerts: downloadAlipayCerts,
};

function neededKinds(kinds: ReadonlySet<string>): string[] {
  const certificateMode = [KINDS.appCert, KINDS.publicCert, KINDS.rootCert];
  return kinds.has(KINDS.appCert) ? [KINDS.appKey, ...certificateMode] : [KINDS.appKey, KINDS.publicKey];
}

function nameOf({ name }: { name: string }): string {
  return name;
}
