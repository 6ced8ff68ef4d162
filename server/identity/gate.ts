import { Unavailable } from '../errors.ts';

/** Which line work waits in: what is `reserved` goes first and has a line of its own, so that nothing else can crowd it out. */
export type GateLine = 'open' | 'reserved';

/** Runs work, at most a few at a time; throws `Unavailable` (503) instead of letting a line grow. */
export type Gate = <T>(work: () => Promise<T>, line?: GateLine) => Promise<T>;

/**
 * Makes a gate with `slots` places and room for `queue` more that wait in each line. Password hashing fills Node's thread
 * pool: without a gate a hundred logins were measured to stall file reads and name look-ups for many seconds.
 */
export function createGate({ slots, queue }: { slots: number; queue: number }): Gate {
  let running = 0;
  const waiting: Record<GateLine, (() => void)[]> = { open: [], reserved: [] };
  const leave = (): void => {
    const next = waiting.reserved.shift() ?? waiting.open.shift();
    if (next) next();
    else running -= 1;
  };
  const enter = (line: GateLine): Promise<void> | undefined => {
    if (running < slots) {
      running += 1;
      return undefined;
    }
    if (waiting[line].length >= queue) {
      throw new Unavailable('login_busy', 'Too many logins are being processed; try again shortly.', {
        retryAfter: 2,
      });
    }
    return new Promise((resolve) => waiting[line].push(resolve));
  };
  return async (work, line = 'open') => {
    await enter(line);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
