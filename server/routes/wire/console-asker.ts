import type { AdminCaller } from '../../http/callers.ts';
import type { Asker } from '../../payments/ports.ts';

/** An administrator acts on any order, under the own name. */
export function consoleAsker({ username }: AdminCaller): Asker {
  return { owner: 'any', actor: `admin:${username}` };
}
