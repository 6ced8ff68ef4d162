import type { ChannelMessageRow } from './entities/orders.ts';
import type { Store } from './store.ts';

/** A message to or from a channel, before it has a number. */
export type NewMessage = Omit<ChannelMessageRow, 'id'>;

/** Keeps channel messages for the timeline. They are not facts: writing them never delays or stops money. */
export interface MessageLog {
  record(message: NewMessage): void;
  /** Writes what is waiting. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const DELAY_MS = 100;
const MAX_WAITING = 5_000;

/** A log that writes what has gathered every tenth of a second in one go; when the database is gone the oldest are dropped. */
export function createMessageLog(store: Store, failed: (error: unknown) => void): MessageLog {
  let waiting: NewMessage[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  return { record, flush, close };

  function record(message: NewMessage): void {
    if (waiting.length >= MAX_WAITING) waiting.shift();
    waiting.push(message);
    timer ??= setTimeout(() => void flush(), DELAY_MS).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) writing = writing.then(() => write(batch)).catch(failed);
    return writing;
  }

  async function write(batch: readonly NewMessage[]): Promise<void> {
    await store.transaction(async (tx) => tx.messages.insertMany(batch));
  }

  async function close(): Promise<void> {
    await flush();
  }
}
