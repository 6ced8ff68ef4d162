import { createMessageQueue } from './message-queue.ts';
import type { NewMessage, Waiting } from './queries/messages.ts';

/** Keeps channel messages for the timeline. They are not facts: writing them never delays or stops money. */
export interface MessageLog {
  record(message: NewMessage): void;
  /** Writes what is waiting; resolves when nothing is, or when a write failed. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** What a log writes with, and who hears of what it cannot write. */
export interface MessageLogPorts {
  write: (batch: readonly Waiting[]) => Promise<void>;
  failed: (error: unknown) => void;
  /** So many messages are lost; their orders get a mark. */
  dropped: (count: number) => void;
}

/** The first of a few messages waits this long for the others. */
const GATHER_MS = 100;
/** After a write that failed. */
const PAUSE_MS = 1_000;

/**
 * A log with one write under way: whatever comes meanwhile goes in the next. What does not fit into the bytes that may wait,
 * or could not be written, is dropped, and a mark in its place says so.
 */
export function createMessageLog({ write, failed, dropped }: MessageLogPorts): MessageLog {
  const queue = createMessageQueue();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  return { record, flush, close };

  function record(message: NewMessage): void {
    if (!queue.add(message)) dropped(1);
    if (!writing) begin(GATHER_MS);
  }

  function begin(delayMs: number): void {
    timer ??= setTimeout(() => void flush(), delayMs).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => (writing = undefined));
    return writing;
  }

  async function writeAll(): Promise<void> {
    while (queue.size() > 0) {
      const batch = queue.take();
      try {
        await write(batch);
      } catch (error) {
        failed(error);
        const lost = queue.putMarks(batch);
        if (lost > 0) dropped(lost);
        begin(PAUSE_MS);
        return;
      }
    }
  }

  async function close(): Promise<void> {
    await flush();
    clearTimeout(timer);
  }
}
