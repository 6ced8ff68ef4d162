import type { Readable } from 'node:stream';
import type { EventFilter } from '../db/queries/events.ts';
import type { EventFeed } from './feed.ts';
import { guardedStreams, type StillAllowed, type StreamOptions } from './guarded-stream.ts';
import { viewConsoleEvent } from './view.ts';

/** How a stream is followed. */
export interface StreamRequest {
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
