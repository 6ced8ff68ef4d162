/**
 * Reads the keys and certificates of one Alipay configuration. Verifies a certificate of Alipay by following its chain
 * of issuers to a certificate in the configured root certificate file.
 */
import { type KeyObject, type X509Certificate, createPrivateKey, createPublicKey } from 'node:crypto';
import { type ChannelInput, ChannelMisconfigured } from '../../payments/channel.ts';
import { type KeyRing, createKeyRing, storedKey } from '../key-ring.ts';
import { certSerial, readCertificates, rootCertSerial } from './signature.ts';

/** A parsed certificate file of Alipay: Alipay's own certificate and the other certificates of its chain. */
export interface CertificateFile {
  certificate: X509Certificate;
  others: readonly X509Certificate[];
}

export interface Measure {
  /** The certificates of the root certificate file. */
  anchors: readonly X509Certificate[];
  trusted: readonly CertificateFile[];
  now: Date;
}

/** The maximum number of intermediate certificates in a chain. Alipay's chains have one. */
const LONGEST_CHAIN = 6;

/**
 * Whether a chain of issuers leads from a certificate to one of the root certificates (`anchors`). Intermediate
 * certificates are searched in `others` (the same certificate file). Each issuer must be a CA certificate. Some
 * certificates in Alipay's root file have expired, so the dates of root certificates are not checked.
 */
export function leadsTo(
  anchors: readonly X509Certificate[],
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  steps = LONGEST_CHAIN,
): boolean {
  if (anchors.some((anchor) => isIssuedBy(certificate, anchor))) return true;
  if (steps === 0) return false;
  const issuers = others.filter((other) => other.ca && isIssuedBy(certificate, other));
  return issuers.some((issuer) => {
    const rest = others.filter((other) => other !== issuer);
    return leadsTo(anchors, issuer, rest, steps - 1);
  });
}

/** Whether `issuer` issued the certificate: checks names, key identifiers, key usage and the signature. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // The check throws if OpenSSL does not support the key. This may happen for one certificate in Alipay's root file,
    // which has an SM2 key.
    return false;
  }
}

export const KINDS = {
  appKey: 'alipay_app_key',
  appCert: 'alipay_app_cert',
  publicCert: 'alipay_public_cert',
  rootCert: 'alipay_root_cert',
  publicKey: 'alipay_public_key',
} as const;

export interface AlipayKeys {
  appKey: KeyObject;
  /** Empty if the configuration has only public keys and no certificates (key mode). */
  appCertSerial: string;
  rootCertSerial: string;
  /**
   * The keys that verify Alipay's messages, by serial. In certificate mode the serial is `alipay_cert_sn`, and the
   * certificate of an unknown serial is downloaded and verified (answers.ts). In key mode Alipay's public keys have no
   * serials, so the service names them `key-1`, `key-2` and so on.
   */
  ring: KeyRing;
  certificateMode: boolean;
}

type KeyInput = Pick<ChannelInput, 'pems' | 'origins' | 'distrusted' | 'keep' | 'now'>;

/** Downloads the certificate with this serial as PEM text. Throws if the certificate cannot be verified. */
type Download = (serial: string, measure: Measure) => Promise<string>;

/**
 * Reads the keys of a configuration. If it contains an app certificate, certificate mode is used, otherwise key mode
 * (public keys without certificates). If a certificate or key cannot be used, throws ChannelMisconfigured with the kind
 * of the certificate or key.
 */
export function readKeys(input: KeyInput, download: Download): AlipayKeys {
  const { pems } = input;
  const appKey = readPrivateKey(first(pems, KINDS.appKey));
  return pems[KINDS.appCert]?.length ? certificateKeys(input, appKey, download) : plainKeys(input, appKey);
}

function plainKeys(input: KeyInput, appKey: KeyObject): AlipayKeys {
  const { pems, now } = input;
  const kind = KINDS.publicKey;
  first(pems, kind);
  const keys = (pems[kind] ?? []).map(
    (text, index) => [`key-${index + 1}`, storedKey(input, text, readPublicKey(text))] as const,
  );
  // Alipay's console shows the public keys of the app and of Alipay side by side, so uploading the app's key is a
  // common mistake.
  if (keys.some(([, { key }]) => key.equals(createPublicKey(appKey)))) {
    throw new ChannelMisconfigured(kind, "This is the public key of the app; upload Alipay's public key instead.");
  }
  return { appKey, appCertSerial: '', rootCertSerial: '', ring: createKeyRing({ keys, now }), certificateMode: false };
}

function certificateKeys(input: KeyInput, appKey: KeyObject, download: Download): AlipayKeys {
  const { pems, distrusted, keep, now } = input;
  const [appCert] = certificatesOf(KINDS.appCert, first(pems, KINDS.appCert));
  if (!appCert.checkPrivateKey(appKey)) {
    throw new ChannelMisconfigured(KINDS.appCert, 'The app certificate and the app private key do not match.');
  }
  const roots = rootCertSerial(certificatesOf(KINDS.rootCert, first(pems, KINDS.rootCert)));
  if (roots === '')
    throw new ChannelMisconfigured(KINDS.rootCert, 'The root certificate file contains no RSA certificate.');
  first(pems, KINDS.publicCert);
  const anchors = (pems[KINDS.rootCert] ?? []).flatMap((text) => certificatesOf(KINDS.rootCert, text));
  const files = (pems[KINDS.publicCert] ?? []).map((text) => {
    const [certificate, ...others] = certificatesOf(KINDS.publicCert, text);
    if (!leadsTo(anchors, certificate, others))
      throw new ChannelMisconfigured(
        KINDS.publicCert,
        "No certificate chain leads from Alipay's public certificate to the root certificate file.",
      );
    const key = requireRsa(certificate.publicKey, KINDS.publicCert);
    return { certificate, others, entry: [certSerial(certificate), storedKey(input, text, key)] as const };
  });
  const refused = new Set((distrusted?.[KINDS.publicCert] ?? []).map((text) => serialOf(text)));
  const refresh = async (serial: string) => {
    if (refused.has(serial)) throw new Error('An administrator has marked this certificate as distrusted.');
    const pem = await download(serial, { anchors, trusted: files, now: now() });
    const key = requireRsa(certificatesOf(KINDS.publicCert, pem)[0].publicKey, KINDS.publicCert);
    keep?.(KINDS.publicCert, pem);
    return [[serial, { key, certId: null, since: now() }] as const];
  };
  const ring = createKeyRing({ keys: files.map(({ entry }) => entry), now, refresh });
  return { appKey, appCertSerial: certSerial(appCert), rootCertSerial: roots, ring, certificateMode: true };
}

function serialOf(pem: string): string {
  return certSerial(certificatesOf(KINDS.publicCert, pem)[0]);
}

function first(pems: ChannelInput['pems'], kind: string): string {
  const text = pems[kind]?.[0];
  if (!text) throw new ChannelMisconfigured(kind, `${kind} is missing.`);
  return text;
}

function certificatesOf(kind: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  const [leaf, ...rest] = attempt(kind, 'is not a certificate in PEM form', () => readCertificates(pem));
  if (!leaf) throw new ChannelMisconfigured(kind, `${kind} contains no certificate.`);
  return [leaf, ...rest];
}

/** Reads a private key in PEM form, or as bare base64 (PKCS #8 or PKCS #1) from Alipay's console and key tool. */
function readPrivateKey(text: string): KeyObject {
  const kind = KINDS.appKey;
  const bare = bareBase64(text);
  if (bare === undefined) {
    return requireRsa(
      attempt(kind, 'is not a private key', () => createPrivateKey(text)),
      kind,
    );
  }
  const key = attempt(kind, 'is not a private key', () => importEither(createPrivateKey, bare, ['pkcs8', 'pkcs1']));
  return requireRsa(key, kind);
}

/** Reads a public key in PEM form or as bare base64 (SubjectPublicKeyInfo or PKCS #1). */
function readPublicKey(text: string): KeyObject {
  const kind = KINDS.publicKey;
  if (text.includes('PRIVATE KEY')) throw new ChannelMisconfigured(kind, 'This is a private key; upload a public key.');
  const bare = bareBase64(text);
  const key = attempt(kind, 'is not a public key', () =>
    bare === undefined ? createPublicKey(text) : importEither(createPublicKey, bare, ['spki', 'pkcs1']),
  );
  return requireRsa(key, kind);
}

function importEither<Form extends string>(
  read: (input: { key: Buffer; format: 'der'; type: Form }) => KeyObject,
  key: Buffer,
  [usual, other]: readonly [Form, Form],
): KeyObject {
  try {
    return read({ key, format: 'der', type: usual });
  } catch {
    return read({ key, format: 'der', type: other });
  }
}

function bareBase64(text: string): Buffer | undefined {
  const body = text.replace(/\s+/g, '');
  return /^[A-Za-z0-9+/]{64,}={0,2}$/.test(body) ? Buffer.from(body, 'base64') : undefined;
}

function requireRsa(key: KeyObject, kind: string): KeyObject {
  if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) {
    throw new ChannelMisconfigured(kind, `${kind} must be an RSA key of at least 2048 bits.`);
  }
  return key;
}

/** Runs a parser and replaces its error with a fixed text, because the parser's message may quote the key. */
function attempt<T>(kind: string, wrong: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new ChannelMisconfigured(kind, `${kind} ${wrong}.`);
  }
}
