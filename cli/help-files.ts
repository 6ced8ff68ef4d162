import type { Command } from 'commander';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HelpIndex, HelpTree } from './prebuilt-help.ts';
import { buildWholeProgram, helpPage } from './program.ts';
import { createSink } from './terminal.ts';

/** Writes the help of every command to files during the build. `printPrebuiltHelp` reads these files. */
export async function writeHelpFiles(folder: string): Promise<void> {
  const program = await buildWholeProgram(createSink(process.stdout, 'never', {}));
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: HelpIndex | HelpTree) =>
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(content));
  write('index', { page: helpPage(program), files: byName(program.commands, (noun) => noun.name()) });
  for (const noun of program.commands) write(noun.name(), treeOf(noun));
}

function treeOf(command: Command): HelpTree {
  return { page: helpPage(command), below: byName(command.commands, treeOf) };
}

function byName<Content>(
  commands: readonly Command[],
  contentOf: (command: Command) => Content,
): Record<string, Content> {
  return Object.fromEntries(
    commands.flatMap((command) =>
      [command.name(), ...command.aliases()].map((name): [string, Content] => [name, contentOf(command)]),
    ),
  );
}
