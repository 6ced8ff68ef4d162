import { Buffer } from 'node:buffer';
import { sign, type KeyObject } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { SIMULATOR_CA } from '../../../../server/channels/paypal/settings.ts';
import type { Channel, ChannelInput, WireAnswer } from '../../../../server/payments/channel.ts';
import {
  issueCertificate,
  newEcKeys,
  newRsaKeys,
  type DistinguishedName,
} from '../../../../server/simulator/certificates.ts';
import { FIELDS, scripted } from './scripted.ts';

export const SIMULATOR_URL = 'http://127.0.0.1:8081';
export const CERT_URL = `${SIMULATOR_URL}/paypal/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270`;
export const CN = 'messageverificationcerts.simulator.paypal.com';

const named = (name: string): DistinguishedName => ({ C: 'US', O: 'Test', OU: 'Test', CN: name });

const [rootKeys, keys, otherKeys, ecKeys] = await Promise.all([newRsaKeys(), newRsaKeys(), newRsaKeys(), newEcKeys()]);

const issue = (
  subject: string,
  issuer: string,
  publicKey: KeyObject,
  signer: KeyObject,
  ca = false,
  days = 10,
): string => issueCertificate({ subject: named(subject), issuer: named(issuer), publicKey, signer, ca, days });

const root = issue('Root', 'Root', rootKeys.publicKey, rootKeys.privateKey, true);
const middle = issue('Middle', 'Root', otherKeys.publicKey, rootKeys.privateKey, true);
const leafOnly = issue(CN, 'Root', keys.publicKey, rootKeys.privateKey);

/** Valid and invalid certificate files. */
export const PEMS = {
  root,
  good: leafOnly,
  chained: issue(CN, 'Middle', keys.publicKey, otherKeys.privateKey) + middle,
  middle,
  withoutMiddle: issue(CN, 'Middle', keys.publicKey, otherKeys.privateKey),
  otherRoot: issue(CN, 'Root', keys.publicKey, otherKeys.privateKey),
  selfSigned: issue(CN, CN, keys.publicKey, keys.privateKey),
  byLeaf: issue(CN, CN, otherKeys.publicKey, keys.privateKey) + leafOnly,
  otherName: issue('messageverificationcerts.paypal.com.evil.example', 'Root', keys.publicKey, rootKeys.privateKey),
  bareName: issue('xpaypal.com', 'Root', keys.publicKey, rootKeys.privateKey),
  expired: issue(CN, 'Root', keys.publicKey, rootKeys.privateKey, false, -0.5),
  elliptic: issue(CN, 'Root', ecKeys.publicKey, rootKeys.privateKey),
  empty: '',
};

/** Headers for a body, signed by PayPal's published algorithm. */
export function signedHeaders(
  body: Buffer,
  more: Record<string, string | undefined> = {},
  webhookId = FIELDS.webhookId,
): Record<string, string | undefined> {
  const id = 'b1b6ba60-1495-11ee-9c62-2db6b6d49f18';
  const time = '2026-03-01T08:05:01Z';
  const text = `${id}|${time}|${webhookId}|${crc32(body)}`;
  return {
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': sign('RSA-SHA256', Buffer.from(text), keys.privateKey).toString('base64'),
    'paypal-cert-url': CERT_URL,
    'paypal-auth-algo': 'SHA256withRSA',
    ...more,
  };
}

/** A simulator-mode channel whose certificate URL returns `file`. */
export function withCertificate(
  file: string | WireAnswer = PEMS.good,
  input: Partial<ChannelInput> = {},
): { channel: Channel; fetched: () => string[] } {
  const answer = typeof file === 'string' ? { status: 200, headers: {}, body: Buffer.from(file) } : file;
  const { channel, sent } = scripted(() => answer, {
    mode: 'simulator',
    simulatorUrl: SIMULATOR_URL,
    pems: { [SIMULATOR_CA]: [PEMS.root] },
    now: () => new Date(),
    ...input,
  });
  return { channel, fetched: () => sent.filter(({ about }) => about.call === 'certificate').map(({ url }) => url) };
}
