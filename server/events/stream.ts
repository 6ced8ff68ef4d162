import { Readable } from 'node:stream';
import type { EventFilter } from '../db/queries/events.ts';
import type { EventFeed } from './feed.ts';
import { viewConsoleEvent } from './view.ts';

/** How a stream is followed. */
export interface StreamRequest {
  filter: EventFilter;
  /** The last number that was received; undefined begins with what happens from now on. */
  after: bigint | undefined;
  /** Throws when the caller's credential is no longer good. */
  stillAllowed: () => Promise<unknown>;
}

/** How streams behave; tests have shorter times. */
export interface StreamOptions {
  heartbeatMs?: number;
  /** How long a stream that sends nothing goes unchecked; nothing is ever sent unchecked. */
  recheckMs?: number;
  /** The server is going down: streams end, their readers come back to another one. */
  isDraining?: () => boolean;
}

/** Makes event streams (text/event-stream, WHATWG HTML §9.2): `id` is the sequence, `data` the event as the console sees it. */
export function eventStreams(
  feed: EventFeed,
  { heartbeatMs = 15_000, recheckMs = 1_000, isDraining = () => false }: StreamOptions = {},
) {
  return ({ filter, after, stillAllowed }: StreamRequest): Readable => {
    let closed = false;
    const body = Readable.from(follow(), { objectMode: false, highWaterMark: 64 * 1024 });
    body.once('close', () => (closed = true));
    return body;

    async function* follow(): AsyncGenerator<Buffer> {
      const head = await feed.join();
      try {
        // Without data a browser raises no event for it, but takes the id: a reconnection goes on from here.
        let cursor = after ?? (filter.since ? 0n : head);
        yield Buffer.from(`: ready\nid: ${cursor}\nevent: ready\n\n`);
        let sent = performance.now();
        let checked = sent;
        while (!closed && !isDraining() && !feed.stopped) {
          const { events, upTo } = await feed.since(filter, cursor);
          if (events.length > 0 || performance.now() - checked >= recheckMs) {
            const refusal = await refusalOf(stillAllowed);
            if (refusal) return yield Buffer.from(`event: error\ndata: ${JSON.stringify({ code: refusal })}\n\n`);
            checked = performance.now();
          }
          const isBehind = events.length > 0 && upTo === events.at(-1)?.sequence;
          cursor = upTo;
          if (events.length > 0) {
            yield Buffer.from(events.map(message).join(''));
            sent = performance.now();
          } else if (performance.now() - sent >= heartbeatMs) {
            yield Buffer.from(': heartbeat\n\n');
            sent = performance.now();
          }
          if (!isBehind) await feed.tick();
        }
      } finally {
        feed.leave();
      }
    }
  };
}

/** What routes may call. */
export type OpenEventStream = ReturnType<typeof eventStreams>;

function message(event: Parameters<typeof viewConsoleEvent>[0]): string {
  return `id: ${event.sequence}\ndata: ${JSON.stringify(viewConsoleEvent(event))}\n\n`;
}

async function refusalOf(check: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    // A database that is away for a moment says nothing about the credential, but nothing is sent unchecked either.
    return error instanceof Error && 'code' in error ? String(error.code) : 'unavailable';
  }
}
