import DataLoader from 'dataloader';
import { AsyncLocalStorage } from 'node:async_hooks';
import { ENDING_MS, RequestTime, TIMED_OUT, requestTime, withinRequestTime } from './pool.ts';

/** A statement for several requests must not run with the time limit, the trace or the log context of one of them. */
const outsideRequests = AsyncLocalStorage.snapshot();

/** Maximum number of requests that share one statement. */
const MOST_REQUESTS = 100;

interface BatchedRead<Key, Row> {
  /** The id of the row that a key asks for. */
  idOf(key: Key): string;
  /** Reads the rows of several keys with one statement. Returns the rows by id. */
  read(keys: readonly Key[]): Promise<ReadonlyMap<string, Row>>;
  /** Returns the row with only those members that this key may see; absent = all. */
  partFor?(row: Row, key: Key): Row;
}

interface Asked<Key> {
  readonly key: Key;
  /** The time that the request may still wait for the database (ms). */
  readonly leftMs: number;
}

/**
 * Creates a function that reads one row. Requests that ask in the same turn of the event loop share one statement. A
 * request never joins a statement that was already sent, and no row is kept. So each request sees every change that was
 * committed before it asked. Two requests never receive the same object.
 */
export function batchedRead<Key, Row>(reading: BatchedRead<Key, Row>): (key: Key) => Promise<Row | undefined> {
  const loader = new DataLoader<Asked<Key>, Result<Row>>((asked) => readTogether(reading, asked), {
    cache: false,
    maxBatchSize: MOST_REQUESTS,
    // DataLoader's own schedule would join only the requests of one socket.
    batchScheduleFn: (send) => void outsideRequests(setImmediate, send),
  });
  const readAlone = async (key: Key) => rowFor(reading, await reading.read([key]), key);
  return async (key) => {
    const time = requestTime();
    const leftMs = time?.left() ?? 0;
    // After its response a request has no time limit (Infinity), and a shared statement must have one.
    if (!time || leftMs <= 0 || leftMs === Number.POSITIVE_INFINITY) return readAlone(key);
    time.startWaiting();
    const result = await withinOwnTime(time, loader.load({ key, leftMs })).finally(() => time.stopWaiting());
    return result === FAILED ? readAlone(key) : result.row;
  };
}

/**
 * The shared statement may run as long as the request with the most time left. A request that has used much of its time
 * does not wait so long. The others need no timer, because their times differ little.
 */
async function withinOwnTime<T>(time: RequestTime, reading: Promise<T>): Promise<T> {
  if (time.isFresh()) return reading;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(TIMED_OUT)), time.left());
  return Promise.race([reading, late.promise]).finally(() => clearTimeout(timer));
}

/** PostgreSQL refused a value. Each request then reads alone, so that no request fails because of another one. */
const FAILED = Symbol('failed');

type Result<Row> = { readonly row: Row | undefined } | typeof FAILED;

async function readTogether<Key, Row>(
  reading: BatchedRead<Key, Row>,
  asked: readonly Asked<Key>[],
): Promise<Result<Row>[]> {
  const keys = asked.map(({ key }) => key);
  try {
    const longest = Math.max(...asked.map(({ leftMs }) => leftMs));
    const rows = await withinRequestTime(new RequestTime(longest + ENDING_MS), () => readTwice(reading, keys));
    const given = new Set<string>();
    return keys.map((key) => {
      const id = reading.idOf(key);
      const row = rowFor(reading, rows, key);
      if (given.has(id)) return { row: structuredClone(row) };
      given.add(id);
      return { row };
    });
  } catch (error) {
    if (asked.length === 1 || !isAboutValue(error)) throw error;
    return keys.map(() => FAILED);
  }
}

/**
 * Alone, each request would use another connection, and one lost connection would fail one request. So the shared
 * statement is repeated once. Each request alone would be too much for a database that is overloaded.
 */
async function readTwice<Key, Row>(
  { read }: BatchedRead<Key, Row>,
  keys: readonly Key[],
): Promise<ReadonlyMap<string, Row>> {
  try {
    return await read(keys);
  } catch (error) {
    if (keys.length === 1 || isAboutValue(error) || (error as Error).message === TIMED_OUT) throw error;
    return read(keys);
  }
}

/** Whether PostgreSQL refuses a value of the statement (class 22), which only one request has sent. */
function isAboutValue(error: unknown): boolean {
  return /^22...$/.test(String((error as { code?: unknown }).code));
}

function rowFor<Key, Row>(
  { idOf, partFor }: BatchedRead<Key, Row>,
  rows: ReadonlyMap<string, Row>,
  key: Key,
): Row | undefined {
  const row = rows.get(idOf(key));
  return row !== undefined && partFor ? partFor(row, key) : row;
}
