import { Unavailable } from '../errors.ts';

/** Runs work, at most a few at a time; throws `Unavailable` (503) instead of letting the queue grow. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Makes a gate with `slots` places and room for `queue` more that wait. Password hashing fills Node's thread pool:
 * without a gate a hundred logins were measured to stall file reads and name look-ups for many seconds.
 */
export function createGate({ slots, queue }: { slots: number; queue: number }): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  };
  const enter = (): Promise<void> | undefined => {
    if (running < slots) {
      running += 1;
      return undefined;
    }
    if (waiting.length >= queue) {
      throw new Unavailable('login_busy', 'Too many logins are being processed; try again shortly.', {
        retryAfter: 2,
      });
    }
    return new Promise((resolve) => waiting.push(resolve));
  };
  return async (work) => {
    await enter();
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
