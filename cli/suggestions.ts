import type { Command } from 'commander';
import { buildWholeProgram } from './program.ts';
import type { Sink } from './terminal.ts';

/** Verbs of other tools, with those of payctl. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  show: ['get', 'list'],
  view: ['get', 'list'],
  info: ['get'],
  describe: ['get'],
  status: ['get'],
  ls: ['list'],
  add: ['create', 'set'],
  new: ['create', 'set'],
  edit: ['update', 'set'],
  change: ['update', 'set'],
  set: ['update'],
  rm: ['delete', 'remove'],
  remove: ['delete'],
  delete: ['remove'],
};

/**
 * The command line that was meant instead of one with an unknown command. `guess` is the name that the parser found to
 * be similar. Undefined if none is known, or if an argument would need quotes in a shell.
 */
export async function suggestLine(
  argv: readonly string[],
  { command, unknown, guess }: { command: Command; unknown: string; guess: string | undefined },
  out: Sink,
): Promise<string | undefined> {
  const begin = command.parent ? argv.findIndex((word) => isCalled(command, word)) + 1 : 0;
  const at = argv.indexOf(unknown, begin);
  if (at === -1) return undefined;
  const meant = command.parent ? belowNoun(command, unknown) : await belowOther(unknown, out);
  const words = meant ?? (guess === undefined ? undefined : [guess]);
  const line = words && argv.toSpliced(at, 1, ...words);
  return line?.every((word) => /^[\w.,:/@=+-]+$/.test(word)) ? `payctl ${line.join(' ')}` : undefined;
}

function isCalled(command: Command, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}

/** A verb with the same meaning; `get` in front of what looks like a number, e.g. of an order. */
function belowNoun({ commands }: Command, unknown: string): string[] | undefined {
  const has = (verb: string): boolean => commands.some((command) => command.name() === verb);
  const verb = VERBS[unknown]?.find(has);
  if (verb !== undefined) return [verb];
  return /\d/.test(unknown) && has('get') ? ['get', unknown] : undefined;
}

/** A command that exists below exactly one noun. */
async function belowOther(unknown: string, out: Sink): Promise<string[] | undefined> {
  const { commands } = await buildWholeProgram(out);
  const found = commands.flatMap((noun) => {
    const command = noun.commands.find((one) => isCalled(one, unknown) || `${one.name()}s` === unknown);
    return command ? [[noun.name(), command.name()]] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}
