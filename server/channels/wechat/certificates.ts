import { X509Certificate } from 'node:crypto';
import type { WireAnswer } from '../../payments/channel.ts';
import type { VerifyKey } from '../key-ring.ts';
import { openText } from './aead.ts';
import { readSigned } from './genuine.ts';
import { objectIn, readObject, textIn, type Members } from './json.ts';
import type { Settings } from './settings.ts';
import { answerText, isFresh, plainSerial, verifyRsa } from './signature.ts';

/** The certificates do not open: the APIv3 key is another one. */
export class SealNotOpened extends Error {
  constructor() {
    super('The platform certificates cannot be decrypted with the APIv3 key.');
    this.name = 'SealNotOpened';
  }
}

/** What `GET /v3/certificates` hands out and may be used now, as PEM texts, the one that is valid longest last; throws for anything doubtful. */
export function readCertificatePems(
  answer: WireAnswer,
  settings: Pick<Settings, 'apiV3Key' | 'publicKeyIds' | 'publicKeys' | 'distrustedSerials'>,
  now: Date,
): string[] {
  const keys = readCertificates(answer, settings, now);
  const { data } = readObject(answer.body);
  const opened = (Array.isArray(data) ? data : []).map((item) =>
    openCertificate(objectIn({ item }, 'item'), settings.apiV3Key, now),
  );
  return opened
    .filter(({ serial }) => keys.has(plainSerial(serial)) && !settings.distrustedSerials.has(plainSerial(serial)))
    .toSorted((one, other) => one.until.getTime() - other.until.getTime())
    .map(({ pem }) => pem);
}

/**
 * Reads `GET /v3/certificates` into verify keys by serial; throws for anything doubtful. The APIv3 key vouches for the
 * certificates, and one of them (or a WeChat Pay public key) for the answer, so the first fetch needs no key beforehand.
 */
export function readCertificates(
  answer: WireAnswer,
  { apiV3Key, publicKeyIds, publicKeys }: Pick<Settings, 'apiV3Key' | 'publicKeyIds' | 'publicKeys'>,
  now: Date,
): Map<string, VerifyKey> {
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
  const keys = new Map<string, VerifyKey>();
  const { data } = readObject(answer.body);
  for (const item of Array.isArray(data) ? data : []) {
    const { serial, key, since, valid } = openCertificate(objectIn({ item }, 'item'), apiV3Key, now);
    if (valid) keys.set(plainSerial(serial), { key, certId: null, since });
  }
  const vouches = (serial: string): readonly VerifyKey[] => {
    const key = keys.get(plainSerial(serial));
    if (key) return [key];
    return publicKeyIds.some((id) => plainSerial(id) === plainSerial(serial)) ? publicKeys : [];
  };
  if (!isSigned(answer, vouches, now)) throw new Error('The response is not signed by any of its certificates.');
  return keys;
}

function openCertificate(item: Members, apiV3Key: Buffer, now: Date) {
  const certificate = new X509Certificate(open(objectIn(item, 'encrypt_certificate'), apiV3Key));
  const serial = certificate.serialNumber;
  if (plainSerial(serial) !== plainSerial(textIn(item, 'serial_no')))
    throw new Error('serial_no belongs to another certificate.');
  const key = certificate.publicKey;
  const strong = key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048;
  const valid = strong && certificate.validFromDate <= now && now < certificate.validToDate;
  const { validFromDate: since, validToDate: until } = certificate;
  return { serial, key, since, until, valid, pem: certificate.toString() };
}

function open(sealed: Members, apiV3Key: Buffer): string {
  const [ciphertext, nonce, associatedData] = ['ciphertext', 'nonce', 'associated_data'].map((name) =>
    textIn(sealed, name),
  );
  try {
    return openText(
      { ciphertext: ciphertext ?? '', nonce: nonce ?? '', associatedData: associatedData ?? '' },
      apiV3Key,
    );
  } catch {
    throw new SealNotOpened();
  }
}

function isSigned(
  { headers, body }: WireAnswer,
  vouches: (serial: string) => readonly VerifyKey[],
  now: Date,
): boolean {
  const signed = readSigned(headers);
  if (!signed || !isFresh(signed.timestamp, now)) return false;
  const text = answerText(signed.timestamp, signed.nonce, body);
  return vouches(signed.serial).some(({ key }) => verifyRsa(text, signed.signature, key));
}
