import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { CliError, EXIT, networkCause } from '../../errors.ts';
import { openExchange, readText } from '../../http.ts';

/** Delivers one event to a local receiver: its id, and the body that a webhook would have. */
export type Forward = (id: string, body: string) => Promise<void>;

/** A receiver that answers so often without accepting will not. */
const MOST_REFUSALS = 5;
/** A receiver that is away is asked every two seconds at least. */
const LONGEST_PAUSE_AT = 2;

/** What a proxy answers while the application behind it starts. */
const RESTARTING = new Set([502, 503, 504]);

/** What came of one try. */
interface Tried {
  /** What is shown: `204 12 ms`. */
  outcome: string;
  accepted: boolean;
  /** Nobody is there at the moment: it will be there again. */
  isAway: boolean;
}

/**
 * Delivers with the headers of Standard Webhooks and says what came of each event. A receiver that is away is waited for; one that
 * answers five times without accepting ends with exit 7.
 */
export function createForward(context: Context, url: string, secret: string): Forward {
  const { print, terminal, retryPause } = context;
  return async (id, body) => {
    let refusals = 0;
    for (let tries = 0, told = false; ; tries += 1) {
      const { outcome, accepted, isAway } = await post(context, url, secret, { id, body });
      if (!isAway) await print.done(`  → ${outcome}`);
      if (accepted) return;
      if (isAway && !told) await print.note(`  → ${outcome}; waiting for ${url}`);
      told ||= isAway;
      refusals += isAway ? 0 : 1;
      if (refusals === MOST_REFUSALS)
        throw new CliError('forward_failed', EXIT.tryAgain, `${url} did not accept event ${id}: ${outcome}.`);
      const pause = isAway ? retryPause(Math.min(tries, LONGEST_PAUSE_AT)) : retryPause(refusals - 1);
      await wait(pause, undefined, { signal: terminal.signal });
    }
  };
}

async function post(
  { terminal: { now, signal } }: Context,
  url: string,
  secret: string,
  { id, body }: { id: string; body: string },
): Promise<Tried> {
  const timestamp = String(Math.floor(now().getTime() / 1000));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature(secret, id, timestamp, body),
  };
  const request = { method: 'POST', url: new URL(url), headers, body, timeoutMs: 10_000, signal };
  const begun = performance.now();
  try {
    const answer = await openExchange(request);
    await readText(answer, request);
    const status = answer.statusCode ?? 0;
    const outcome = `${status} ${Math.round(performance.now() - begun)} ms`;
    return { outcome, accepted: status >= 200 && status < 300, isAway: RESTARTING.has(status) };
  } catch (error) {
    if (signal.aborted) throw error;
    // One that takes the connection and does not answer is there.
    const isAway = error instanceof CliError && error.code === 'unreachable';
    const outcome = isAway || !(error instanceof Error) ? networkCause(error) : error.message;
    return { outcome, accepted: false, isAway };
  }
}

/** The `webhook-signature` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
export function signature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
