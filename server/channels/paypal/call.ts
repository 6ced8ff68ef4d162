import type { Transport, WireRequest } from '../../payments/channel.ts';
import { unknown } from './answers.ts';
import type { Reply } from './answers.ts';
import { sendQuietly } from './token.ts';
import type { TokenSource } from './token.ts';

/** Sends a request with the client's token. Never throws for anything PayPal does. */
export type Call = (request: WireRequest) => Promise<Reply & { status?: number }>;

/** A caller that renews the token once when PayPal answers 401 (a refused token means that nothing was done). */
export function createCall(send: Transport, tokens: TokenSource): Call {
  return async (request) => {
    const first = await attempt(request);
    if (first.status !== 401) return first;
    const second = await attempt(request);
    return second.status === 401
      ? unknown('misconfigured', 'PayPal rejected a token that it had just issued.')
      : second;
  };

  async function attempt(request: WireRequest): Promise<Reply & { status?: number }> {
    const held = await tokens.get();
    if (held.kind === 'unknown') return held;
    const headers = { ...request.headers, authorization: `Bearer ${held.token}` };
    const reply = await sendQuietly(send, { ...request, headers });
    if (reply.status === 401) tokens.drop(held.token);
    return reply;
  }
}
