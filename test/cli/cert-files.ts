import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { issueCertificate, newRsaKeys, type KeyPair } from '../../server/simulator/certificates.ts';

let made: Promise<{ certificate: string; key: string; otherKey: string }> | undefined;

/** A certificate, its private key and a key of another pair as PEM; created once per process. */
export function certTexts(): Promise<{ certificate: string; key: string; otherKey: string }> {
  return (made ??= make());
}

async function make() {
  const [own, other] = await Promise.all([newRsaKeys(), newRsaKeys()]);
  const name = { C: 'CN', O: 'Shop', OU: 'Pay', CN: 'shop.example' };
  const certificate = issueCertificate({
    subject: name,
    issuer: name,
    publicKey: own.publicKey,
    signer: own.privateKey,
    ca: false,
  });
  return { certificate, key: pem(own), otherKey: pem(other) };
}

function pem({ privateKey }: KeyPair): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Writes `app.crt`, `app.key`, `merchant.crt` and `other.key` to a folder. */
export async function writeCertFiles(folder: string): Promise<void> {
  const { certificate, key, otherKey } = await certTexts();
  const files = { 'app.crt': certificate, 'merchant.crt': certificate, 'app.key': key, 'other.key': otherKey };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}
