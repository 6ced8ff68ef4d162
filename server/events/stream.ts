import { Readable } from 'node:stream';
import type { EventFilter } from '../db/queries/events.ts';
import { AppError } from '../errors.ts';
import type { EventFeed } from './feed.ts';
import { viewConsoleEvent } from './view.ts';

export interface StreamOptions {
  heartbeatMs?: number;
  /**
   * Maximum time (ms) between two checks of the token while no message is sent. The token is also checked before each
   * message.
   */
  recheckMs?: number;
  /** Whether the server is shutting down. The streams then end, and their clients reconnect to another server. */
  isDraining?: () => boolean;
}

/** The texts that a stream sends, one text per poll. An empty text means that there are no new events. */
type Looks = AsyncIterable<string>;

/** Checks the caller's token; throws if the token is no longer valid. */
export type StillAllowed = () => Promise<unknown>;

/** Opens event streams (WHATWG HTML §9.2). If the caller's token becomes invalid, a stream sends `error` and ends. */
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
        // Ends the stream if the client has disconnected or the server is shutting down. `destroyed` is tested, because
        // the event `close` is emitted only after this loop ends.
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

/**
 * Returns the error code with which the stream ends; undefined = the token is valid. If the check itself fails, the
 * stream also ends, because nothing may be sent without a check.
 */
async function refusalOf(check: StillAllowed): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    const isRefusal = error instanceof AppError && (error.status === 401 || error.status === 403);
    return isRefusal ? error.code : 'unavailable';
  }
}

interface StreamRequest {
  filter: EventFilter;
  /**
   * The last sequence number that the client received. undefined = the client gets only new events. If `filter.since`
   * is set, it also gets all events since that time.
   */
  after: bigint | undefined;
  stillAllowed: StillAllowed;
}

/** Creates the function that opens streams of the event log; the `id` of a message is the sequence number. */
export function eventStreams(feed: EventFeed, options: StreamOptions = {}) {
  const open = guardedStreams(options);
  return ({ filter, after, stillAllowed }: StreamRequest): Readable => open(follow(feed, filter, after), stillAllowed);
}

export type OpenEventStream = ReturnType<typeof eventStreams>;

async function* follow(feed: EventFeed, filter: EventFilter, after: bigint | undefined): AsyncGenerator<string> {
  const head = await feed.join();
  try {
    // The first message has an id but no data. A browser raises no event for it, but remembers the id, and sends it
    // when it reconnects. The stream then continues after this number.
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
