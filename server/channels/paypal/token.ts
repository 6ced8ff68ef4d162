import { TransportFailed } from '../../payments/channel.ts';
import type { Transport, WireRequest } from '../../payments/channel.ts';
import { readReply, readToken, unknown } from './answers.ts';
import type { Reply, Unknown } from './answers.ts';

/** An access token, or why there is none. */
export type TokenReply = { kind: 'token'; token: string } | Unknown;

/** Hands out one client's access token. */
export interface TokenSource {
  /** The cached token, or a new one; callers that come at once share one request. */
  get(): Promise<TokenReply>;
  /** A new token, whatever is cached. */
  renew(): Promise<TokenReply>;
  /** Forgets this token (PayPal refused it); a newer one stays. */
  drop(token: string): void;
}

interface Held {
  token: string;
  renewAt: number;
  deadAt: number;
}

const RENEW_AT = 0.9;

/** Keeps one client's token: renewed at 90 % of its life, by one request at a time. */
export function createTokenSource(request: WireRequest, send: Transport, now: () => Date): TokenSource {
  let held: Held | null = null;
  let asking: Promise<TokenReply> | null = null;

  async function ask(): Promise<TokenReply> {
    const askedAt = now().getTime();
    const reply = readTokenReply(await sendQuietly(send, request));
    if (reply.kind === 'unknown') return reply;
    const life = reply.seconds * 1000;
    held = { token: reply.token, renewAt: askedAt + life * RENEW_AT, deadAt: askedAt + life };
    return { kind: 'token', token: reply.token };
  }

  function renew(): Promise<TokenReply> {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  }

  return {
    renew,
    async get() {
      if (held && now().getTime() < held.renewAt) return { kind: 'token', token: held.token };
      const reply = await renew();
      // In its last tenth the old token still works, so a failed renewal stops nobody.
      if (reply.kind === 'unknown' && held && now().getTime() < held.deadAt)
        return { kind: 'token', token: held.token };
      return reply;
    },
    drop(token) {
      if (held?.token === token) held = null;
    },
  };
}

/** Sends once and sorts the answer; a failed transport is an unknown reply. Throws only what is a fault of ours. */
export async function sendQuietly(send: Transport, request: WireRequest): Promise<Reply & { status?: number }> {
  try {
    const answer = await send(request);
    return { ...readReply(answer), status: answer.status };
  } catch (error) {
    if (error instanceof TransportFailed) return unknown(error.why, error.message);
    throw error;
  }
}

function readTokenReply(
  reply: Reply & { status?: number },
): { kind: 'token'; token: string; seconds: number } | Unknown {
  if (reply.status === 401) return unknown('misconfigured', 'PayPal rejected clientId and clientSecret.');
  if (reply.kind === 'unknown') return { kind: 'unknown', cause: reply.cause, detail: reply.detail };
  if (reply.kind === 'refused')
    return unknown('rejected', `The token request was refused: ${reply.code}: ${reply.reason}`);
  const token = readToken(reply.body);
  if (!token) return unknown('unparsable', 'The token response contains no token.');
  return { kind: 'token', token: token.access_token, seconds: token.expires_in };
}
