import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';

/** The headers of a delivery, as they were sent. */
export interface Transmission {
  id: string;
  time: string;
  certUrl: string;
  signature: string;
  algorithm: string;
}

/** The signed text of a webhook: `id|time|webhook id|CRC32 of the raw body as an unsigned decimal`. (PayPal, Webhooks integration.) */
export function webhookText(transmissionId: string, transmissionTime: string, webhookId: string, body: Buffer): string {
  return [transmissionId, transmissionTime, webhookId, String(crc32(body))].join('|');
}
