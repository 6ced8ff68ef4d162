/** Creates and reads Alipay accounts (ids, keys, certificates and products). Replaces their keys and settings. */
import { type KeyObject, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { ALIPAY_BILL_RULES } from './bill-rules.ts';
import { certSerial, readCertificates, rootCertSerial } from '../../channels/alipay/signature.ts';
import { type Account, merchantOf } from '../accounts.ts';
import { newRsaKeys, pkcs8, spki } from '../certificates.ts';
import type { Core, SimulatedChannelConfig } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { randomDigits } from '../trades.ts';

/**
 * The names of the certificate issuers, as in the test fixtures of Alipay's own Node SDK. "Class 2" issues Alipay's
 * certificates (for Alipay's company and the merchant's PID). "Class 1" issues app certificates (for the PID and the
 * app id).
 */
const ISSUERS = {
  alipay: 'Ant Financial Certification Authority Class 2 simulated',
  app: 'Ant Financial Certification Authority Class 1 simulated',
} as const;

interface Owner {
  pid: string;
  appId: string;
}

const NAMES: Readonly<Record<keyof typeof ISSUERS, (owner: Owner) => string>> = {
  alipay: ({ pid }) => `支付宝(中国)网络技术有限公司-${pid}`,
  app: ({ pid, appId }) => `${pid}-${appId}`,
};

/** Returns the private key and the certificate as PEM; the issuer's certificate is appended. */
async function newCredential(
  { authority }: Core,
  whose: keyof typeof ISSUERS,
  owner: Owner,
): Promise<{ privateKey: string; certificate: string }> {
  const [issuer, keys] = await Promise.all([authority.between(ISSUERS[whose]), newRsaKeys()]);
  return { privateKey: pkcs8(keys.privateKey), certificate: certificateOf(issuer, whose, owner, keys.publicKey) };
}

function certificateOf(
  issuer: Awaited<ReturnType<Core['authority']['between']>>,
  whose: keyof typeof ISSUERS,
  owner: Owner,
  publicKey: KeyObject,
): string {
  return issuer.certify(NAMES[whose](owner), publicKey, 'Alipay');
}

/** Returns the serial number (`cert_sn`) that Alipay computes for a certificate file. */
function serialOfFile(pem: string): string {
  const [leaf] = readCertificates(pem);
  if (leaf === undefined) throw new Error('The file contains no certificate.');
  return certSerial(leaf);
}

/** The values of `product_code` that alipay.trade.precreate accepts (its reference page); the first is the default. */
export const QR_PRODUCTS: readonly string[] = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'];

/** The `product_code` of a payment with the payer's payment code (alipay.trade.pay). */
export const TILL_PRODUCT = 'FACE_TO_FACE_PAYMENT';

/**
 * The `product_code` of each page payment method. `former` is an old code that many clients still send (fzlee/alipay,
 * yansongda/pay).
 */
export const PRODUCTS: Readonly<Record<string, { scene: string; code: string; former?: string }>> = {
  'alipay.trade.page.pay': { scene: 'page', code: 'FAST_INSTANT_TRADE_PAY' },
  'alipay.trade.wap.pay': { scene: 'wap', code: 'QUICK_WAP_WAY', former: 'QUICK_WAP_PAY' },
  'alipay.trade.app.pay': { scene: 'app', code: 'QUICK_MSECURITY_PAY' },
};

/** The `product_code` of a mini program payment (alipay.trade.create). */
export const MINI_PRODUCT = 'JSAPI_PAY';

const ALL_PRODUCTS: readonly string[] = [
  ...QR_PRODUCTS,
  MINI_PRODUCT,
  ...Object.values(PRODUCTS).map(({ code }) => code),
];

export interface AlipayAccount {
  name: string;
  appId: string;
  /** The merchant that receives the money if a create request has no `seller_id`. */
  sellerId: string;
  /** The merchants that the app collects for without an `app_auth_token`. */
  sellers: readonly string[];
  /** The merchant that issued each valid `app_auth_token`, with which it authorises the app. */
  authorised: ReadonlyMap<string, string>;
  products: readonly string[];
  appPublicKey: KeyObject;
  alipayKey: KeyObject;
  /** The certificate serial numbers that requests and responses carry in certificate mode. */
  appCertSerial: string;
  rootCertSerial: string;
  alipayCertSerial: string;
  /** Every certificate of Alipay for this app as PEM, by serial number; the app can download them. */
  alipayCerts: ReadonlyMap<string, string>;
}

/**
 * Creates an account's secrets. Options: `signMode: 'certificate'`, `products` (signed up for), and `merchantOf` (an
 * existing account, whose merchant the new account joins).
 */
export async function newSecrets(
  core: Core,
  _name: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string>> {
  const appId = core.trades.newNumber(() => `2021${randomDigits(12)}`);
  const sellerId =
    merchantOf(core, 'alipay', options)?.['sellerId'] ?? core.trades.newNumber(() => `2088${randomDigits(12)}`);
  const owner = { pid: sellerId, appId };
  const [app, alipay] = await Promise.all([newCredential(core, 'app', owner), newCredential(core, 'alipay', owner)]);
  return {
    appId,
    sellerId,
    pid: sellerId,
    signMode: options['signMode'] === 'certificate' ? 'certificate' : 'key',
    ...(Array.isArray(options['products']) ? { products: JSON.stringify(options['products']) } : {}),
    appKey: app.privateKey,
    appCert: app.certificate,
    alipayKey: alipay.privateKey,
    alipayCert: alipay.certificate,
  };
}

/** Returns the account as channel configuration. A configuration with an app certificate enables certificate mode. */
export function configFor({ secrets }: Account, core: Core): SimulatedChannelConfig {
  const {
    appId = '',
    sellerId = '',
    appKey = '',
    appCert = '',
    alipayCert = '',
    alipayKey = '',
    appAuthToken,
  } = secrets;
  const verifying: Record<string, string[]> =
    secrets['signMode'] === 'certificate'
      ? {
          alipay_app_cert: [appCert],
          alipay_public_cert: [alipayCert],
          alipay_root_cert: [core.authority.root + core.authority.otherRoot],
        }
      : { alipay_public_key: [spki(createPublicKey(createPrivateKey(alipayKey)))] };
  const fields = { appId, sellerId, ...(appAuthToken ? { appAuthToken } : {}), feeRate: ALIPAY_BILL_RULES.feeRate };
  return { fields, pems: { alipay_app_key: [appKey], ...verifying } };
}

/** Replaces a key and its certificate (`app-key`, `alipay-key`), or changes a setting that MERCHANT_CHANGES lists. */
export async function rotate(core: Core, { secrets }: Account, what: string): Promise<void> {
  const change = Object.hasOwn(MERCHANT_CHANGES, what) ? MERCHANT_CHANGES[what] : undefined;
  if (change)
    return change(
      secrets,
      core.trades.newNumber(() => `2088${randomDigits(12)}`),
    );
  if (what !== 'app-key' && what !== 'alipay-key') {
    const known = ['app-key', 'alipay-key', ...Object.keys(MERCHANT_CHANGES)].join(', ');
    throw new SimulatorRefusal(400, 'unknown_rotation', `For Alipay, the field "what" must be one of ${known}.`);
  }
  const { appId = '', sellerId = '', pid = sellerId, alipayCert = '' } = secrets;
  const whose = what === 'app-key' ? 'app' : 'alipay';
  const { privateKey, certificate } = await newCredential(core, whose, { pid, appId });
  if (whose === 'alipay') secrets['formerAlipayCerts'] = JSON.stringify([...formerCertsOf(secrets), alipayCert]);
  Object.assign(secrets, { [`${whose}Key`]: privateKey, [`${whose}Cert`]: certificate });
}

/** The settings that `/sim/rotate` can change besides keys. The earlier merchants of the app stay valid. */
const MERCHANT_CHANGES: Readonly<Record<string, (secrets: Account['secrets'], sellerId: string) => void>> = {
  seller(secrets, sellerId) {
    secrets['sellers'] = JSON.stringify([...sellersOf(secrets), sellerId]);
    Object.assign(secrets, { sellerId, appAuthToken: '' });
  },
  merchant(secrets, sellerId) {
    secrets['sellers'] = JSON.stringify(sellersOf(secrets));
    secrets['sellerId'] = sellerId;
    authorise(secrets, newToken());
  },
  /** The previous token stops working immediately. */
  'app-auth-token'(secrets) {
    const { [secrets['appAuthToken'] ?? '']: _, ...others } = authorisedIn(secrets);
    secrets['authorised'] = JSON.stringify(others);
    authorise(secrets, newToken());
  },
  /** Switches the configuration between public key and certificates; the gateway accepts both. */
  'sign-mode'(secrets) {
    secrets['signMode'] = secrets['signMode'] === 'certificate' ? 'key' : 'certificate';
  },
};

function authorise(secrets: Account['secrets'], token: string): void {
  secrets['authorised'] = JSON.stringify({ ...authorisedIn(secrets), [token]: secrets['sellerId'] });
  secrets['appAuthToken'] = token;
}

function sellersOf({ sellers, sellerId = '' }: Account['secrets']): string[] {
  return sellers === undefined ? [sellerId] : (JSON.parse(sellers) as string[]);
}

/** Alipay's former certificates, which can still be downloaded. */
function formerCertsOf({ formerAlipayCerts = '[]' }: Account['secrets']): string[] {
  return JSON.parse(formerAlipayCerts) as string[];
}

function authorisedIn({ authorised = '{}' }: Account['secrets']): Record<string, string> {
  return JSON.parse(authorised) as Record<string, string>;
}

function newToken(): string {
  return `sim${randomBytes(16).toString('hex')}`;
}

/** Finds accounts by app id or name and caches their parsed keys until a rotation. */
export function createKeyring(core: Core): {
  byAppId(appId: string): AlipayAccount | undefined;
  byName(name: string): AlipayAccount;
} {
  const parsed = new Map<string, { from: Account['secrets']; account: AlipayAccount }>();
  const parse = (account: Account): AlipayAccount => {
    const known = parsed.get(account.name);
    if (known && isSame(known.from, account.secrets)) return known.account;
    const fresh = readAccount(account, core);
    parsed.set(account.name, { from: { ...account.secrets }, account: fresh });
    return fresh;
  };
  return {
    byAppId(appId) {
      const account = core.accounts.of('alipay').find(({ secrets }) => secrets['appId'] === appId);
      return account && parse(account);
    },
    byName(name) {
      const account = core.accounts.get('alipay', name);
      if (account === undefined)
        throw new SimulatorRefusal(404, 'no_such_account', `The simulator has no Alipay account ${name}.`);
      return parse(account);
    },
  };
}

function isSame(one: Account['secrets'], other: Account['secrets']): boolean {
  const names = Object.keys(other);
  return names.length === Object.keys(one).length && names.every((name) => one[name] === other[name]);
}

function readAccount({ name, secrets }: Account, core: Core): AlipayAccount {
  const { appId = '', sellerId = '', appKey = '', appCert = '', alipayCert = '', alipayKey = '' } = secrets;
  return {
    name,
    appId,
    sellerId,
    sellers: sellersOf(secrets),
    authorised: new Map(Object.entries(authorisedIn(secrets))),
    products: secrets['products'] === undefined ? ALL_PRODUCTS : (JSON.parse(secrets['products']) as string[]),
    appPublicKey: createPublicKey(createPrivateKey(appKey)),
    alipayKey: createPrivateKey(alipayKey),
    appCertSerial: serialOfFile(appCert),
    alipayCertSerial: serialOfFile(alipayCert),
    alipayCerts: new Map([...formerCertsOf(secrets), alipayCert].map((pem) => [serialOfFile(pem), pem])),
    rootCertSerial: rootCertSerial(readCertificates(core.authority.root + core.authority.otherRoot)),
  };
}
