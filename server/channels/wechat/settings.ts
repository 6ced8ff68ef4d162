import { createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { ChannelMisconfigured, type ChannelInput, type Scene } from '../../payments/channel.ts';
import { storedKey, type VerifyKey } from '../key-ring.ts';
import { plainSerial } from './signature.ts';

export const KINDS = {
  merchantCert: 'wechat_merchant_cert',
  merchantKey: 'wechat_merchant_key',
  platformCert: 'wechat_platform_cert',
  publicKey: 'wechat_public_key',
} as const;

/** The live host. WeChat Pay has no sandbox. */
const LIVE = 'https://api.mch.weixin.qq.com';
/** The spare host of WeChat Pay ("备域名" in the document of every call; "跨城冗灾升级指引"). */
const LIVE_SPARE = 'https://api2.mch.weixin.qq.com';

type SceneAppIds = Readonly<Partial<Record<Scene, readonly string[]>>>;

/** A sub-merchant that a partner (服务商) acts for. */
export interface SubMerchant {
  mchid: string;
  /** The default app id of the sub-merchant's orders; undefined if these orders use the partner's app id. */
  appId: string | undefined;
  sceneAppIds: SceneAppIds;
}

export interface Settings {
  /** The base URL before `/v3`. If it has a path, the path is part of the signed text. */
  base: string;
  /** The base URL of the spare host, used when `base` does not respond. Undefined for the simulator. */
  spareBase: string | undefined;
  mchid: string;
  appId: string;
  /**
   * App ids by scene, for scenes that do not use `appId`. If an order names no app id, the first one of its scene is
   * used.
   */
  sceneAppIds: SceneAppIds;
  /** The sub-merchant in partner mode. Then `mchid`, `appId` and `sceneAppIds` are those of the partner. */
  sub: SubMerchant | undefined;
  apiV3Key: Buffer;
  /** The account that refunds are paid from; undefined = unsettled funds (WeChat Pay's default). */
  refundFunds: string | undefined;
  merchantSerial: string;
  merchantSerialFrom: string;
  merchantKey: KeyObject;
  /** The first public key id is sent in every request. Empty if only platform certificates are used. */
  publicKeyIds: readonly string[];
  publicKeys: readonly VerifyKey[];
  /** The platform certificates that are stored in the configuration. Others are downloaded when they are needed. */
  platformKeys: readonly (readonly [serial: string, key: VerifyKey])[];
  /** The serials of distrusted platform certificates. They verify no message, even if WeChat Pay returns them. */
  distrustedSerials: ReadonlySet<string>;
}

/** Reads the settings. Throws ChannelMisconfigured, which names the unusable field or certificate kind. */
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
 * Returns every configured app id: first those of the given scene, then the app ids that are not limited to one scene
 * (`appId`), then those of other scenes. In each of these three groups the sub-merchant's app ids come before the
 * partner's.
 */
export function appIdsOf(settings: Pick<Settings, 'appId' | 'sceneAppIds' | 'sub'>, scene?: Scene): string[] {
  const { appId, sceneAppIds, sub } = settings;
  const ofScene = (apps: SceneAppIds | undefined) => (scene === undefined ? [] : (apps?.[scene] ?? []));
  const own = [...ofScene(sub?.sceneAppIds), ...ofScene(sceneAppIds)];
  return [...new Set([...own, ...(sub?.appId ? [sub.appId] : []), appId, ...subAppIdsOf(sub), ...all(sceneAppIds)])];
}

/** Returns the app ids of the sub-merchant. Openids of these apps are sent as `sub_openid`. */
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
      throw new ChannelMisconfigured('subMchId', 'subMchId is missing, but app ids of a sub-merchant are set.');
    return undefined;
  }
  if (mchid === fields.mchid)
    throw new ChannelMisconfigured('subMchId', 'subMchId must differ from mchid, the merchant id of the partner.');
  const sceneAppIds = { jsapi: readIds(subAppIdJsapi), mini: readIds(subAppIdMini), app: readIds(subAppIdApp) };
  return { mchid, appId: subAppId, sceneAppIds };
}

/** Reads comma-separated ids: several public key ids while a key is changed, or several app ids of a scene. */
export function readIds(field: string | undefined): string[] {
  return (field ?? '')
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');
}

function simulatorBase(url: string | null): string {
  if (!url) throw new ChannelMisconfigured('mode', 'The mode is simulator, but no simulator is configured.');
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

/** The configured serial and the merchant key must match the merchant certificate, if one is given. */
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
  // The serial is sent as the certificate has it, with leading zeros; only the comparison above ignores them.
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
  if (pem.includes('PRIVATE KEY')) throw new ChannelMisconfigured(kind, 'This is a private key; upload a public key.');
  if (pem.includes('CERTIFICATE')) throw new ChannelMisconfigured(kind, 'This is a certificate; upload a public key.');
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

/** The result does not contain certificates that are trusted now, even if an earlier upload of them was distrusted. */
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

/** Runs a parser and replaces its error with a fixed text, because the parser's message may quote the key. */
function attempt<T>(kind: string, wrong: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new ChannelMisconfigured(kind, `${kind} ${wrong}.`);
  }
}
