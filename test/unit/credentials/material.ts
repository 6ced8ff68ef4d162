import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { issueCertificate } from '../../../server/simulator/certificates.ts';

/** A key or certificate of the Alipay fixtures. */
export function fixture(
  name: 'app.key' | 'app.crt' | 'alipay.key' | 'alipay.crt' | 'alipay2.key' | 'root.crt',
): string {
  return readFileSync(new URL(`../channels/alipay/fixtures/${name}`, import.meta.url), 'utf8');
}

/** Returns the public key of a private key as PEM. */
export function publicOf(privatePem: string): string {
  return String(createPublicKey(createPrivateKey(privatePem)).export({ type: 'spki', format: 'pem' }));
}

/** An expired root of its own, and a certificate that it issued for the key of `alipay.key`. */
export function endedRoot(): { root: string; issued: string } {
  const issuer = { C: 'CN', O: 'Test', OU: 'Test', CN: 'ended root' };
  const signer = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const root = { subject: issuer, issuer, publicKey: createPublicKey(signer), signer, ca: true, days: -0.5 };
  const publicKey = createPublicKey(keyOf('alipay.key'));
  const leaf = { subject: { ...issuer, CN: 'leaf' }, issuer, publicKey, signer, ca: false };
  return { root: issueCertificate(root), issued: issueCertificate(leaf) };
}

/** A self-signed certificate for a key that expires after `days`. */
export function certificateFor(key: KeyObject, { days = 3650, name = 'test' } = {}): string {
  const subject = { C: 'CN', O: 'Test', OU: 'Test', CN: name };
  return issueCertificate({ subject, issuer: subject, publicKey: createPublicKey(key), signer: key, ca: false, days });
}

/** The key of a fixture. */
export function keyOf(name: 'app.key' | 'alipay.key' | 'alipay2.key'): KeyObject {
  return createPrivateKey(fixture(name));
}

/** An RSA key below the minimum size. */
export function smallKey(): KeyObject {
  return generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
}

/** An elliptic-curve key. */
export function ecKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** A private key as PKCS #8 PEM, with a passphrase if one is given. */
export function pemOf(key: KeyObject, passphrase?: string): string {
  const secret = passphrase === undefined ? {} : { cipher: 'aes-256-cbc', passphrase };
  return String(key.export({ type: 'pkcs8', format: 'pem', ...secret } as { type: 'pkcs8'; format: 'pem' }));
}

/** The configuration that Alipay key mode needs. */
export const alipay = {
  mode: 'sandbox',
  appId: '2021000000000001',
  appAuthToken: '202101BBfedcba9876543210',
  alipay_app_key: fixture('app.key'),
  alipay_public_key: publicOf(fixture('alipay.key')),
};

/** The configuration that PayPal needs. */
export const paypal = {
  mode: 'sandbox',
  clientId: 'AeA1QIZXiflr1_client',
  clientSecret: 'EGnHDxD_qRPdaLdZz8iCr8N7_MzF-secret',
  webhookId: '8PT597110X687430L',
};
