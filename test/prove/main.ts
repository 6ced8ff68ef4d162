// The entry of `npm run prove`: selects the command by its options.
import { parseArgs } from 'node:util';
import type { Command } from './commands/command.ts';
import { everythingCommand } from './commands/everything.ts';
import { exploreCommand } from './commands/explore.ts';
import { historyCommand } from './commands/history.ts';
import { mutantsCommand } from './commands/mutants.ts';
import { recordCommand } from './commands/record.ts';
import { seedCommand, seedsCommand } from './commands/seeds.ts';

/** The first command whose option is present runs. */
const COMMANDS: readonly Command[] = [
  exploreCommand,
  historyCommand,
  recordCommand,
  mutantsCommand,
  seedsCommand,
  seedCommand,
];

const options = Object.assign(
  {},
  ...[...COMMANDS, everythingCommand].map((command) => command.options),
) as Command['options'];

function usage(problem: string): never {
  const forms = [everythingCommand, ...COMMANDS].map((command) => `  npm run prove -- ${command.usage}`);
  console.error([problem, ...forms].join('\n'));
  process.exit(2);
}

function readValues(): Record<string, string | undefined> {
  try {
    return parseArgs({ options }).values as Record<string, string | undefined>;
  } catch (error) {
    return usage((error as Error).message);
  }
}

const values = readValues();
const isAll = Object.keys(values).every((name) => name in everythingCommand.options);
const command =
  COMMANDS.find(({ name }) => values[name] !== undefined) ??
  (isAll ? everythingCommand : usage('Which form is meant?'));
process.exitCode = (await command.run(values)) ? 0 : 1;
