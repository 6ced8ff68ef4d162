import type { Command } from './command.ts';
import { exploreCommand } from './explore.ts';
import { mutantsCommand } from './mutants.ts';
import { seedsCommand } from './seeds.ts';

/** The default form: every state, many worlds and the quickest mutants; `--small`: a sample of each. */
export const everythingCommand: Command = {
  name: 'small',
  usage: '[--small]    every state, many simulated worlds and some mutants; or a little of each',
  options: { small: { type: 'boolean' } },
  async run({ small }) {
    const parts: readonly [title: string, Command, Parameters<Command['run']>[0]][] = [
      ['every state', exploreCommand, { explore: '', ...(small ? { states: '500' } : {}) }],
      ['worlds that come from a seed', seedsCommand, { seeds: small ? '1..20' : '1..300' }],
      ['mutants', mutantsCommand, { mutants: '', quick: 'quick' }],
    ];
    let isWell = true;
    for (const [title, part, values] of parts) {
      console.log(`\n== ${title}`);
      isWell = (await part.run(values)) && isWell;
    }
    return isWell;
  },
};
