import { randomBytes, X509Certificate } from 'node:crypto';
import type { Mode } from '../../server/payments/channel.ts';
import { type KeyPair, issueCertificate, newRsaKeys, pkcs8, spki } from '../../server/simulator/certificates.ts';
import type { Facts } from './forge.ts';

/** A verifying key and the private key that signs for it. */
export interface ModeKey {
  pem: string;
  /** Members of an account's secrets that sign a message with it (races/forge.ts). */
  secrets: Record<string, string>;
}

/** One way of verifying messages, with accounts that the simulator does not have. */
export interface ModeWay {
  name: string;
  payWay: 'alipay' | 'wechat';
  modes: readonly Mode[];
  kind: string;
  /** The account of the configurations, and another one with uploaded keys only. */
  accounts: readonly [own: string, other: string];
  /** The configuration fields besides the verifying keys. */
  fields(): Promise<Record<string, unknown>>;
  /** Two keys of an account, the default first, with the fields that authenticate them. */
  keys(): Promise<{ keys: readonly [ModeKey, ModeKey]; beside: Record<string, unknown> }>;
  /** Message facts about an order of the account. */
  facts(template: Facts, account: string): Facts;
}

const NAME = { C: 'CN', O: 'Test', OU: 'Modes', CN: 'root' };
const APP_ID = 'wx00000000000001';
const API_V3_KEY = 'K1K1K1K1K1K1K1K1K1K1K1K1K1K1K1K1';
const IDS = ['PUB_KEY_ID_0001', 'PUB_KEY_ID_0002'] as const;
/** The same in every account, so that the serial of a message identifies no key. */
const SERIALS = [randomBytes(16), randomBytes(16)].map((bytes) => Buffer.concat([Buffer.of(0x41), bytes.subarray(1)]));

const certificateOf = ({ publicKey }: KeyPair, issuer: KeyPair, more: { serial?: Buffer; ca?: boolean } = {}) =>
  issueCertificate({
    subject: { ...NAME, CN: more.ca ? NAME.CN : 'leaf' },
    issuer: NAME,
    publicKey,
    signer: issuer.privateKey,
    ca: false,
    ...more,
  });

async function pair<T>(make: (pair: KeyPair, at: 0 | 1) => T): Promise<[T, T]> {
  const [one, other] = await Promise.all([newRsaKeys(), newRsaKeys()]);
  return [make(one, 0), make(other, 1)];
}

const alipay = {
  payWay: 'alipay',
  modes: ['simulator', 'sandbox', 'live'],
  accounts: ['2021000000000101', '2021000000000102'],
  facts: (facts: Facts, account: string): Facts => ({ ...facts, app_id: account }),
} as const;

const wechat = {
  payWay: 'wechat',
  modes: ['simulator', 'live'],
  accounts: ['1900000101', '1900000102'],
  facts: (facts: Facts, account: string): Facts => ({ ...facts, mchid: account, appid: APP_ID }),
} as const;

const merchant = async (mchid: string) => ({
  mchid,
  appId: APP_ID,
  apiV3Key: API_V3_KEY,
  merchantSerial: 'ABCDEF',
  wechat_merchant_key: pkcs8((await newRsaKeys()).privateKey),
});

/** Every kind of key and certificate that verifies messages signed by a channel. */
export const MODE_WAYS: readonly ModeWay[] = [
  {
    ...alipay,
    name: "Alipay's public key",
    kind: 'alipay_public_key',
    fields: async () => ({ appId: alipay.accounts[0], alipay_app_key: pkcs8((await newRsaKeys()).privateKey) }),
    keys: async () => ({
      keys: await pair(({ privateKey, publicKey }) => {
        return { pem: spki(publicKey), secrets: { alipayKey: pkcs8(privateKey) } };
      }),
      beside: {},
    }),
  },
  {
    ...alipay,
    name: "Alipay's certificate under a root",
    kind: 'alipay_public_cert',
    async fields() {
      const own = await newRsaKeys();
      const alipay_app_cert = certificateOf(own, own);
      return { appId: alipay.accounts[0], alipay_app_key: pkcs8(own.privateKey), alipay_app_cert };
    },
    async keys() {
      const root = await newRsaKeys();
      const keys = await pair((own) => {
        return { pem: certificateOf(own, root), secrets: { alipayKey: pkcs8(own.privateKey) } };
      });
      return { keys, beside: { alipay_root_cert: certificateOf(root, root, { ca: true }) } };
    },
  },
  {
    ...wechat,
    name: "WeChat Pay's public key",
    kind: 'wechat_public_key',
    fields: async () => ({ ...(await merchant(wechat.accounts[0])), publicKeyId: IDS.join(',') }),
    keys: async () => ({
      keys: await pair(({ privateKey, publicKey }, at) => {
        const key = { serial: IDS[at], privateKey: pkcs8(privateKey), publicPem: spki(publicKey) };
        return { pem: key.publicPem, secrets: wechatSecrets({ publicKeys: [key] }) };
      }),
      beside: {},
    }),
  },
  {
    ...wechat,
    name: "WeChat Pay's platform certificate",
    kind: 'wechat_platform_cert',
    fields: () => merchant(wechat.accounts[0]),
    async keys() {
      const root = await newRsaKeys();
      const keys = await pair((own, at) => {
        const pem = certificateOf(own, root, { serial: SERIALS[at]! });
        const { serialNumber: serial } = new X509Certificate(pem);
        const key = { serial, privateKey: pkcs8(own.privateKey), publicPem: pem };
        return { pem, secrets: wechatSecrets({ platformKeys: [key] }) };
      });
      return { keys, beside: {} };
    },
  },
];

function wechatSecrets({ publicKeys = [], platformKeys = [] }: { publicKeys?: object[]; platformKeys?: object[] }) {
  const lists = { publicKeys: JSON.stringify(publicKeys), platformKeys: JSON.stringify(platformKeys) };
  return { ...lists, apiV3Key: API_V3_KEY, verifyMode: publicKeys.length > 0 ? 'public-key' : 'certificate' };
}
