import { AsyncLocalStorage } from 'node:async_hooks';

/** A transaction is ended whatever is left: otherwise nobody knows how it ended. */
const ENDING_MS = 500;

/**
 * How long one request may still wait for the database, all its statements and connections together: two time-outs in a row
 * are no longer than one. What it waits for channels is not counted, nor what goes on when it was answered.
 */
export class RequestTime {
  readonly #now: () => number;
  readonly #total: number;
  #spent = 0;
  #since = 0;
  #waiting = 0;
  #isOver = false;

  constructor(totalMs: number, now: () => number = () => performance.now()) {
    this.#total = totalMs - ENDING_MS;
    this.#now = now;
  }

  /** Milliseconds for a statement. */
  leftFor(text: string): number {
    return /^(commit|rollback)\b/i.test(text) ? Math.max(this.left(), ENDING_MS) : this.left();
  }

  left(): number {
    if (this.#isOver) return Number.POSITIVE_INFINITY;
    const current = this.#waiting > 0 ? this.#now() - this.#since : 0;
    return Math.max(0, this.#total - this.#spent - current);
  }

  /** Counts how long the work takes; what is waited for side by side counts once. */
  async wait<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting === 0) this.#since = this.#now();
    this.#waiting += 1;
    try {
      return await work();
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#spent += this.#now() - this.#since;
    }
  }

  end(): void {
    this.#isOver = true;
  }
}

const current = new AsyncLocalStorage<RequestTime>();

/** Has everything that the work asks of the database share one time. */
export async function withinRequestTime<T>(time: RequestTime, work: () => Promise<T>): Promise<T> {
  return current.run(time, async () => {
    try {
      return await work();
    } finally {
      time.end();
    }
  });
}

/** For what a request only sets going. */
export function outsideRequestTime(work: () => void): void {
  current.exit(work);
}

/** The time of the request that this is a part of. */
export function requestTime(): RequestTime | undefined {
  return current.getStore();
}
