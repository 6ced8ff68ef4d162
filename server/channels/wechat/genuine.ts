import type { FetchBudget, UnknownCause } from '../../payments/channel.ts';
import { createKeyRing, type VerifyKey } from '../key-ring.ts';
import type { Settings } from './settings.ts';
import { answerText, isFresh, plainSerial, verifyRsa } from './signature.ts';

/** Header names are lower-case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Why something was not signed by WeChat Pay, in stable words. */
export interface Doubt {
  cause: Extract<UnknownCause, 'unsigned' | 'clock_skew' | 'serial_unknown' | 'signature_invalid'>;
  detail: string;
}

/** Who signed, or why it is not known: one of both. */
export type Judgement = { doubt: Doubt; signer?: undefined } | { doubt?: undefined; signer: VerifyKey };

/** An RSA signature of 2048 bits or more, in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{341,1400}={0,2}$/;

/** Judges answers and notices by their four headers and raw bytes. */
export type Judge = (headers: Headers, rawBody: Buffer, budget?: FetchBudget) => Promise<Judgement>;

/** Fetches the platform's current certificates as verify keys by serial; throws when that fails. */
export type FetchPlatformKeys = () => Promise<Iterable<readonly [serial: string, key: VerifyKey]>>;

/**
 * Judges with all keys of an account at once, platform certificates and WeChat Pay public keys side by side. A platform
 * serial that is not known is fetched (key-ring.ts says how often) and fails closed; one that is distrusted is not.
 */
export function createJudge(settings: Settings, now: () => Date, fetchPlatformKeys: FetchPlatformKeys): Judge {
  const { publicKeyIds, publicKeys, platformKeys, distrustedSerials } = settings;
  const ids = new Set(publicKeyIds.map(plainSerial));
  const ring = createKeyRing({ keys: platformKeys, now, normalise: plainSerial, refresh: fetchPlatformKeys });

  async function keysOf(serial: string, budget: FetchBudget | undefined): Promise<readonly VerifyKey[]> {
    if (ids.has(plainSerial(serial))) return publicKeys;
    if (distrustedSerials.has(plainSerial(serial))) return [];
    // Public keys are handed out by hand only, so asking for one is of no use.
    if (/^PUB_KEY_ID_/i.test(serial)) return [];
    const key = await ring.find(serial, budget);
    return key ? [key] : [];
  }

  return async (headers, rawBody, budget) => {
    const signed = readSigned(headers);
    if (!signed) return doubt('unsigned', 'The Wechatpay signature headers are incomplete.');
    const { timestamp, nonce, serial, signature } = signed;
    if (!isFresh(timestamp, now())) return doubt('clock_skew', `Signed at ${timestamp}.`);
    // What cannot be a signature is not worth asking for a key.
    if (!SIGNATURE.test(signature)) return doubt('signature_invalid', 'The signature is malformed.');
    const keys = await keysOf(serial, budget);
    if (keys.length === 0) return doubt('serial_unknown', `The serial ${serial} is unknown.`);
    const text = answerText(timestamp, nonce, rawBody);
    const signer = keys.find(({ key }) => verifyRsa(text, signature, key));
    return signer ? { signer } : doubt('signature_invalid', `The signature does not match the key ${serial}.`);
  };
}

function doubt(cause: Doubt['cause'], detail: string): Judgement {
  return { doubt: { cause, detail } };
}

/** What the four headers say; undefined unless all are there. */
export function readSigned(
  headers: Headers,
): Record<'timestamp' | 'nonce' | 'serial' | 'signature', string> | undefined {
  const {
    'wechatpay-timestamp': timestamp,
    'wechatpay-nonce': nonce,
    'wechatpay-serial': serial,
    'wechatpay-signature': signature,
  } = headers;
  return timestamp && nonce && serial && signature ? { timestamp, nonce, serial, signature } : undefined;
}
