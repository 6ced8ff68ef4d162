import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { requestTime, type RequestTime } from '../../server/db/pool.ts';

interface Wait {
  ms: number;
  answered: boolean;
}

/** What requests let the pool wait. */
export interface Waits {
  /** What was waited for in vain: sums in ms, one for a request. */
  inVain(): number[];
  forget(): void;
  /** Is told before each statement of a request. */
  onQuery(listen: () => void): void;
}

/** Watches how long each request of this process, whose service has these bounds, lets the database's pool wait, and what was in vain. */
export function watchWaits(t: ExecutionContext, bounds: Record<'query' | 'connect', number>): Waits {
  const waits = new Map<RequestTime, Wait[]>();
  let listener = (): void => {};
  const note = <T>(most: number, given: number | undefined, work: Promise<T>): Promise<T> => {
    const time = requestTime();
    // What goes on after the answer keeps nobody waiting.
    if (!time || !Number.isFinite(time.left())) return work;
    const wait = { ms: Math.min(most, given ?? most), answered: false };
    waits.set(time, [...(waits.get(time) ?? []), wait]);
    work.then(
      () => (wait.answered = true),
      () => {},
    );
    return work;
  };
  const { query } = pg.Client.prototype;
  const { connect } = pg.Pool.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    if (Number.isFinite(requestTime()?.left())) listener();
    const [config] = words as unknown as [{ query_timeout?: number }];
    return note(bounds.query, config.query_timeout, Reflect.apply(query, this, words) as never);
  } as never;
  pg.Pool.prototype.connect = function (this: pg.Pool) {
    return note(bounds.connect, requestTime()?.left(), Reflect.apply(connect, this, []) as never);
  } as never;
  t.teardown(() => Object.assign(pg.Client.prototype, { query }) && Object.assign(pg.Pool.prototype, { connect }));
  return {
    inVain: () =>
      [...waits.values()].map((all) => all.reduce((sum, { ms, answered }) => (answered ? sum : sum + ms), 0)),
    forget: () => waits.clear(),
    onQuery: (listen) => void (listener = listen),
  };
}
