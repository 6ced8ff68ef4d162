import { Buffer } from 'node:buffer';
import { hash, verify } from 'node:crypto';
import { NoticeNotGenuine } from '../../payments/channel.ts';
import type { FindWebhookKey } from './certificate-cache.ts';
import { readEvent } from './notice.ts';
import { webhookText } from './signature.ts';

/** That of an RSA key of 2048 bits. */
const SHORTEST_SIGNATURE = 256;

/**
 * Checks a webhook's signature and returns an id for this very body; throws NoticeNotGenuine.
 * The signature covers only a CRC32, so a body can be forged from a captured delivery: the id therefore includes a hash
 * of the body, so that a forged twin never takes the place of the genuine message, and nothing in it is a fact.
 */
export async function verifyWebhook(
  headers: Record<string, string | undefined>,
  body: Buffer,
  webhookId: string,
  findKey: (certificateUrl: string) => ReturnType<FindWebhookKey>,
): Promise<string> {
  const id = header(headers, 'paypal-transmission-id', /^[\w-]{1,64}$/);
  const time = header(headers, 'paypal-transmission-time', /^[\w:.+-]{1,40}$/);
  const url = header(headers, 'paypal-cert-url', /^[\x21-\x7e]{1,500}$/);
  const signature = header(headers, 'paypal-transmission-sig', /^[A-Za-z0-9+/]{1,1400}={0,2}$/);
  header(headers, 'paypal-auth-algo', /^SHA256withRSA$/);
  // Whatever can be known without the certificate is known before anybody is asked for it.
  readEvent(body);
  if (Buffer.from(signature, 'base64').length < SHORTEST_SIGNATURE)
    throw new NoticeNotGenuine('signature_invalid', 'The signature is too short.');
  const key = await findKey(url);
  const text = Buffer.from(webhookText(id, time, webhookId, body), 'utf8');
  if (!verify('RSA-SHA256', text, key, Buffer.from(signature, 'base64'))) {
    throw new NoticeNotGenuine('signature_invalid', 'The signature does not match the message.');
  }
  return `${id}.${hash('sha256', body).slice(0, 24)}`;
}

function header(headers: Record<string, string | undefined>, name: string, form: RegExp): string {
  const value = headers[name];
  if (!value) throw new NoticeNotGenuine('unsigned', `The header ${name} is missing.`);
  if (!form.test(value)) throw new NoticeNotGenuine('malformed', `The header ${name} is malformed.`);
  return value;
}
