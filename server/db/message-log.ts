import { isRepeatable, MISSING, type NewMessage, type Waiting } from './queries/messages.ts';

/** Stores channel messages for the timeline; storing never delays or fails a payment. */
export interface MessageLog {
  record(message: NewMessage): void;
  /** Writes all waiting messages. The promise is also resolved if a write fails. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface MessageLogPorts {
  write: (batch: readonly Waiting[]) => Promise<void>;
  failed: (error: unknown) => void;
  /** Called with the number of dropped messages; a mark (a row with this number) replaces them in the timeline. */
  dropped: (count: number) => void;
}

/** How long messages are collected before a write. */
const GATHER_MS = 100;
/** Pause after a failed write. */
const PAUSE_MS = 1_000;

/**
 * Creates a log that runs one write at a time. Messages that exceed the memory limit, or whose write failed, are
 * replaced by a mark (a row that contains their number).
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

interface MessageQueue {
  size(): number;
  /** Returns false if the message would exceed the limit; a mark is then added instead of the message. */
  add(message: NewMessage): boolean;
  /** Removes and returns the oldest messages, as many as one statement may write. */
  take(): Waiting[];
  /** Replaces the messages of a failed write with marks. Returns how many messages were dropped. */
  putMarks(batch: readonly Waiting[]): number;
}

/** The maximum size of the waiting messages, in bytes; marks may use another eighth of this size. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_BYTES_WITH_MARKS = MAX_BYTES + MAX_BYTES / 8;
/** Estimated size of a message without its texts. */
const ROW_BYTES = 256;

const STATEMENT_ROWS = 300;
const STATEMENT_BYTES = 1024 * 1024;

function createMessageQueue(): MessageQueue {
  let waiting: Waiting[] = [];
  let bytes = 0;
  /**
   * The last waiting message of each topic (the same order, refund, channel, direction and call). If the message is
   * repeated, only its counter `times` is increased.
   */
  const newest = new Map<string, Waiting>();
  return { size: () => waiting.length, add, take, putMarks };

  function add(message: NewMessage): boolean {
    const one = storable(message);
    if (isCounted(one)) return true;
    if (bytes + bytesOf(one) <= MAX_BYTES) {
      push(one);
      return true;
    }
    const mark = markFor(one);
    if (!isCounted(mark) && bytes + bytesOf(mark) <= MAX_BYTES_WITH_MARKS) push(mark);
    return false;
  }

  function isCounted(one: Waiting): boolean {
    const last = newest.get(topicOf(one));
    if (!last || !isAgain(last, one)) return false;
    last.times += one.times;
    last.lastAt = one.lastAt ?? one.at;
    last.supportId = one.supportId ?? last.supportId;
    return true;
  }

  function push(one: Waiting): void {
    waiting.push(one);
    newest.set(topicOf(one), one);
    bytes += bytesOf(one);
  }

  function take(): Waiting[] {
    let sum = 0;
    const beyond = waiting.findIndex((one, place) => {
      sum += bytesOf(one);
      return place > 0 && (place >= STATEMENT_ROWS || sum > STATEMENT_BYTES);
    });
    const batch = waiting.slice(0, beyond < 0 ? waiting.length : beyond);
    waiting = waiting.slice(batch.length);
    for (const one of batch) {
      bytes -= bytesOf(one);
      if (newest.get(topicOf(one)) === one) newest.delete(topicOf(one));
    }
    return batch;
  }

  function putMarks(batch: readonly Waiting[]): number {
    const later = waiting;
    waiting = [];
    bytes = 0;
    newest.clear();
    for (const one of batch.map(markFor)) if (!isCounted(one)) push(one);
    for (const one of later) push(one);
    return batch.reduce((sum, { call, times }) => sum + (call === MISSING ? 0 : times), 0);
  }
}

function topicOf({ orderNo, refundNo, payWay, direction, call }: Waiting): string {
  return JSON.stringify([orderNo, refundNo, payWay, direction, call]);
}

/** Whether the message `one` repeats the message `last` and is therefore only counted. */
function isAgain(last: Waiting, one: Waiting): boolean {
  if (one.call === MISSING) return true;
  return isRepeatable(one) && last.status === one.status && last.note === one.note && last.answer === one.answer;
}

function markFor({ orderNo, payWay, at, times, lastAt }: Waiting): Waiting {
  const nothing = {
    refundNo: null,
    status: null,
    durationMs: null,
    supportId: null,
    request: null,
    answer: null,
    note: null,
  };
  return { ...nothing, orderNo, payWay, direction: 'in', call: MISSING, at, times, lastAt };
}

/**
 * Makes a message storable. A notification may contain any characters, so NUL and lone surrogates are replaced. A name
 * of a call, an order number or a refund number is cut to 64 characters.
 */
function storable(message: NewMessage): Waiting {
  const text = (value: string | null) => value?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null;
  const { request, answer, note, call, orderNo, refundNo } = message;
  const names = { call: call.slice(0, 64), orderNo: orderNo.slice(0, 64), refundNo: refundNo?.slice(0, 64) ?? null };
  const texts = { request: text(request), answer: text(answer), note: text(note) };
  return { times: 1, lastAt: null, supportId: null, ...message, ...names, ...texts };
}

function bytesOf({ request, answer }: Waiting): number {
  return ROW_BYTES + Buffer.byteLength(request ?? '') + Buffer.byteLength(answer ?? '');
}
