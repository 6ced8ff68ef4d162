import { AsyncLocalStorage } from 'node:async_hooks';

/** Knows of a request whether it has changed anything, so that a later failure does not say that it has not. */
export interface Changes {
  /** Runs a request. */
  watch<T>(request: () => Promise<T>): Promise<T>;
  /** Something was committed. */
  note(): void;
  /** Whether the request that asks has committed anything. */
  made(): boolean;
}

/** Starts to watch. */
export function createChanges(): Changes {
  const requests = new AsyncLocalStorage<{ made: boolean }>();
  return {
    watch: (request) => requests.run({ made: false }, request),
    note() {
      const request = requests.getStore();
      if (request) request.made = true;
    },
    made: () => requests.getStore()?.made === true,
  };
}
