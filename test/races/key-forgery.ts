import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { issueCertificate, newRsaKeys, pkcs8, spki } from '../../server/simulator/certificates.ts';
import type { Envelope } from './forge.ts';

/** A verify key that is not the channel's, and how to sign with its private key. */
export interface Attack {
  pem: string;
  envelope: Envelope;
}

/** One way in which a channel's messages are verified. */
export interface Way {
  name: string;
  payWay: 'alipay' | 'wechat';
  /** Options of the account at the simulator. */
  account: Record<string, unknown>;
  /** The kind of certificate or key that verifies. */
  kind: string;
  attack(genuine: Readonly<Record<string, string>>, dir: string): Promise<Attack>;
}

/** Every way, with an attacker's key. Certificates are the worst case: the genuine root issued them. */
export const WAYS: readonly Way[] = [
  {
    name: 'Alipay, key mode',
    payWay: 'alipay',
    account: {},
    kind: 'alipay_public_key',
    async attack() {
      const { privateKey, publicKey } = await newRsaKeys();
      return { pem: spki(publicKey), envelope: { secrets: { alipayKey: pkcs8(privateKey) } } };
    },
  },
  {
    name: 'Alipay, certificate mode',
    payWay: 'alipay',
    account: { signMode: 'certificate' },
    kind: 'alipay_public_cert',
    async attack(_genuine, dir) {
      const { privateKey, publicKey } = await newRsaKeys();
      return { pem: issuedBy(dir, publicKey), envelope: { secrets: { alipayKey: pkcs8(privateKey) } } };
    },
  },
  {
    name: 'WeChat Pay, public key',
    payWay: 'wechat',
    account: { mode: 'public-key' },
    kind: 'wechat_public_key',
    async attack({ publicKeys = '[]' }) {
      const { privateKey, publicKey } = await newRsaKeys();
      // The id is public: every answer and notification names it.
      const [genuine] = JSON.parse(publicKeys) as { serial: string }[];
      const own = { serial: genuine?.serial ?? '', privateKey: pkcs8(privateKey), publicPem: spki(publicKey) };
      return { pem: own.publicPem, envelope: { secrets: { publicKeys: JSON.stringify([own]) } } };
    },
  },
  {
    name: 'WeChat Pay, platform certificate',
    payWay: 'wechat',
    account: { mode: 'certificate' },
    kind: 'wechat_platform_cert',
    async attack(_genuine, dir) {
      const { privateKey, publicKey } = await newRsaKeys();
      const pem = issuedBy(dir, publicKey);
      const { serialNumber: serial } = new X509Certificate(pem);
      const own = { serial, privateKey: pkcs8(privateKey), publicPem: pem };
      return { pem, envelope: { secrets: { platformKeys: JSON.stringify([own]), publicKeys: '[]' } } };
    },
  },
];

/** Issues a certificate for a key by the simulator's root in this folder. */
export function issuedBy(dir: string, publicKey: KeyObject): string {
  const stored = JSON.parse(readFileSync(join(dir, 'authority.json'), 'utf8')) as {
    certificate: string;
    privateKey: string;
  };
  const issuer = { C: 'CN', O: 'Payment Simulator', OU: 'Authority', CN: 'Payment Simulator Root' };
  const subject = { ...issuer, OU: 'Merchant', CN: 'app somebody' };
  return issueCertificate({ subject, issuer, publicKey, signer: createPrivateKey(stored.privateKey), ca: false });
}
