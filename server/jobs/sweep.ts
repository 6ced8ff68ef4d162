import type { Store } from '../db/store.ts';
import type { Tx } from '../db/tx.ts';

/** One kind of row that can be due: how to claim some, and what to do with one. */
export interface DueKind {
  name: string;
  claim: (tx: Tx, now: Date, limit: number) => Promise<string[]>;
  run: (id: string) => Promise<void>;
}

/** Takes what is due by the rows, whatever the queue knows. */
export interface Sweep {
  /** Works until nothing is due; returns how many rows were handled. */
  once(): Promise<number>;
  start(): void;
  /** Stops taking new rows and waits for those under way. */
  stop(): Promise<void>;
}

type Log = (level: 'error', message: string, details: Record<string, unknown>) => void;

const INTERVAL_MS = 15_000;
const BATCH = 20;
const CONCURRENCY = 4;

/** A sweep over kinds of due rows; any number of replicas may run one. */
export function createSweep(store: Store, now: () => Date, kinds: readonly DueKind[], log: Log): Sweep {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<number> | undefined;
  let stopped = false;
  return { once, start, stop };

  async function once(): Promise<number> {
    let handled = 0;
    for (;;) {
      let found = 0;
      for (const kind of kinds) found += await takeBatch(kind);
      handled += found;
      if (found === 0 || stopped) return handled;
    }
  }

  async function takeBatch({ name, claim, run }: DueKind): Promise<number> {
    const ids = await store.transaction((tx) => claim(tx, now(), BATCH));
    const queue = ids.values();
    const work = async () => {
      for (const id of queue) {
        try {
          await run(id);
        } catch (error) {
          log('error', 'a due row could not be handled', { kind: name, id, error });
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    return ids.length;
  }

  function start(): void {
    timer = setInterval(() => {
      running ??= once()
        .catch((error: unknown) => {
          log('error', 'the sweep failed', { error });
          return 0;
        })
        .finally(() => (running = undefined));
    }, INTERVAL_MS);
    timer.unref();
  }

  async function stop(): Promise<void> {
    stopped = true;
    clearInterval(timer);
    await running;
  }
}
