/** An account at Alipay: its ids, keys, certificates and products, and how each of them is replaced. */
import { type KeyObject, createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { ALIPAY_BILL_RULES } from './bill-rules.ts';
import { certSerial, readCertificates, rootCertSerial } from '../../channels/alipay/signature.ts';
import { type Account, merchantOf } from '../accounts.ts';
import { newRsaKeys, pkcs8, spki } from '../certificates.ts';
import type { Core, SimulatedChannelConfig } from '../channel-simulator.ts';
import { SimulatorRefusal } from '../requests.ts';
import { randomDigits } from '../trades.ts';

/**
 * Who issues what, as the certificates of Alipay's own Node SDK (its test fixtures) show: Alipay's are issued by "Class 2" to
 * Alipay's company and the merchant's PID, those of apps by "Class 1" to PID and app id.
 */
const ISSUERS = {
  alipay: 'Ant Financial Certification Authority Class 2 simulated',
  app: 'Ant Financial Certification Authority Class 1 simulated',
} as const;

/** Whose certificate: the merchant that the app belongs to, and the app. */
interface Owner {
  pid: string;
  appId: string;
}

const NAMES: Readonly<Record<keyof typeof ISSUERS, (owner: Owner) => string>> = {
  alipay: ({ pid }) => `支付宝(中国)网络技术有限公司-${pid}`,
  app: ({ pid, appId }) => `${pid}-${appId}`,
};

/** A new key of Alipay's or the app's, and its certificate with the one that issued it, as PEM. */
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

/** The serial of a certificate file, as Alipay counts it. */
function serialOfFile(pem: string): string {
  const [leaf] = readCertificates(pem);
  if (leaf === undefined) throw new Error('The file holds no certificate.');
  return certSerial(leaf);
}

/** The products that precreate sells; the first one without a word (reference of alipay.trade.precreate). */
export const QR_PRODUCTS: readonly string[] = ['FACE_TO_FACE_PAYMENT', 'QR_CODE_OFFLINE'];

/** The product of a payer's code (alipay.trade.pay). */
export const TILL_PRODUCT = 'FACE_TO_FACE_PAYMENT';

/** The product code that each page scene must carry; `former` is what many clients still name (fzlee/alipay, yansongda/pay). */
export const PRODUCTS: Readonly<Record<string, { scene: string; code: string; former?: string }>> = {
  'alipay.trade.page.pay': { scene: 'page', code: 'FAST_INSTANT_TRADE_PAY' },
  'alipay.trade.wap.pay': { scene: 'wap', code: 'QUICK_WAP_WAY', former: 'QUICK_WAP_PAY' },
  'alipay.trade.app.pay': { scene: 'app', code: 'QUICK_MSECURITY_PAY' },
};

/** The product of mini programs (alipay.trade.create). */
export const MINI_PRODUCT = 'JSAPI_PAY';

/** Every product that a merchant may sign for. */
const ALL_PRODUCTS: readonly string[] = [
  ...QR_PRODUCTS,
  MINI_PRODUCT,
  ...Object.values(PRODUCTS).map(({ code }) => code),
];

/** Keys and ids of an account, ready for use. */
export interface AlipayAccount {
  name: string;
  appId: string;
  /** The merchant that a create means when it names none. */
  sellerId: string;
  /** Merchants that the app collects for in its own name. */
  sellers: readonly string[];
  /** Merchants that authorised the app, by their token. */
  authorised: ReadonlyMap<string, string>;
  /** Product codes that the merchant has signed for. */
  products: readonly string[];
  /** Verifies the merchant's requests. */
  appPublicKey: KeyObject;
  /** Signs answers and notices. */
  alipayKey: KeyObject;
  /** Serials of certificate mode. */
  appCertSerial: string;
  rootCertSerial: string;
  alipayCertSerial: string;
  /** Every certificate of Alipay's for this app by serial, as PEM: what can be downloaded. */
  alipayCerts: ReadonlyMap<string, string>;
}

/**
 * Makes an account: `options.signMode: 'certificate'` hands it over in certificate mode; `options.products` = all it signed
 * for; `options.merchantOf` = the account whose merchant has this app, too.
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

/** The account as channel configuration; the app certificate is what switches certificate mode on. */
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

/**
 * Replaces `app-key` (the merchant's) or `alipay-key` (ours), each with its certificate; `seller`, `merchant` and
 * `app-auth-token` change for whom the app collects.
 */
export async function rotate(core: Core, { secrets }: Account, what: string): Promise<void> {
  const change = Object.hasOwn(MERCHANT_CHANGES, what) ? MERCHANT_CHANGES[what] : undefined;
  if (change)
    return change(
      secrets,
      core.trades.newNumber(() => `2088${randomDigits(12)}`),
    );
  if (what !== 'app-key' && what !== 'alipay-key') {
    const known = ['app-key', 'alipay-key', ...Object.keys(MERCHANT_CHANGES)].join(', ');
    throw new SimulatorRefusal(400, 'unknown_rotation', `what must be one of ${known} for Alipay.`);
  }
  const { appId = '', sellerId = '', pid = sellerId, alipayCert = '' } = secrets;
  const whose = what === 'app-key' ? 'app' : 'alipay';
  const { privateKey, certificate } = await newCredential(core, whose, { pid, appId });
  if (whose === 'alipay') secrets['formerAlipayCerts'] = JSON.stringify([...formerCertsOf(secrets), alipayCert]);
  Object.assign(secrets, { [`${whose}Key`]: privateKey, [`${whose}Cert`]: certificate });
}

/** What `/sim/rotate` changes about the merchants of an app (those before stay merchants of it), and about its way of signing. */
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
  /** The token before is good for nothing from now on. */
  'app-auth-token'(secrets) {
    const { [secrets['appAuthToken'] ?? '']: _, ...others } = authorisedIn(secrets);
    secrets['authorised'] = JSON.stringify(others);
    authorise(secrets, newToken());
  },
  /** From the public key to certificates, or back: what is handed over from now on; requests say themselves which it is. */
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

/** Alipay's certificates before the present one: they can still be downloaded. */
function formerCertsOf({ formerAlipayCerts = '[]' }: Account['secrets']): string[] {
  return JSON.parse(formerAlipayCerts) as string[];
}

function authorisedIn({ authorised = '{}' }: Account['secrets']): Record<string, string> {
  return JSON.parse(authorised) as Record<string, string>;
}

function newToken(): string {
  return `sim${randomBytes(16).toString('hex')}`;
}

/** Finds accounts by app id and keeps their keys parsed until they are rotated. */
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
        throw new SimulatorRefusal(404, 'no_such_account', `The account ${name} does not exist.`);
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
