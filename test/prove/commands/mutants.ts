import { MUTANTS } from '../mutants/all.ts';
import { isAsListed, runMutants } from '../mutants/run-mutants.ts';
import { describeFate, listOf, tableOf } from '../mutants/table.ts';
import type { Command } from './command.ts';

/** `--mutants WORDS`: plants small faults in a copy, one at a time; each must be found. */
export const mutantsCommand: Command = {
  name: 'mutants',
  usage: '--mutants WORDS [--quick] [--list]    faults planted in a copy, those whose name has these words ("" = all)',
  options: { mutants: { type: 'string' }, quick: { type: 'boolean' }, list: { type: 'boolean' } },
  async run({ mutants: words = '', quick, list }) {
    const chosen = MUTANTS.filter(({ name, isQuick }) => name.includes(words) && (quick === undefined || isQuick));
    if (list !== undefined) {
      console.log(listOf(chosen));
      return chosen.length > 0;
    }
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
    const fates = await runMutants(chosen, (fate) => console.log(describeFate(fate)), stop.signal);
    console.log(tableOf(fates));
    return chosen.length > 0 && fates.length === chosen.length && fates.every(isAsListed);
  },
};
