import type { KeyObject } from 'node:crypto';
import type { UnknownCause } from '../../payments/channel.ts';
import { createKeyRing } from '../key-ring.ts';
import type { Settings } from './settings.ts';
import { answerText, isFresh, plainSerial, verifyRsa } from './signature.ts';

/** Header names are lower-case. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Why something was not signed by WeChat Pay, in stable words. */
export interface Doubt {
  cause: Extract<UnknownCause, 'unsigned' | 'clock_skew' | 'serial_unknown' | 'signature_invalid'>;
  detail: string;
}

/** Judges answers and notices by their four headers and raw bytes; undefined = genuine. */
export type Judge = (headers: Headers, rawBody: Buffer) => Promise<Doubt | undefined>;

/** Fetches the platform's current certificates as verify keys by serial; throws when that fails. */
export type FetchPlatformKeys = () => Promise<Iterable<readonly [serial: string, key: KeyObject]>>;

/**
 * Judges with all keys of an account at once, platform certificates and WeChat Pay public keys side by side. A platform
 * serial that is not known is fetched (key-ring.ts says how often) and fails closed.
 */
export function createJudge(settings: Settings, now: () => Date, fetchPlatformKeys: FetchPlatformKeys): Judge {
  const { publicKeyIds, publicKeys, platformKeys } = settings;
  const ids = new Set(publicKeyIds.map(plainSerial));
  const ring = createKeyRing({ keys: platformKeys, now, normalise: plainSerial, refresh: fetchPlatformKeys });

  async function keysOf(serial: string): Promise<readonly KeyObject[]> {
    if (ids.has(plainSerial(serial))) return publicKeys;
    // Public keys are handed out by hand only, so asking for one is of no use.
    if (/^PUB_KEY_ID_/i.test(serial)) return [];
    const key = await ring.find(serial);
    return key ? [key] : [];
  }

  return async (headers, rawBody) => {
    const signed = readSigned(headers);
    if (!signed) return { cause: 'unsigned', detail: 'The Wechatpay signature headers are incomplete.' };
    const { timestamp, nonce, serial, signature } = signed;
    if (!isFresh(timestamp, now())) return { cause: 'clock_skew', detail: `Signed at ${timestamp}.` };
    const keys = await keysOf(serial);
    if (keys.length === 0) return { cause: 'serial_unknown', detail: `The serial ${serial} is unknown.` };
    const text = answerText(timestamp, nonce, rawBody);
    if (keys.some((key) => verifyRsa(text, signature, key))) return undefined;
    return { cause: 'signature_invalid', detail: `The signature does not match the key ${serial}.` };
  };
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
