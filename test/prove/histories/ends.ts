import type { ExecutionContext } from 'ava';

/** Whatever ends what was begun: a test, or a recording of its own. */
export type Ends = Pick<ExecutionContext, 'teardown'>;

/** Ends outside a test: in the order in which tests end theirs, the last first. */
export function collectEnds(): Ends & { run(): Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    teardown: (end: () => unknown) => void ends.push(end),
    async run() {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}
