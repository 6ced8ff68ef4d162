/** A merchant or partner at WeChat Pay: numbers, apps, sub-merchants, keys, and how each of them is replaced. */
import { type KeyObject, X509Certificate, createPrivateKey, randomBytes } from 'node:crypto';
import { WECHAT_BILL_RULES } from './bill-rules.ts';
import { plainSerial } from '../../channels/wechat/signature.ts';
import type { Account } from '../accounts.ts';
import { type Credential, newRsaKeys, pkcs8, spki } from '../certificates.ts';
import type { Core, SimulatedChannelConfig } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { randomDigits } from '../trades.ts';

/** A merchant that a partner brought. */
interface SubMerchant {
  mchid: string;
  /** A small merchant (小微商户), which has no bill of its own. */
  isSmall?: true;
  /** All apps that are linked to it. */
  appIds: readonly string[];
  /** By field of the configuration: the one that is handed over. */
  fields: Readonly<Record<string, string>>;
}

/** One more app of the sub-merchant that is handed over; those before it stay linked. */
function linkSubApp(subMerchants: readonly SubMerchant[], field: string, appId: string): SubMerchant[] {
  const [newest, ...others] = subMerchants;
  if (!newest) throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner.');
  return [{ ...newest, appIds: [...newest.appIds, appId], fields: { ...newest.fields, [field]: appId } }, ...others];
}

/** One more sub-merchant, which is handed over from now on. */
function addSubMerchant(subMerchants: readonly SubMerchant[], mchid: string): SubMerchant[] {
  if (subMerchants.length === 0) throw new SimulatorRefusal(400, 'no_partner', 'This account is not a partner.');
  return [{ mchid, appIds: [], fields: {} }, ...subMerchants];
}

/** How a merchant verifies WeChat Pay: by platform certificates, by public keys, or by both while changing over. */
const VERIFY_MODES = ['both', 'certificate', 'public-key'] as const;
type VerifyMode = (typeof VERIFY_MODES)[number];

/** A key under which WeChat Pay signs; `publicPem` is a certificate or a bare public key. */
export interface SigningKey {
  serial: string;
  privateKey: string;
  publicPem: string;
}

/** A merchant or a partner at WeChat Pay; of every list the newest comes first and the older ones are still good. */
export interface Merchant {
  mchid: string;
  /** The one that is handed over. */
  appId: string;
  /** All that are linked to the merchant. */
  appIds: readonly string[];
  /** By field of the configuration: the apps that are handed over for one scene, the newest first. */
  sceneAppIds: Readonly<Record<string, readonly string[]>>;
  apiV3Key: string;
  verifyMode: VerifyMode;
  /** Those of a partner, the one that is handed over first; a direct merchant has none. */
  subMerchants: readonly SubMerchant[];
  /** Domains whose pages may lead to an h5_url, and back; with their subdomains. */
  h5Domains: readonly string[];
  /** Where complaints are told; empty = nothing is registered. */
  complaintUrl?: string;
  /** Its developer at SkillHub, as JSON; empty = none. */
  skillhub?: string;
  /** The products that are opened for the merchant, as the last part of the path of a create. */
  products: readonly string[];
  merchantKeys: Credential[];
  platformKeys: SigningKey[];
  publicKeys: SigningKey[];
}

/** What is stored as JSON. */
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

/** The domains of a new merchant: this machine. */
const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]'];

/** Every product of a merchant. */
const PRODUCTS = ['native', 'jsapi', 'h5', 'app', 'codepay'];

/** What `/sim/rotate` can replace, with its other names. */
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
 * Makes a merchant; `mode` among the options is one of VERIFY_MODES, `products` all that it has opened. With `partner` a partner and its first sub-merchant, with
 * `subApp` an app of that one, too, with `small` a small one (小微商户).
 */
export async function newMerchant(
  core: Core,
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string>> {
  const { mode = 'both', partner = false, subApp = false, small = false, products } = options;
  const verifyMode = VERIFY_MODES.find((candidate) => candidate === mode);
  if (!verifyMode) throw new SimulatorRefusal(400, 'unknown_mode', `mode must be one of ${VERIFY_MODES.join(', ')}.`);
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

/** The merchant in an account's secrets, parsed once; not to be changed. */
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

/** Replaces a key or certificate; the old one stays good, as it does at WeChat for a day, but signs nothing new. Or a setting. */
export async function rotateMerchant(core: Core, account: Account, what: string, to = ''): Promise<void> {
  const name = OTHER_NAMES.get(what) ?? what;
  const rotate = Object.hasOwn(ROTATIONS, name) ? ROTATIONS[name] : undefined;
  if (!rotate)
    throw new SimulatorRefusal(400, 'unknown_rotation', `what must be one of ${Object.keys(ROTATIONS).join(', ')}.`);
  const merchant = parseMerchant(account.secrets);
  await rotate(core, merchant, to);
  account.secrets = writeMerchant(merchant);
}

/** The merchant as ordinary channel configuration. */
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

/** The account whose mchid this is. */
export function findAccount(core: Core, mchid: string): Account | undefined {
  return core.accounts.of('wechat').find(({ secrets }) => secrets.mchid === mchid);
}

/** The public key of the merchant certificate with this serial. */
export function merchantKeyOf({ merchantKeys }: Merchant, serial: string): KeyObject | undefined {
  const certificates = merchantKeys.map(({ certificate }) => new X509Certificate(certificate));
  return certificates.find(({ serialNumber }) => plainSerial(serialNumber) === plainSerial(serial))?.publicKey;
}

/**
 * The key that signs: the public key that was asked for by name, else the newest one of the merchant's way of verifying.
 * With both ways it is a certificate, as during a change-over.
 */
export function signingKeyOf({ verifyMode, platformKeys, publicKeys }: Merchant, asked = ''): SigningKey {
  const named = publicKeys.find(({ serial }) => plainSerial(serial) === plainSerial(asked));
  if (named && verifyMode !== 'certificate') return named;
  const newest = (verifyMode === 'public-key' ? publicKeys : platformKeys)[0];
  if (!newest) throw new Error('A merchant always has a signing key.');
  return newest;
}

function writeMerchant(merchant: Merchant): Record<string, string> {
  const lists = Object.fromEntries(LISTS.map((name) => [name, JSON.stringify(merchant[name])]));
  const { mchid, appId, apiV3Key, verifyMode, complaintUrl = '', skillhub = '' } = merchant;
  return { mchid, appId, apiV3Key, verifyMode, complaintUrl, skillhub, ...lists };
}

/** One more app of the merchant, handed over for a scene of its own; those before it stay linked. */
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

/** A private key from its PEM, imported once. */
export function privateKeyOf(pem: string): KeyObject {
  const key = imported.get(pem) ?? createPrivateKey(pem);
  imported.set(pem, key);
  return key;
}
