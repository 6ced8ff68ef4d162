import { hash } from 'node:crypto';
import { ToolRefusal } from './answers.ts';

/** Binds the key of each write to its arguments for the life of the process; the service does the same for longer. */
export interface KeyBook {
  /** Gives the Idempotency-Key for a write; throws when the key was used with other arguments, or no more writes are allowed. */
  bind(tool: string, key: string, args: unknown): string;
}

const MOST_KEYS = 10_000;

/** A book without keys; `mostWrites` bounds the different writes of the process. */
export function createKeyBook(mostWrites = MOST_KEYS): KeyBook {
  const bound = new Map<string, string>();
  return {
    bind(tool, key, args) {
      const name = `mcp-${tool}-${key}`;
      const print = hash('sha256', canonical(args));
      const before = bound.get(name);
      if (before === print) return name;
      if (before !== undefined)
        throw new ToolRefusal(
          'idempotency_key_reused',
          'This idempotencyKey was used with other arguments. Use the same arguments to repeat a request, or a new key for a new one.',
        );
      if (bound.size >= mostWrites)
        throw new ToolRefusal('too_many_writes', 'This process has made as many writes as it may. Ask its operator.');
      bound.set(name, print);
      return name;
    },
  };
}

/** JSON in which the order of members does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
