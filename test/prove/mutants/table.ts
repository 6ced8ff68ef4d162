import { describeKiller } from './killers.ts';
import type { Mutant } from './mutant.ts';
import { type Fate, isAsListed } from './run-mutants.ts';

const LAYERS = { 1: 'every state', 2: 'seeds', 3: 'witnesses' } as const;

/** One line about the result of a mutant. */
export function describeFate(fate: Fate): string {
  const { mutant, isKilled, verdict } = fate;
  const { name, killedBy, gap } = mutant;
  const time = `${verdict.seconds.toFixed(1)} s`;
  const mark = isAsListed(fate) ? ' ' : '✘';
  if (isKilled)
    return `${mark} killed in ${time} by layer ${killedBy.layer}: ${name}\n      ${shortened(verdict.words)}`;
  const why = verdict.found === 'nothing' ? `nothing found in ${time}` : verdict.words;
  return `${mark} LIVES: ${name}\n      ${gap ?? why}: ${describeKiller(killedBy)}`;
}

/** All results as a table with totals. */
export function tableOf(fates: readonly Fate[]): string {
  const rows = fates.map(({ mutant: { name, from, killedBy }, isKilled, verdict }) => {
    const by = isKilled ? LAYERS[killedBy.layer] : '**lives**';
    return row(name, from, by, describeKiller(killedBy), verdict.seconds.toFixed(1));
  });
  const killed = fates.filter(({ isKilled }) => isKilled);
  const by = ([1, 2, 3] as const).map(
    (layer) => `${killed.filter(({ mutant }) => mutant.killedBy.layer === layer).length} by layer ${layer}`,
  );
  const gaps = fates
    .filter(({ isKilled }) => !isKilled)
    .map(({ mutant: { name, gap } }) => `lives: ${name}. ${gap ?? ''}`);
  return [
    row('what is wrong', 'from', 'killed by', 'killer', 'seconds'),
    row('---', '---', '---', '---', '---'),
    ...rows,
    '',
    `${killed.length} of ${fates.length} mutants killed: ${by.join(', ')}`,
    ...gaps,
  ].join('\n');
}

/** The mutants and their killers, for a listing without a run. */
export function listOf(mutants: readonly Mutant[]): string {
  const lines = mutants.map(({ name, from, file, killedBy, gap }) => {
    const about = `${from}; ${file}; layer ${killedBy.layer}: ${describeKiller(killedBy)}`;
    return [name, about, ...(gap === undefined ? [] : [`lives: ${gap}`])].join('\n  ');
  });
  return [...lines, `${mutants.length} mutants`].join('\n');
}

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function shortened(words: string): string {
  return words.length > 220 ? `${words.slice(0, 220)} …` : words;
}
