/**
 * Describes the channel WeChat Pay: its limits, configuration fields, certificates, and the settings that the merchant
 * must make at WeChat Pay. Also downloads certificates.
 */
import {
  type Addresses,
  type CertKindSpec,
  type CertsDownloaded,
  type ChannelInput,
  type ChannelKind,
  type FieldSpec,
  type Mode,
  type Registration,
  type Scene,
  TransportFailed,
} from '../../payments/channel.ts';
import { PERCENT_FIELD } from '../fee-rate.ts';
import { AnswerNotDecrypted, readCertificatePems } from './answers.ts';
import { WECHAT_BILLS } from './bills.ts';
import { createWechatChannel, registerWechatNotifications } from './channel.ts';
import { createSender } from './reply.ts';
import { certificatesRequest } from './requests.ts';
import { KINDS, readIds, readSettings } from './settings.ts';

const PUBLIC_KEYS_ONLY =
  'This merchant has no platform certificates and uses WeChat Pay public keys. Download pub_key.pem and copy its ID in the merchant platform (Account center, API security).';
const OWN_CERTIFICATE =
  'The API does not supply the merchant certificate: renew it in the merchant platform (Account center, API security) before it expires.';

/**
 * Downloads WeChat Pay's platform certificates and decrypts them with the APIv3 key. The response must be signed with
 * one of these certificates or with a configured WeChat Pay public key.
 */
async function downloadWechatCerts(input: ChannelInput): Promise<CertsDownloaded> {
  const settings = readSettings(input);
  const send = createSender(settings, input.send, input.now);
  try {
    const answer = await send(certificatesRequest());
    if (answer.status === 404) return { ok: true, certs: [], byHand: PUBLIC_KEYS_ONLY };
    const pems = readCertificatePems(answer, settings, input.now());
    return { ok: true, certs: pems.map((pem) => ({ kind: KINDS.platformCert, pem })), byHand: OWN_CERTIFICATE };
  } catch (error) {
    const message = error instanceof Error ? error.message : 'The download failed.';
    if (error instanceof AnswerNotDecrypted) return { ok: false, field: 'apiV3Key', code: 'SEAL_NOT_OPENED', message };
    const code = error instanceof TransportFailed ? error.why : 'not_genuine';
    return { ok: false, field: null, code, message };
  }
}

const PLATFORM = 'Merchant platform (pay.weixin.qq.com), Product center';

/**
 * Lists the settings that the merchant must make at WeChat Pay for this service. Sources: "H5支付" and "JSAPI支付", 开发配置
 * (H5 支付域名, JSAPI 支付授权目录), and "商户号绑定APPID" (pay.weixin.qq.com/doc/v3/merchant). The ways to pay qr, app and code need
 * no registered URL, because each order contains its notification URL.
 */
function wechatRegistrations(
  fields: Readonly<Record<string, string>>,
  { publicUrl }: Pick<Addresses, 'publicUrl'>,
): Registration<Scene>[] {
  const { hostname } = new URL(publicUrl);
  const apps = ['appId', 'appIdJsapi', 'appIdMini', 'appIdApp'].flatMap((name) => readIds(fields[name]));
  return [
    {
      name: 'App IDs linked to the merchant number',
      where: `${PLATFORM}, App ID accounts (AppID账号管理); confirm it at the app, too`,
      values: [...new Set(apps)],
      scenes: ['qr', 'h5', 'jsapi', 'mini', 'app', 'code'],
      by: 'hand',
      note: null,
    },
    {
      name: 'H5 payment domain',
      where: `${PLATFORM}, Development configuration (开发配置), H5 payment (H5支付)`,
      values: [hostname],
      scenes: ['h5'],
      by: 'hand',
      note: 'Payers are led to WeChat Pay, and come back, through this domain. Register the domain of every page of your own that opens the h5 address itself.',
    },
    {
      name: 'JSAPI payment directory',
      where: `${PLATFORM}, Development configuration (开发配置), JSAPI payment (JSAPI支付授权目录)`,
      values: [],
      scenes: ['jsapi'],
      by: 'hand',
      note: 'The directory of your own page that starts the payment, with its last slash: no page of this service does. Mini programs need none.',
    },
  ];
}

const MODES = ['simulator', 'live'] as const satisfies readonly Mode[];

/**
 * The longest time (seconds) in which an order can be paid. code_url and prepay_id expire after two hours. An h5_url
 * expires after five minutes, but the service renews it until the order expires.
 */
const TWO_HOURS = 2 * 3600;
/**
 * The time limit (seconds) of a payment by payer's code. The payer at the till needs about half a minute for the
 * password. WeChat Pay recommends to query for 45 s and then to reverse ("付款码支付"); this service waits longer.
 */
const AT_THE_TILL = 120;

/** One app id, or up to ten app ids separated by commas. */
const SEVERAL_APPS = /^[A-Za-z0-9_-]{6,32}(?:,\s*[A-Za-z0-9_-]{6,32}){0,9}$/;

const FIELDS: readonly FieldSpec[] = [
  {
    name: 'mchid',
    label: 'Merchant number',
    secret: false,
    requiredIn: MODES,
    pattern: /^\d{8,12}$/,
    help: 'Merchant number (mchid); of a partner (service provider) its own. Orders stay bound to it. For the scene h5 the domain of Server.PublicUrl must be registered in the merchant platform as an H5 payment domain (Product center, Development configuration), and so must the domain of any other page that leads payers to the h5 address: WeChat Pay refuses payers who come from elsewhere, or are to return elsewhere.',
  },
  {
    name: 'appId',
    label: 'App ID',
    secret: false,
    requiredIn: MODES,
    pattern: /^[A-Za-z0-9_-]{6,32}$/,
    pinned: 'app',
    help: 'The appid of the official account, mini program or app that is linked to the merchant number. Orders stay bound to it.',
  },
  {
    name: 'appIdJsapi',
    label: 'App IDs of the scene jsapi',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'The official accounts whose pages pay (jsapi), comma-separated, if not the App ID; the first is used unless a request names another with appId. The openid of a payer belongs to one of them.',
  },
  {
    name: 'appIdMini',
    label: 'App IDs of the scene mini',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'The mini programs that pay (mini), comma-separated, if not the App ID; the first is used unless a request names another with appId. The openid of a payer belongs to one of them.',
  },
  {
    name: 'appIdApp',
    label: 'App IDs of the scene app',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'The mobile apps that pay (app), comma-separated, if not the App ID; the first is used unless a request names another with appId.',
  },
  {
    name: 'subMchId',
    label: 'Sub-merchant number',
    secret: false,
    requiredIn: [],
    pattern: /^\d{8,12}$/,
    pinned: true,
    help: 'Only for partners (service providers): the number of the merchant that you take money for (sub_mchid). Merchant number, App ID, keys and certificates are the partner’s then. Orders stay bound to it. Leave it empty if the merchant number takes money itself.',
  },
  {
    name: 'subAppId',
    label: 'App ID of the sub-merchant',
    secret: false,
    requiredIn: [],
    pattern: /^[A-Za-z0-9_-]{6,32}$/,
    pinned: 'app',
    help: 'Only for partners: the appid that is linked to the sub-merchant (sub_appid), if payers pay in its app and not in yours. Then the openid of a payer is one of this app.',
  },
  {
    name: 'subAppIdJsapi',
    label: 'App IDs of the sub-merchant in the scene jsapi',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'Only for partners: the official accounts of the sub-merchant (jsapi), comma-separated; the first is used unless a request names another with appId, which may also be one of yours.',
  },
  {
    name: 'subAppIdMini',
    label: 'App IDs of the sub-merchant in the scene mini',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'Only for partners: the mini programs of the sub-merchant (mini), comma-separated; the first is used unless a request names another with appId, which may also be one of yours.',
  },
  {
    name: 'subAppIdApp',
    label: 'App IDs of the sub-merchant in the scene app',
    secret: false,
    requiredIn: [],
    pattern: SEVERAL_APPS,
    pinned: 'app',
    help: 'Only for partners: the mobile apps of the sub-merchant (app), comma-separated; the first is used unless a request names another with appId, which may also be one of yours.',
  },
  {
    name: 'apiV3Key',
    label: 'APIv3 key',
    secret: true,
    requiredIn: MODES,
    pattern: /^[\x21-\x7e]{32}$/,
    help: 'The 32 characters set under "API security". Decrypts notifications and platform certificates.',
  },
  {
    name: 'merchantSerial',
    label: 'Serial of the merchant certificate',
    secret: false,
    requiredIn: [],
    ofAccount: true,
    pattern: /^[0-9A-Fa-f]{1,40}$/,
    help: 'Only required if the merchant certificate is not uploaded.',
  },
  {
    name: 'refundFunds',
    label: 'Account that refunds are paid from',
    secret: false,
    requiredIn: [],
    pattern: /^AVAILABLE$/,
    help: 'AVAILABLE if refunds are to be paid from the available balance instead of unsettled funds (funds_account; only for merchants with the older flow of funds).',
  },
  {
    name: 'publicKeyId',
    label: 'WeChat Pay public key ID',
    secret: false,
    requiredIn: [],
    ofAccount: true,
    pattern: /^PUB_KEY_ID_[0-9A-Za-z]{1,64}(?:,\s*PUB_KEY_ID_[0-9A-Za-z]{1,64}){0,3}$/,
    help: 'PUB_KEY_ID_… of the uploaded WeChat Pay public key; during a rotation several, comma-separated, the newest first. If empty, platform certificates are used and fetched automatically.',
  },
  PERCENT_FIELD,
];

/** Fields that are allowed only if a sub-merchant is configured. */
const SUB_APPS = ['subAppId', 'subAppIdJsapi', 'subAppIdMini', 'subAppIdApp'];

const CERT_KINDS: readonly CertKindSpec[] = [
  {
    kind: KINDS.merchantKey,
    label: 'Merchant private key',
    form: 'private-key',
    verifies: false,
    help: 'apiclient_key.pem. Signs every request.',
  },
  {
    kind: KINDS.merchantCert,
    label: 'Merchant certificate',
    form: 'certificate',
    verifies: false,
    help: 'apiclient_cert.pem. Provides the serial number of the merchant key.',
  },
  {
    kind: KINDS.publicKey,
    label: 'WeChat Pay public key',
    form: 'public-key',
    verifies: true,
    help: 'pub_key.pem. Verifies responses and notifications in public-key mode.',
  },
  {
    kind: KINDS.platformCert,
    label: 'Platform certificate',
    form: 'certificate',
    verifies: true,
    help: 'Optional: platform certificates are fetched automatically.',
  },
];

export const wechatKind: ChannelKind = {
  payWay: 'wechat',
  name: 'WeChat Pay',
  modes: MODES,
  scenes: {
    qr: { type: 'qr', maxSeconds: TWO_HOURS, needs: [] },
    h5: { type: 'redirect', maxSeconds: TWO_HOURS, needs: ['clientIp'] },
    jsapi: { type: 'jsapi', maxSeconds: TWO_HOURS, needs: ['openId'] },
    mini: { type: 'jsapi', maxSeconds: TWO_HOURS, needs: ['openId'] },
    code: { type: 'code', maxSeconds: AT_THE_TILL, needs: ['payCode', 'clientIp'] },
    app: { type: 'app', maxSeconds: TWO_HOURS, needs: [] },
  },
  defaultScene: 'qr',
  currencies: ['CNY'],
  defaultCurrency: 'CNY',
  limits: {
    // WeChat Pay requires at least 60 seconds. The other 30 are for the duration of the call and for a clock that is
    // slightly wrong.
    minExpirySeconds: 90,
    maxRefundsPerOrder: 50,
    refundSpacingSeconds: 60,
    refundWindowDays: 365,
    lateNotificationDays: 365,
    refundResendDays: null,
  },
  bills: WECHAT_BILLS,
  notificationHelp: {
    account: { en: 'mchid, appid', zh: 'mchid、appid' },
    signature: {
      en: 'the headers Wechatpay-Timestamp, Wechatpay-Nonce, Wechatpay-Serial and Wechatpay-Signature',
      zh: '请求头 Wechatpay-Timestamp、Wechatpay-Nonce、Wechatpay-Serial 和 Wechatpay-Signature',
    },
    key: {
      en: 'the WeChat Pay public key or platform certificate is the one that the merchant platform shows',
      zh: '微信支付公钥或平台证书与商户平台上显示的一致',
    },
    changes: {
      misconfigured: {
        en: 'Set the APIv3 key of the merchant platform in the channel configuration: the signature is genuine, and the configured key does not decrypt.',
        zh: '签名真实，但所配置的密钥无法解密：请在渠道配置中填写商户平台的 APIv3 密钥。',
      },
      serial_unknown: {
        en: 'Download the platform certificate (payctl cert download wechat), or upload the WeChat Pay public key whose id the notification names.',
        zh: '请下载平台证书（payctl cert download wechat），或上传通知中所标识的微信支付公钥。',
      },
    },
  },
  fields: FIELDS,
  certKinds: CERT_KINDS,
  accountOf: (fields) => fields.mchid ?? '',
  missing(mode, fields, kinds) {
    const absent = FIELDS.filter(({ name, requiredIn }) => requiredIn.includes(mode) && !fields[name]).map(
      ({ name }) => name,
    );
    if (!fields.subMchId && SUB_APPS.some((name) => fields[name])) absent.push('subMchId');
    if (!kinds.has(KINDS.merchantKey)) absent.push(KINDS.merchantKey);
    // The field merchantSerial also suffices in place of the certificate. But the certificate is named as missing,
    // because it is easier to provide.
    if (!kinds.has(KINDS.merchantCert) && !fields.merchantSerial) absent.push(KINDS.merchantCert);
    const hasIds = readIds(fields.publicKeyId).length > 0;
    if (hasIds && !kinds.has(KINDS.publicKey)) absent.push(KINDS.publicKey);
    if (!hasIds && kinds.has(KINDS.publicKey)) absent.push('publicKeyId');
    return absent;
  },
  registrations: (fields, addresses) => wechatRegistrations(fields, addresses),
  create: createWechatChannel,
  registerNotifications: registerWechatNotifications,
  downloadCerts: downloadWechatCerts,
};
