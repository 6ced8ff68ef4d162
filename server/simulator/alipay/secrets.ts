import { createPrivateKey, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto';
import { certSerial, readCertificates, rootCertSerial } from '../../channels/alipay/signature.ts';
import type { Account } from '../accounts.ts';
import { pkcs8, spki } from '../authority.ts';
import { newRsaKeys } from '../certificates.ts';
import type { Core, HalfConfig } from '../half.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { randomDigits } from '../trades.ts';

/** Keys and ids of an account, ready for use. */
export interface AlipayAccount {
  name: string;
  appId: string;
  sellerId: string;
  /** Verifies the merchant's requests. */
  appPublicKey: KeyObject;
  /** Signs answers and notices. */
  alipayKey: KeyObject;
  /** Serials of certificate mode. */
  appCertSerial: string;
  rootCertSerial: string;
  alipayCertSerial: string;
}

/** Makes an account; `options.signMode: 'certificate'` hands it over in certificate mode. */
export async function newSecrets(
  core: Core,
  name: string,
  options: Readonly<Record<string, unknown>>,
): Promise<Record<string, string>> {
  const [app, alipay] = await Promise.all([
    core.authority.issue(`app ${name}`, { unit: 'Merchant' }),
    core.authority.issue('Alipay (simulated)', { unit: 'Channel' }),
  ]);
  return {
    appId: core.trades.newNumber(() => `2021${randomDigits(12)}`),
    sellerId: core.trades.newNumber(() => `2088${randomDigits(12)}`),
    signMode: options['signMode'] === 'certificate' ? 'certificate' : 'key',
    appKey: app.privateKey,
    appCert: app.certificate,
    alipayKey: alipay.privateKey,
    alipayCert: alipay.certificate,
  };
}

/** The account as channel configuration; the app certificate is what switches certificate mode on. */
export function configFor({ secrets }: Account, core: Core): HalfConfig {
  const { appId = '', sellerId = '', appKey = '', appCert = '', alipayCert = '', alipayKey = '' } = secrets;
  const verifying: Record<string, string[]> =
    secrets['signMode'] === 'certificate'
      ? {
          alipay_app_cert: [appCert],
          alipay_public_cert: [alipayCert],
          alipay_root_cert: [core.authority.root + core.authority.otherRoot],
        }
      : { alipay_public_key: [spki(createPublicKey(createPrivateKey(alipayKey)))] };
  return { fields: { appId, sellerId }, pems: { alipay_app_key: [appKey], ...verifying } };
}

/** Replaces `app-key` (the merchant's) or `alipay-key` (ours), each with its certificate. */
export async function rotate(core: Core, { name, secrets }: Account, what: string): Promise<void> {
  if (what !== 'app-key' && what !== 'alipay-key') {
    throw new SimulatorRefusal(400, 'unknown_rotation', 'what must be app-key or alipay-key for Alipay.');
  }
  const { privateKey, publicKey } = await newRsaKeys();
  const [key, cert, owner] =
    what === 'app-key' ? ['appKey', 'appCert', `app ${name}`] : ['alipayKey', 'alipayCert', 'Alipay (simulated)'];
  secrets[key!] = pkcs8(privateKey);
  secrets[cert!] = core.authority.certify(owner!, publicKey);
}

/** Finds accounts by app id and keeps their keys parsed until they are rotated. */
export function createKeyring(core: Core): {
  byAppId(appId: string): AlipayAccount | undefined;
  byName(name: string): AlipayAccount;
} {
  const parsed = new Map<string, { from: string; account: AlipayAccount }>();
  const parse = (account: Account): AlipayAccount => {
    const from = JSON.stringify(account.secrets);
    const known = parsed.get(account.name);
    if (known?.from === from) return known.account;
    const fresh = readAccount(account, core);
    parsed.set(account.name, { from, account: fresh });
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

function readAccount({ name, secrets }: Account, core: Core): AlipayAccount {
  const { appId = '', sellerId = '', appKey = '', appCert = '', alipayCert = '', alipayKey = '' } = secrets;
  return {
    name,
    appId,
    sellerId,
    appPublicKey: createPublicKey(createPrivateKey(appKey)),
    alipayKey: createPrivateKey(alipayKey),
    appCertSerial: certSerial(new X509Certificate(appCert)),
    alipayCertSerial: certSerial(new X509Certificate(alipayCert)),
    rootCertSerial: rootCertSerial(readCertificates(core.authority.root + core.authority.otherRoot)),
  };
}
