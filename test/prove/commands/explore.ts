import { availableParallelism } from 'node:os';
import { SCOPES } from '../explore/bounds.ts';
import type { Explored } from '../explore/explore.ts';
import { exploreAll } from '../explore/explore-all.ts';
import type { Command } from './command.ts';

/** Bounds the memory; a larger scope is reported as incomplete. */
const MOST_STATES = 250_000;
const MOST_FAULTS = 3;

/** `--explore [WORDS]`: every state within the bounds, of the scopes whose name contains these words. */
export const exploreCommand: Command = {
  name: 'explore',
  usage: '--explore WORDS [--states N]    every state of the scopes whose name has these words ("" = all)',
  options: { explore: { type: 'string' }, states: { type: 'string' } },
  async run({ explore: words = '', states = String(MOST_STATES) }) {
    const scopes = SCOPES.filter(({ name }) => name.includes(words));
    const limits = { mostStates: Number(states), mostFaults: MOST_FAULTS };
    const begun = performance.now();
    const all = await exploreAll(scopes, limits, availableParallelism(), (one) => console.log(describe(one)));
    const sum = (member: 'states' | 'transitions' | 'ends' | 'listed') =>
      all.reduce((total, one) => total + one[member], 0);
    const faults = all.reduce((total, one) => total + one.faults.length, 0);
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    console.log(
      [
        `${sum('states')} distinct states in ${all.length} scopes, ${sum('transitions')} transitions, ${seconds} s`,
        `${sum('ends')} ends, ${sum('listed')} with something listed that an administrator can end`,
        `${all.filter(({ isWhole }) => !isWhole).length} scopes not whole, ${faults} faults`,
      ].join('\n'),
    );
    return all.length > 0 && faults === 0;
  },
};

function describe({ scope, states, transitions, depth, isWhole, ends, seconds, faults }: Explored): string {
  const size = `${states} states${isWhole ? '' : ' (not whole)'}, ${transitions} transitions, depth ${depth}`;
  const lines = [`${scope.name}: ${size}, ${ends} ends, ${seconds.toFixed(0)} s`];
  for (const { wrong, story } of faults)
    lines.push(...wrong.map((one) => `  ✘ ${one}`), ...story.map((one) => `      ${one}`));
  return lines.join('\n');
}
