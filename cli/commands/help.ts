import type { Command } from 'commander';
import type { Context, ContextOf, DescribedTree } from '../context.ts';
import { UsageError } from '../errors.ts';
import { examples } from '../options.ts';

/** Defines `payctl help`. */
export function define(command: Command, context: ContextOf, tree: DescribedTree): void {
  command
    .description('Show help for a command or for a topic: environment, exit-codes, output, secrets, bootstrap.')
    .argument('[words...]');
  examples(command, 'payctl help app create', 'payctl help exit-codes').action((words: string[]) =>
    run(context(), words, tree),
  );
}

async function run({ terminal }: Context, words: readonly string[], tree: DescribedTree): Promise<void> {
  const { TOPICS } = await import('../topics.ts');
  const [first = ''] = words;
  const topic = Object.hasOwn(TOPICS, first) && words.length === 1 ? TOPICS[first] : undefined;
  if (topic !== undefined) return terminal.out.write(topic);
  await terminal.out.write(find(await tree(words), words).helpInformation());
}

function find(program: Command, words: readonly string[]): Command {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((child) => child.name() === word || child.aliases().includes(word));
    if (!next) throw new UsageError(`No help found for "${words.join(' ')}".`, 'payctl --help');
    command = next;
  }
  return command;
}
