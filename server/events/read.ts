import { type EventFilter, listEvents } from '../db/queries/events.ts';
import type { EventPorts } from './ports.ts';
import { viewConsoleEvent, viewEvent } from './view.ts';

/** A page of the log; `next` is the number after which the following page begins. */
export interface EventPage<Item> {
  items: Item[];
  next: bigint | null;
}

/** Reading the durable log by number: nothing is missed, nothing comes twice. */
export function readEvents({ store }: Pick<EventPorts, 'store'>) {
  const page = async <Item>(
    filter: EventFilter,
    after: bigint,
    limit: number,
    view: (row: Awaited<ReturnType<typeof listEvents>>[number]) => Item,
  ): Promise<EventPage<Item>> => {
    const rows = await store.read((tx) => listEvents(tx, filter, after, limit + 1));
    const shown = rows.slice(0, limit);
    return { items: shown.map(view), next: rows.length > limit ? (shown.at(-1)?.sequence ?? null) : null };
  };
  return {
    /** The events of one app. */
    own: (filter: EventFilter & { clientId: string }, after: bigint, limit: number) =>
      page(filter, after, limit, viewEvent),
    /** The events of all apps. */
    all: (filter: EventFilter, after: bigint, limit: number) => page(filter, after, limit, viewConsoleEvent),
  };
}

/** What routes may call. */
export type EventReading = ReturnType<typeof readEvents>;
