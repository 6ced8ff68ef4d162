import type { Event, WebhookEvents } from './operations.ts';

/** An event that the service sends to a webhook; `type` tells the type of `data.object`. */
export type WebhookEvent = WebhookEvents[keyof WebhookEvents] | (Event & { type: 'webhook.test' });

/** Why a message was refused. The codes are stable. */
export type WebhookFault =
  | 'missing_header'
  | 'timestamp_out_of_tolerance'
  | 'signature_mismatch'
  | 'invalid_body'
  | 'invalid_secret';

/** Thrown if a message does not come from the service, or is old. Answer 401, and do not read its body. */
export class WebhookVerificationError extends Error {
  readonly code: WebhookFault;

  constructor(code: WebhookFault, message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
    this.code = code;
  }
}

/** Messages with a timestamp further away than this are refused, in seconds. */
const TOLERANCE = 300;

/**
 * Verifies a message by Standard Webhooks 1.0 (https://www.standardwebhooks.com) and returns its event. `secret` is the
 * signing secret `whsec_…`, or several of them during a rotation: one must match. The case of header names does not
 * matter, nor their class: an object, or pairs (`Headers`, `Map`). `body` is the body as received: the exact bytes or the exact text, before any parser. `now` is the time of the
 * receipt, in milliseconds since 1970. Throws `WebhookVerificationError` with a stable `code`.
 */
export async function verifyWebhook(
  secret: string | readonly string[],
  headers: Iterable<readonly [string, string]> | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string | Uint8Array,
  now: number = Date.now(),
): Promise<WebhookEvent> {
  const given = new Map<string, string>();
  const pairs: Iterable<readonly [string, string | readonly string[] | undefined]> = isPairs(headers)
    ? headers
    : Object.entries(headers);
  for (const [name, value] of pairs) given.set(name.toLowerCase(), String(value ?? ''));
  const [id = '', at = '', signatures = ''] = ['id', 'timestamp', 'signature'].map((name) =>
    given.get(`webhook-${name}`),
  );
  if (id === '' || at === '' || signatures === '')
    throw new WebhookVerificationError('missing_header', 'A header webhook-id, -timestamp or -signature is missing.');
  // Written so that a time that is no number is refused too.
  if (!/^\d{1,15}$/.test(at) || !(Math.abs(now / 1000 - Number(at)) <= TOLERANCE))
    throw new WebhookVerificationError(
      'timestamp_out_of_tolerance',
      `The timestamp is not within ${TOLERANCE} s of now.`,
    );

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const start = new TextEncoder().encode(`${id}.${at}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  const ours = signatures.split(' ').filter((one) => one.startsWith('v1,'));
  let isGenuine = false;
  for (const one of typeof secret === 'string' ? [secret] : secret) {
    const key = await crypto.subtle.importKey('raw', keyOf(one), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of ours) {
      const mac = bytesOf(signature.slice(3));
      // `verify` compares in constant time.
      if (mac && (await crypto.subtle.verify('HMAC', key, mac, signed))) isGenuine = true;
    }
  }
  if (!isGenuine) throw new WebhookVerificationError('signature_mismatch', 'No signature matches the secret.');
  try {
    // `ignoreBOM` keeps a byte order mark in the text. JSON has none, and the Python client refuses it too.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError('invalid_body', 'The body is signed, but it is not JSON.');
  }
}

function isPairs(headers: Parameters<typeof verifyWebhook>[1]): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers && typeof headers[Symbol.iterator] === 'function';
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = bytesOf(secret.replace(/^whsec_/, ''));
  if (key === undefined || key.length === 0)
    throw new WebhookVerificationError('invalid_secret', 'The secret is not base64 text after whsec_.');
  return key;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
}
