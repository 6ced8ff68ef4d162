import { Readable } from 'node:stream';
import type { EventFilter } from '../db/queries/events.ts';
import { AppError } from '../errors.ts';
import type { EventFeed } from './feed.ts';
import { viewConsoleEvent } from './view.ts';

/** The timing of streams; tests use shorter times. */
export interface StreamOptions {
  heartbeatMs?: number;
  /** Longest time without a check of the credential while nothing is sent; each message is checked before it is sent. */
  recheckMs?: number;
  /** The server is shutting down: streams end, and their readers reconnect to another one. */
  isDraining?: () => boolean;
}

/** The text of a stream, one per poll; an empty text means no news. */
type Looks = AsyncIterable<string>;

/** Throws when the caller's credential is no longer valid. */
export type StillAllowed = () => Promise<unknown>;

/** Creates event streams (text/event-stream, WHATWG HTML §9.2) that end with the message `error` once the credential is no longer valid. */
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
        // The reader has gone; `close` itself would come after the end of this loop.
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

/** Returns the code of the refusal. A failed check also ends the stream, because nothing is sent unchecked. */
async function refusalOf(check: StillAllowed): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    const isRefusal = error instanceof AppError && (error.status === 401 || error.status === 403);
    return isRefusal ? error.code : 'unavailable';
  }
}

/** A request to follow the event log. */
interface StreamRequest {
  filter: EventFilter;
  /** The last number that the reader received; undefined starts with new events. */
  after: bigint | undefined;
  stillAllowed: StillAllowed;
}

/** Creates event streams: `id` is the sequence number, `data` the console view of the event. */
export function eventStreams(feed: EventFeed, options: StreamOptions = {}) {
  const open = guardedStreams(options);
  return ({ filter, after, stillAllowed }: StreamRequest): Readable => open(follow(feed, filter, after), stillAllowed);
}

/** Opens an event stream. */
export type OpenEventStream = ReturnType<typeof eventStreams>;

async function* follow(feed: EventFeed, filter: EventFilter, after: bigint | undefined): AsyncGenerator<string> {
  const head = await feed.join();
  try {
    // A message without data raises no browser event but sets the id, so a reconnection continues from here.
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
