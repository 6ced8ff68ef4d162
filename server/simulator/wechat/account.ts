/** Creates WeChat Pay merchants and partners. Replaces their ids, apps, sub-merchants and keys. */
import { type KeyObject, X509Certificate, createPrivateKey, randomBytes } from 'node:crypto';
import { WECHAT_BILL_RULES } from './bill-rules.ts';
import { plainSerial } from '../../channels/wechat/signature.ts';
import type { Account } from '../accounts.ts';
import { type Credential, newRsaKeys, pkcs8, spki } from '../certificates.ts';
import type { Core, SimulatedChannelConfig } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { randomDigits } from '../trades.ts';

/** A merchant that a partner acts for. */
interface SubMerchant {
  mchid: string;
  /** True for a small merchant (小微商户). WeChat Pay has no separate bill for a small merchant. */
  isSmall?: true;
  /** The ids of the apps that are linked to the sub-merchant, including earlier apps. */
  appIds: readonly string[];
  /** The sub-merchant's app ids. The keys are field names of the channel configuration, such as `subAppId`. */
  fields: Readonly<Record<string, string>>;
}

/**
 * Links a new app to the newest sub-merchant, which the channel configuration uses. `field` is the field of the channel
 * configuration that gets the new app id. Earlier apps stay linked.
 */
function linkSubApp(subMerchants: readonly SubMerchant[], field: string, appId: string): SubMerchant[] {
  const [newest, ...others] = subMerchants;
  if (!newest) throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner and has no sub-merchant.');
  return [{ ...newest, appIds: [...newest.appIds, appId], fields: { ...newest.fields, [field]: appId } }, ...others];
}

/** Adds a sub-merchant at the start of the list. The channel configuration uses the first sub-merchant of the list. */
function addSubMerchant(subMerchants: readonly SubMerchant[], mchid: string): SubMerchant[] {
  if (subMerchants.length === 0)
    throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner and has no sub-merchant.');
  return [{ mchid, appIds: [], fields: {} }, ...subMerchants];
}

/**
 * How a merchant verifies WeChat Pay's signatures: with platform certificates, with public keys, or with both while it
 * changes from certificates to public keys.
 */
const VERIFY_MODES = ['both', 'certificate', 'public-key'] as const;
type VerifyMode = (typeof VERIFY_MODES)[number];

/** A key with which WeChat Pay signs; `publicPem` is a certificate or a bare public key. */
export interface SigningKey {
  serial: string;
  privateKey: string;
  publicPem: string;
}

/** The lists of keys and sub-merchants begin with the newest entry. The earlier entries stay valid. */
export interface Merchant {
  mchid: string;
  /** The id of the app that the channel configuration uses. */
  appId: string;
  appIds: readonly string[];
  /**
   * App ids that the merchant uses for only one type of payment. Each key is a field name of the channel configuration,
   * such as `appIdJsapi`. The newest app id is the first in its list.
   */
  sceneAppIds: Readonly<Record<string, readonly string[]>>;
  apiV3Key: string;
  verifyMode: VerifyMode;
  /** The channel configuration uses the first sub-merchant. Empty for a merchant that is not a partner. */
  subMerchants: readonly SubMerchant[];
  /** Registered H5 payment domains, including their subdomains. */
  h5Domains: readonly string[];
  /** The registered URL for complaint notifications; empty = no URL is registered. */
  complaintUrl?: string;
  /** The merchant's developer account at SkillHub (skills for WeChat's agents), as JSON; empty = none. */
  skillhub?: string;
  /** Payment products that the merchant may use, named by the last part of the create call's path, e.g. `native`. */
  products: readonly string[];
  merchantKeys: Credential[];
  platformKeys: SigningKey[];
  publicKeys: SigningKey[];
}

/** The fields of a merchant that `secrets` stores as JSON text. */
const LISTS = [
  'appIds',
  'sceneAppIds',
  'subMerchants',
  'h5Domains',
  'products',
  'merchantKeys',
  'platformKeys',
  'publicKeys',
] as const;

const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]'];

const PRODUCTS = ['native', 'jsapi', 'h5', 'app', 'codepay'];

/**
 * The keys and settings that `/sim/rotate` can replace for a WeChat Pay merchant: each name with the function that
 * replaces it.
 */
const ROTATIONS: Readonly<Record<string, (core: Core, merchant: Merchant, to: string) => Promise<void>>> = {
  'platform-certificate': async (core, merchant) => void merchant.platformKeys.unshift(await newPlatformKey(core)),
  'public-key': async (_core, merchant) => void merchant.publicKeys.unshift(await newPublicKey(merchant.mchid)),
  'merchant-certificate': async (core, { mchid, merchantKeys }) =>
    void merchantKeys.unshift(await core.authority.issue(mchid)),
  'api-v3-key': async (_core, merchant) => void (merchant.apiV3Key = newApiV3Key()),
  'app-id': async (_core, merchant) => {
    merchant.appId = newAppId();
    merchant.appIds = [merchant.appId, ...merchant.appIds];
  },
  'app-id-jsapi': async (_core, merchant) => linkApp(merchant, 'appIdJsapi'),
  'app-id-mini': async (_core, merchant) => linkApp(merchant, 'appIdMini'),
  'app-id-app': async (_core, merchant) => linkApp(merchant, 'appIdApp'),
  'sub-merchant': async (core, merchant) =>
    void (merchant.subMerchants = addSubMerchant(merchant.subMerchants, newMchid(core))),
  'sub-app-id': async (_core, merchant) => handOverSubApp(merchant, 'subAppId'),
  'sub-app-id-jsapi': async (_core, merchant) => handOverSubApp(merchant, 'subAppIdJsapi'),
  'sub-app-id-mini': async (_core, merchant) => handOverSubApp(merchant, 'subAppIdMini'),
  'sub-app-id-app': async (_core, merchant) => handOverSubApp(merchant, 'subAppIdApp'),
  products: async (_core, merchant, to) => void (merchant.products = to.split(',').filter(Boolean)),
  'h5-domains': async (_core, merchant, to) => void (merchant.h5Domains = to.split(',').filter(Boolean)),
};
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['wechat_platform_cert', 'platform-certificate'],
  ['wechat_public_key', 'public-key'],
  ['wechat_merchant_cert', 'merchant-certificate'],
  ['wechat_merchant_key', 'merchant-certificate'],
  ['apiV3Key', 'api-v3-key'],
]);

/**
 * Creates a merchant. The option `mode` is one of VERIFY_MODES. `products` lists the products that the merchant may
 * use. `partner` creates a partner with one sub-merchant. `subApp` gives the sub-merchant an app. `small` makes the
 * sub-merchant a small merchant (小微商户).
 */
export async function newMerchant(
  core: Core,
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string>> {
  const { mode = 'both', partner = false, subApp = false, small = false, products } = options;
  const verifyMode = VERIFY_MODES.find((candidate) => candidate === mode);
  if (!verifyMode)
    throw new SimulatorRefusal(400, 'unknown_mode', `The field mode must be one of ${VERIFY_MODES.join(', ')}.`);
  const mchid = newMchid(core);
  const [merchantKey, platformKey, publicKey] = await Promise.all([
    core.authority.issue(mchid),
    newPlatformKey(core),
    newPublicKey(mchid),
  ]);
  const appId = newAppId();
  const alone = { mchid: newMchid(core), ...(small === true && { isSmall: true as const }), appIds: [], fields: {} };
  const subMerchants = subApp === true ? linkSubApp([alone], 'subAppId', newAppId()) : [alone];
  return writeMerchant({
    mchid,
    appId,
    appIds: [appId],
    sceneAppIds: {},
    apiV3Key: newApiV3Key(),
    verifyMode,
    subMerchants: partner === true ? subMerchants : [],
    h5Domains: THIS_MACHINE,
    products: Array.isArray(products) ? products : PRODUCTS,
    merchantKeys: [merchantKey],
    platformKeys: [platformKey],
    publicKeys: [publicKey],
  });
}

const known = new WeakMap<Account['secrets'], Merchant>();

/** Parses the merchant in an account's secrets and caches the result. Callers must not change the result. */
export function readMerchant({ secrets }: Account): Merchant {
  const merchant = known.get(secrets) ?? parseMerchant(secrets);
  known.set(secrets, merchant);
  return merchant;
}

function parseMerchant(secrets: Account['secrets']): Merchant {
  const lists = Object.fromEntries(LISTS.map((name) => [name, JSON.parse(secrets[name] ?? '[]') as unknown]));
  const merchant = { ...secrets, ...lists } as unknown as Merchant;
  const appIds = merchant.appIds.length > 0 ? merchant.appIds : [merchant.appId];
  const h5Domains = secrets['h5Domains'] === undefined ? THIS_MACHINE : merchant.h5Domains;
  const products = secrets['products'] === undefined ? PRODUCTS : merchant.products;
  return { ...merchant, appIds, h5Domains, products };
}

/**
 * Replaces a key, certificate or setting of a merchant. An earlier signing key or certificate stays valid; at WeChat
 * Pay, only for one day. An earlier APIv3 key is invalid immediately.
 */
export async function rotateMerchant(core: Core, account: Account, what: string, to = ''): Promise<void> {
  const name = OTHER_NAMES.get(what) ?? what;
  const rotate = Object.hasOwn(ROTATIONS, name) ? ROTATIONS[name] : undefined;
  if (!rotate)
    throw new SimulatorRefusal(
      400,
      'unknown_rotation',
      `For WeChat Pay, the field "what" must be one of ${Object.keys(ROTATIONS).join(', ')}.`,
    );
  const merchant = parseMerchant(account.secrets);
  await rotate(core, merchant, to);
  account.secrets = writeMerchant(merchant);
}

/** Returns the channel configuration that the payment service needs to work with this merchant. */
export function configOfMerchant(merchant: Merchant): SimulatedChannelConfig {
  const { mchid, appId, sceneAppIds, apiV3Key, verifyMode, subMerchants, ...keys } = merchant;
  const [sub] = subMerchants;
  const usesPublicKeys = verifyMode !== 'certificate';
  const usesCertificates = verifyMode !== 'public-key';
  const publicPems = (list: readonly SigningKey[]) => list.map(({ publicPem }) => publicPem);
  return {
    fields: {
      mchid,
      appId,
      ...Object.fromEntries(Object.entries(sceneAppIds).map(([field, [newest = '']]) => [field, newest])),
      apiV3Key,
      feeRate: WECHAT_BILL_RULES.feeRate,
      ...(sub && { subMchId: sub.mchid, ...sub.fields }),
      ...(usesPublicKeys ? { publicKeyId: keys.publicKeys.map(({ serial }) => serial).join(',') } : {}),
    },
    pems: {
      wechat_merchant_cert: keys.merchantKeys.slice(0, 1).map(({ certificate }) => certificate),
      wechat_merchant_key: keys.merchantKeys.slice(0, 1).map(({ privateKey }) => privateKey),
      ...(usesPublicKeys ? { wechat_public_key: publicPems(keys.publicKeys) } : {}),
      ...(usesCertificates ? { wechat_platform_cert: publicPems(keys.platformKeys) } : {}),
    },
  };
}

/** Returns the account with this mchid. */
export function findAccount(core: Core, mchid: string): Account | undefined {
  return core.accounts.of('wechat').find(({ secrets }) => secrets.mchid === mchid);
}

/** Returns the public key of the merchant certificate with this serial number. */
export function merchantKeyOf({ merchantKeys }: Merchant, serial: string): KeyObject | undefined {
  const certificates = merchantKeys.map(({ certificate }) => new X509Certificate(certificate));
  return certificates.find(({ serialNumber }) => plainSerial(serialNumber) === plainSerial(serial))?.publicKey;
}

/**
 * Returns the key with which WeChat Pay signs a message. This is the public key with the requested id. If there is no
 * such key, it is the newest key of the type that the merchant verifies with. In the mode `both` this is the key of a
 * platform certificate, as at WeChat Pay while a merchant changes from certificates to public keys.
 */
export function signingKeyOf({ verifyMode, platformKeys, publicKeys }: Merchant, requested = ''): SigningKey {
  const named = publicKeys.find(({ serial }) => plainSerial(serial) === plainSerial(requested));
  if (named && verifyMode !== 'certificate') return named;
  const newest = (verifyMode === 'public-key' ? publicKeys : platformKeys)[0];
  if (!newest) throw new Error('The merchant has no signing key.');
  return newest;
}

function writeMerchant(merchant: Merchant): Record<string, string> {
  const lists = Object.fromEntries(LISTS.map((name) => [name, JSON.stringify(merchant[name])]));
  const { mchid, appId, apiV3Key, verifyMode, complaintUrl = '', skillhub = '' } = merchant;
  return { mchid, appId, apiV3Key, verifyMode, complaintUrl, skillhub, ...lists };
}

/** Adds a new app that the merchant uses for one type of payment. Earlier apps stay linked. */
function linkApp(merchant: Merchant, field: string): void {
  const appId = newAppId();
  merchant.appIds = [...merchant.appIds, appId];
  merchant.sceneAppIds = { ...merchant.sceneAppIds, [field]: [appId, ...(merchant.sceneAppIds[field] ?? [])] };
}

function handOverSubApp(merchant: Merchant, field: string): void {
  merchant.subMerchants = linkSubApp(merchant.subMerchants, field, newAppId());
}

function newMchid(core: Core): string {
  return core.trades.newNumber(() => `19${randomDigits(8)}`);
}

function newAppId(): string {
  return `wx${randomBytes(8).toString('hex')}`;
}

async function newPlatformKey(core: Core): Promise<SigningKey> {
  const { certificate, privateKey } = await core.authority.issue('Simulated WeChat Pay platform');
  return { serial: new X509Certificate(certificate).serialNumber, privateKey, publicPem: certificate };
}

async function newPublicKey(mchid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await newRsaKeys();
  const serial = `PUB_KEY_ID_0${mchid}${randomDigits(20)}`;
  return { serial, privateKey: pkcs8(privateKey), publicPem: spki(publicKey) };
}

function newApiV3Key(): string {
  return randomBytes(16).toString('hex');
}

const imported = new Map<string, KeyObject>();

/** Imports a private key from PEM and caches it. */
export function privateKeyOf(pem: string): KeyObject {
  const key = imported.get(pem) ?? createPrivateKey(pem);
  imported.set(pem, key);
  return key;
}
