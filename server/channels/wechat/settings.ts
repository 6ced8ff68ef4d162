import { createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { ChannelMisconfigured, type ChannelInput, type Scene } from '../../payments/channel.ts';
import { storedKey, type VerifyKey } from '../key-ring.ts';
import { plainSerial } from './signature.ts';

/** The certificate kinds of WeChat Pay, by their use. */
export const KINDS = {
  merchantCert: 'wechat_merchant_cert',
  merchantKey: 'wechat_merchant_key',
  platformCert: 'wechat_platform_cert',
  publicKey: 'wechat_public_key',
} as const;

/** WeChat Pay has no sandbox. */
const LIVE = 'https://api.mch.weixin.qq.com';
/** The spare host of the same service ("备域名" in the document of every call; "跨城冗灾升级指引"). */
const LIVE_SPARE = 'https://api2.mch.weixin.qq.com';

type SceneAppIds = Readonly<Partial<Record<Scene, readonly string[]>>>;

/** A merchant that a partner (服务商) acts for. */
export interface SubMerchant {
  mchid: string;
  /** The default app of the sub-merchant's orders; undefined = the partner's app. */
  appId: string | undefined;
  sceneAppIds: SceneAppIds;
}

/** One configuration, with its keys imported once. */
export interface Settings {
  /** The URL before `/v3`; its path, if any, is part of the signed text. */
  base: string;
  /** The spare URL, used when `base` does not answer; the simulator has none. */
  spareBase: string | undefined;
  mchid: string;
  /** The default app. */
  appId: string;
  /** The apps of scenes that have their own, the default of the scene first. */
  sceneAppIds: SceneAppIds;
  /** The sub-merchant in partner mode; then the account and the apps above are the partner's. */
  sub: SubMerchant | undefined;
  apiV3Key: Buffer;
  /** The account that refunds are paid from; undefined = unsettled funds, WeChat's default. */
  refundFunds: string | undefined;
  merchantSerial: string;
  /** The source of the serial: the certificate kind or the field. */
  merchantSerialFrom: string;
  merchantKey: KeyObject;
  /** Ids of WeChat Pay public keys; the first is sent in every request. Empty = platform certificates only. */
  publicKeyIds: readonly string[];
  publicKeys: readonly VerifyKey[];
  /** Stored platform certificates; others are downloaded. */
  platformKeys: readonly (readonly [serial: string, key: VerifyKey])[];
  /** Serials of distrusted platform certificates; they verify nothing, even if WeChat Pay supplies them. */
  distrustedSerials: ReadonlySet<string>;
}

/** Imports a configuration; throws ChannelMisconfigured with the unusable field or certificate kind. */
export function readSettings(input: ChannelInput): Settings {
  const { mode, fields, pems, simulatorUrl } = input;
  const merchantKey = readMerchantKey(first(pems, KINDS.merchantKey));
  const platformKeys = (pems[KINDS.platformCert] ?? []).map((pem) => readPlatformCertificate(input, pem));
  return {
    base: mode === 'simulator' ? simulatorBase(simulatorUrl) : LIVE,
    spareBase: mode === 'simulator' ? undefined : LIVE_SPARE,
    mchid: required(fields, 'mchid'),
    appId: required(fields, 'appId'),
    sceneAppIds: {
      jsapi: readIds(fields.appIdJsapi),
      mini: readIds(fields.appIdMini),
      app: readIds(fields.appIdApp),
    },
    sub: readSub(fields),
    refundFunds: fields.refundFunds,
    apiV3Key: readApiV3Key(required(fields, 'apiV3Key')),
    merchantSerial: readMerchantSerial(fields.merchantSerial, pems[KINDS.merchantCert]?.[0], merchantKey),
    merchantSerialFrom: pems[KINDS.merchantCert]?.[0] ? KINDS.merchantCert : 'merchantSerial',
    merchantKey,
    ...readPublicKeys(input),
    platformKeys,
    distrustedSerials: readDistrusted(input, platformKeys),
  };
}

/**
 * Every configured app: first those of the scene, then the defaults, then the rest. In each group the sub-merchant's
 * apps come before the partner's.
 */
export function appIdsOf(settings: Pick<Settings, 'appId' | 'sceneAppIds' | 'sub'>, scene?: Scene): string[] {
  const { appId, sceneAppIds, sub } = settings;
  const ofScene = (apps: SceneAppIds | undefined) => (scene === undefined ? [] : (apps?.[scene] ?? []));
  const own = [...ofScene(sub?.sceneAppIds), ...ofScene(sceneAppIds)];
  return [...new Set([...own, ...(sub?.appId ? [sub.appId] : []), appId, ...subAppIdsOf(sub), ...all(sceneAppIds)])];
}

/** The apps of the sub-merchant; their openids are `sub_openid`. */
export function subAppIdsOf(sub: SubMerchant | undefined): string[] {
  return sub ? [...(sub.appId ? [sub.appId] : []), ...all(sub.sceneAppIds)] : [];
}

function all(apps: SceneAppIds): string[] {
  return Object.values(apps).flat();
}

function readSub(fields: ChannelInput['fields']): SubMerchant | undefined {
  const { subMchId: mchid, subAppId, subAppIdJsapi, subAppIdMini, subAppIdApp } = fields;
  if (!mchid) {
    if (subAppId || subAppIdJsapi || subAppIdMini || subAppIdApp)
      throw new ChannelMisconfigured('subMchId', 'subMchId is missing, but apps of a sub-merchant are configured.');
    return undefined;
  }
  if (mchid === fields.mchid)
    throw new ChannelMisconfigured('subMchId', 'subMchId must differ from mchid, which is the partner.');
  const sceneAppIds = { jsapi: readIds(subAppIdJsapi), mini: readIds(subAppIdMini), app: readIds(subAppIdApp) };
  return { mchid, appId: subAppId, sceneAppIds };
}

/** The comma-separated ids in a field: several keys during a rotation, or several apps of a scene. */
export function readIds(field: string | undefined): string[] {
  return (field ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

function simulatorBase(url: string | null): string {
  if (!url) throw new ChannelMisconfigured('mode', 'No simulator is configured.');
  return `${url.replace(/\/+$/, '')}/wechat`;
}

function required(fields: ChannelInput['fields'], name: string): string {
  const value = fields[name];
  if (!value) throw new ChannelMisconfigured(name, `${name} is missing.`);
  return value;
}

function readApiV3Key(text: string): Buffer {
  const key = Buffer.from(text);
  if (key.length !== 32) throw new ChannelMisconfigured('apiV3Key', 'The APIv3 key must have exactly 32 bytes.');
  return key;
}

function readMerchantKey(pem: string): KeyObject {
  return requireRsa(
    KINDS.merchantKey,
    attempt(KINDS.merchantKey, 'is not a private key', () => createPrivateKey(pem)),
  );
}

/**
 * The serial of the certificate or, without a certificate, of the field. If both are given, they must match. The
 * certificate must also match the key.
 */
function readMerchantSerial(field: string | undefined, pem: string | undefined, key: KeyObject): string {
  if (!pem) return required({ merchantSerial: field ?? '' }, 'merchantSerial');
  const certificate = readCertificate(KINDS.merchantCert, pem);
  if (!certificate.checkPrivateKey(key)) {
    throw new ChannelMisconfigured(KINDS.merchantKey, 'The merchant certificate and the merchant key do not match.');
  }
  const serial = plainSerial(certificate.serialNumber);
  if (field && plainSerial(field) !== serial) {
    throw new ChannelMisconfigured(
      'merchantSerial',
      `merchantSerial does not match: the merchant certificate has the serial ${serial}.`,
    );
  }
  // The serial is sent as in the certificate, with leading zeros; only the comparison drops them.
  return certificate.serialNumber;
}

function readPublicKeys(input: ChannelInput): Pick<Settings, 'publicKeyIds' | 'publicKeys'> {
  const publicKeyIds = readIds(input.fields.publicKeyId);
  const pems = input.pems[KINDS.publicKey] ?? [];
  if (publicKeyIds.length > 0 && pems.length === 0)
    throw new ChannelMisconfigured(KINDS.publicKey, `${KINDS.publicKey} is missing.`);
  return { publicKeyIds, publicKeys: pems.map((pem) => storedKey(input, pem, readPublicKey(pem))) };
}

function readPublicKey(pem: string): KeyObject {
  const kind = KINDS.publicKey;
  if (pem.includes('PRIVATE KEY')) throw new ChannelMisconfigured(kind, 'This is a private key.');
  if (pem.includes('CERTIFICATE')) throw new ChannelMisconfigured(kind, 'This is a certificate, not a public key.');
  return requireRsa(
    kind,
    attempt(kind, 'is not a public key', () => createPublicKey(pem)),
  );
}

function readPlatformCertificate(input: ChannelInput, pem: string): readonly [string, VerifyKey] {
  const certificate = readCertificate(KINDS.platformCert, pem);
  const key = requireRsa(KINDS.platformCert, certificate.publicKey);
  return [certificate.serialNumber, storedKey(input, pem, key)];
}

/** A currently trusted certificate is not distrusted, even if an earlier upload of it was. */
function readDistrusted({ distrusted }: ChannelInput, trusted: Settings['platformKeys']): Set<string> {
  const pems = distrusted?.[KINDS.platformCert] ?? [];
  const serials = pems.map((pem) => plainSerial(readCertificate(KINDS.platformCert, pem).serialNumber));
  const good = new Set(trusted.map(([serial]) => plainSerial(serial)));
  return new Set(serials.filter((serial) => !good.has(serial)));
}

function readCertificate(kind: string, pem: string): X509Certificate {
  return attempt(kind, 'is not a certificate in PEM form', () => new X509Certificate(pem));
}

function requireRsa(kind: string, key: KeyObject): KeyObject {
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) {
    throw new ChannelMisconfigured(kind, `${kind} must be an RSA key of at least 2048 bits.`);
  }
  return key;
}

function first(pems: ChannelInput['pems'], kind: string): string {
  const text = pems[kind]?.[0];
  if (!text) throw new ChannelMisconfigured(kind, `${kind} is missing.`);
  return text;
}

/** Drops the parser's error, because its message may quote the key. */
function attempt<T>(kind: string, wrong: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new ChannelMisconfigured(kind, `${kind} ${wrong}.`);
  }
}
