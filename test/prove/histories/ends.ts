import type { ExecutionContext } from 'ava';

/** Registers clean-up: a test, or a recording of its own. */
export type Ends = Pick<ExecutionContext, 'teardown'>;

/** Runs clean-up outside a test in AVA's order: the last first. */
export function collectEnds(): Ends & { run(): Promise<void> } {
  const ends: (() => unknown)[] = [];
  return {
    teardown: (end: () => unknown) => void ends.push(end),
    async run() {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}
