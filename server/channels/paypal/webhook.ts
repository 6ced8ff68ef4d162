import { Buffer } from 'node:buffer';
import { hash, verify } from 'node:crypto';
import { NoticeNotGenuine } from '../../payments/channel.ts';
import type { WebhookKey } from './certificate-cache.ts';
import { readEvent } from './notice.ts';
import { type Transmission, webhookText } from './signature.ts';

/** That of an RSA key of 2048 bits. */
const SHORTEST_SIGNATURE = 256;

/**
 * In the place of a webhook's id in what the dashboard's try-outs are signed over (developer.paypal.com, "Webhooks simulator"): anybody
 * may have one sent, so it says nothing.
 */
const TRY_OUT = 'WEBHOOK_ID';

/** Where keys come from, and who decides when a key comes without the certificates that vouch for it. */
export interface Verifier {
  webhookId: string;
  findKey(certificateUrl: string): Promise<WebhookKey>;
  /** Has PayPal itself verify the delivery; throws NoticeUndecided when it does not say. */
  askPaypal(transmission: Transmission, body: Buffer): Promise<boolean>;
}

/** A genuine delivery. */
export interface Verified {
  noticeId: string;
  isTest: boolean;
  /** False: the certificate's chain was incomplete, and PayPal itself verified it. */
  isChained: boolean;
}

/**
 * Checks a webhook's signature and returns an id for this very body; throws NoticeNotGenuine.
 * The signature covers only a CRC32, so a body can be forged from a captured delivery: the id therefore includes a hash
 * of the body, so that a forged twin never takes the place of the genuine message, and nothing in it is a fact.
 */
export async function verifyWebhook(
  headers: Record<string, string | undefined>,
  body: Buffer,
  { webhookId, findKey, askPaypal }: Verifier,
): Promise<Verified> {
  const sent: Transmission = {
    id: header(headers, 'paypal-transmission-id', /^[\w-]{1,50}$/),
    time: header(headers, 'paypal-transmission-time', /^[\w:.+-]{1,40}$/),
    certUrl: header(headers, 'paypal-cert-url', /^[\x21-\x7e]{1,500}$/),
    signature: header(headers, 'paypal-transmission-sig', /^[A-Za-z0-9+/]{1,1400}={0,2}$/),
    algorithm: header(headers, 'paypal-auth-algo', /^SHA256withRSA$/),
  };
  // Whatever can be known without the certificate is known before anybody is asked for it.
  readEvent(body);
  const signature = Buffer.from(sent.signature, 'base64');
  if (signature.length < SHORTEST_SIGNATURE)
    throw new NoticeNotGenuine('signature_invalid', 'The signature is too short.');
  const { key, isChained } = await findKey(sent.certUrl);
  const signedFor = [webhookId, TRY_OUT].find((name) => {
    const text = Buffer.from(webhookText(sent.id, sent.time, name, body), 'utf8');
    return verify('RSA-SHA256', text, key, signature);
  });
  if (signedFor === undefined)
    throw new NoticeNotGenuine('signature_invalid', 'The signature does not match the message.');
  const isTest = signedFor !== webhookId;
  if (!isChained && !isTest && !(await askPaypal(sent, body)))
    throw new NoticeNotGenuine('chain_incomplete', 'The certificate chain is incomplete, and PayPal does not vouch.');
  return { noticeId: `${sent.id}.${hash('sha256', body).slice(0, 24)}`, isTest, isChained };
}

function header(headers: Record<string, string | undefined>, name: string, form: RegExp): string {
  const value = headers[name];
  if (!value) throw new NoticeNotGenuine('unsigned', `The header ${name} is missing.`);
  if (!form.test(value)) throw new NoticeNotGenuine('malformed', `The header ${name} is malformed.`);
  return value;
}
