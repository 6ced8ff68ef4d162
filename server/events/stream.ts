import { Readable } from 'node:stream';
import type { EventFilter } from '../db/queries/events.ts';
import { AppError } from '../errors.ts';
import type { EventFeed } from './feed.ts';
import { viewConsoleEvent } from './view.ts';

/** How streams behave; tests have shorter times. */
export interface StreamOptions {
  heartbeatMs?: number;
  /** How long a stream that sends nothing goes unchecked; nothing is ever sent unchecked. */
  recheckMs?: number;
  /** The server is going down: streams end, their readers come back to another one. */
  isDraining?: () => boolean;
}

/** What a stream sends, look by look; an empty text is a look without anything new. */
type Looks = AsyncIterable<string>;

/** Throws when the caller's credential is no longer good. */
export type StillAllowed = () => Promise<unknown>;

/** Makes event streams (text/event-stream, WHATWG HTML §9.2) that end with the message `error` once their reader is no longer let in. */
export function guardedStreams({
  heartbeatMs = 15_000,
  recheckMs = 1_000,
  isDraining = () => false,
}: StreamOptions = {}) {
  return (looks: Looks, stillAllowed: StillAllowed): Readable => {
    const body = Readable.from(guarded(), { objectMode: false, highWaterMark: 64 * 1024 });
    return body;

    async function* guarded(): AsyncGenerator<Buffer> {
      let sent = performance.now();
      let checked = Number.NEGATIVE_INFINITY;
      for await (const text of looks) {
        // Nobody reads any more: `close` itself would come after the end of this loop.
        if (body.destroyed || isDraining()) return;
        if (text !== '' || performance.now() - checked >= recheckMs) {
          const refusal = await refusalOf(stillAllowed);
          if (refusal) return yield Buffer.from(`event: error\ndata: ${JSON.stringify({ code: refusal })}\n\n`);
          checked = performance.now();
        }
        const isQuiet = performance.now() - sent >= heartbeatMs;
        if (text === '' && !isQuiet) continue;
        yield Buffer.from(text === '' ? ': heartbeat\n\n' : text);
        sent = performance.now();
      }
    }
  };
}

/** A database that is away for a moment says nothing about the credential, but nothing is sent unchecked either. */
async function refusalOf(check: StillAllowed): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    const isRefusal = error instanceof AppError && (error.status === 401 || error.status === 403);
    return isRefusal ? error.code : 'unavailable';
  }
}

/** How a stream is followed. */
interface StreamRequest {
  filter: EventFilter;
  /** The last number that was received; undefined begins with what happens from now on. */
  after: bigint | undefined;
  stillAllowed: StillAllowed;
}

/** Makes streams of events: `id` is the sequence, `data` the event as the console sees it. */
export function eventStreams(feed: EventFeed, options: StreamOptions = {}) {
  const open = guardedStreams(options);
  return ({ filter, after, stillAllowed }: StreamRequest): Readable => open(follow(feed, filter, after), stillAllowed);
}

/** What routes may call. */
export type OpenEventStream = ReturnType<typeof eventStreams>;

async function* follow(feed: EventFeed, filter: EventFilter, after: bigint | undefined): AsyncGenerator<string> {
  const head = await feed.join();
  try {
    // Without data a browser raises no event for it, but takes the id: a reconnection goes on from here.
    let cursor = after ?? (filter.since ? 0n : head);
    yield `: ready\nid: ${cursor}\nevent: ready\n\n`;
    while (!feed.stopped) {
      const { events, upTo } = await feed.since(filter, cursor);
      const isBehind = events.length > 0 && upTo === events.at(-1)?.sequence;
      cursor = upTo;
      yield events.map(message).join('');
      if (!isBehind) await feed.tick();
    }
  } finally {
    feed.leave();
  }
}

function message(event: Parameters<typeof viewConsoleEvent>[0]): string {
  return `id: ${event.sequence}\ndata: ${JSON.stringify(viewConsoleEvent(event))}\n\n`;
}
