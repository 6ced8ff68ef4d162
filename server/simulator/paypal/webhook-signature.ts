import { sign, verify, X509Certificate, type KeyObject } from 'node:crypto';
import { webhookText } from '../../channels/paypal/signature.ts';

/** What a delivery is signed over and with. */
export interface Transmission {
  id: string;
  /** RFC 3339; the time of the first delivery, on every delivery. */
  time: string;
  webhookId: string;
  certUrl: string;
}

/** The headers of a delivery: RSA-SHA256 over id, time, webhook id and the CRC32 of the bytes. */
export function signedHeaders(
  body: Buffer,
  { id, time, webhookId, certUrl }: Transmission,
  key: KeyObject | string,
): Record<string, string> {
  const signature = sign('RSA-SHA256', Buffer.from(webhookText(id, time, webhookId, body)), key);
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'PayPal/AUHR-1.0 (simulator)',
    'PAYPAL-AUTH-ALGO': 'SHA256withRSA',
    'PAYPAL-AUTH-VERSION': 'v2',
    'PAYPAL-CERT-URL': certUrl,
    'PAYPAL-TRANSMISSION-ID': id,
    'PAYPAL-TRANSMISSION-SIG': signature.toString('base64'),
    'PAYPAL-TRANSMISSION-TIME': time,
  };
}

/** Whether a signature fits a body, for the channel's own verify call. */
export function fits(
  body: Buffer,
  { id, time, webhookId }: Transmission,
  signature: string,
  certificate: string,
): boolean {
  const text = Buffer.from(webhookText(id, time, webhookId, body));
  return verify('RSA-SHA256', text, new X509Certificate(certificate).publicKey, Buffer.from(signature, 'base64'));
}
