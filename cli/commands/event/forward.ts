import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { CliError, EXIT, networkCause } from '../../errors.ts';
import { openExchange, readText } from '../../http.ts';
import type { Terminal } from '../../terminal.ts';

/** One delivery to a local receiver. */
export interface Delivery {
  url: string;
  /** `whsec_` and base64, as in Standard Webhooks. */
  secret: string;
  id: string;
  body: string;
}

const PAUSES_MS = [500, 1000, 2000, 4000];

/** Delivers an event with the headers of Standard Webhooks; a receiver that fails five times ends with exit 7. */
export async function forward(terminal: Terminal, delivery: Delivery): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const failure = await post(terminal, delivery);
    if (failure === undefined) return;
    const pause = PAUSES_MS[tries];
    if (pause === undefined)
      throw new CliError(
        'forward_failed',
        EXIT.tryAgain,
        `${delivery.url} did not accept event ${delivery.id}: ${failure}.`,
      );
    await wait(pause, undefined, { signal: terminal.signal });
  }
}

async function post({ now, signal }: Terminal, { url, secret, id, body }: Delivery): Promise<string | undefined> {
  const timestamp = String(Math.floor(now().getTime() / 1000));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature(secret, id, timestamp, body),
  };
  const request = { method: 'POST', url: new URL(url), headers, body, timeoutMs: 10_000, signal };
  try {
    const answer = await openExchange(request);
    await readText(answer, request);
    const status = answer.statusCode ?? 0;
    return status >= 200 && status < 300 ? undefined : `HTTP ${status}`;
  } catch (error) {
    if (signal.aborted) throw error;
    return networkCause(error);
  }
}

/** The `webhook-signature` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
export function signature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
