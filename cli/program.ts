import { Command, CommanderError, Option } from 'commander';
import type { ContextOf, DescribedTree } from './context.ts';
import { nouns, type Noun } from './commands/index.ts';
import { UsageError } from './errors.ts';
import { helpText, MOST_COLUMNS } from './help.ts';
import { helpPage } from './help-page.ts';
import { takeNouns } from './named-arguments.ts';
import { choice, integer, list } from './options.ts';
import { FORMATS } from './output.ts';
import type { Sink } from './terminal.ts';
import { packageVersion } from './version.ts';

/** Builds the parser. Only the nouns whose name stands in `argv` are loaded; the others are known by name and summary. */
export async function buildProgram(argv: readonly string[], out: Sink, context: ContextOf): Promise<Command> {
  const program = createRoot(out);
  const tree: DescribedTree = (words) => (words ? buildProgram(words, out, runsNothing) : buildWholeProgram(out));
  for (const noun of nouns) {
    const command = addNoun(program, noun);
    if (isNamed(noun, argv)) (await noun.load()).define(command, context, tree);
  }
  return program;
}

function runsNothing(): never {
  throw new UsageError('A tree of commands that is only described runs nothing.');
}

function isNamed(noun: Noun, argv: readonly string[]): boolean {
  return argv.includes(noun.name) || (noun.plural !== undefined && argv.includes(noun.plural));
}

/** Builds the parser with every noun loaded, to describe it: for completion, help and the tests that walk the tree. */
export async function buildWholeProgram(out: Sink): Promise<Command> {
  return buildProgram(
    nouns.map((noun) => noun.name),
    out,
    runsNothing,
  );
}

function addNoun(program: Command, noun: Noun): Command {
  const command = program.command(noun.name).summary(noun.summary).helpGroup(noun.group);
  if (noun.plural !== undefined) command.alias(noun.plural);
  return command;
}

function createRoot(out: Sink): Command {
  const program = new Command('payctl')
    .description('payctl operates the payment service from a terminal or a script.')
    .exitOverride()
    .helpCommand(false)
    .hook('preAction', (_program, command) => takeNouns(command))
    .helpOption('-h, --help', 'show help')
    .configureHelp({
      formatHelp: (command) => helpText(helpPage(command), out.style, Math.min(out.columns, MOST_COLUMNS)),
    })
    .configureOutput({ writeOut: (text) => void out.write(text), writeErr: () => {}, outputError: () => {} });
  program.on('option:version', () => {
    void out.write(`${packageVersion()}\n`);
    throw new CommanderError(0, 'commander.version', '');
  });
  return addGlobalFlags(program);
}

function addGlobalFlags(program: Command): Command {
  return program
    .option('-C, --context <name>', 'context to use')
    .option('--server <url>', 'server URL to use')
    .addOption(choice('-o, --output <format>', 'output format', FORMATS))
    .addOption(new Option('--json', 'same as -o json').implies({ output: 'json' }))
    .option('--fields <a,b>', 'print only these fields', list)
    .option('--headers', 'print a header row in pipes, too')
    .option('--no-headers', 'print no header row')
    .option('-q, --quiet', 'print only ids')
    .option('--no-input', 'never prompt; exit with 2 if input is missing')
    .addOption(choice('--color <when>', 'when to use color', ['auto', 'always', 'never']))
    .option('--timeout <seconds>', 'timeout for each response', integer(1, 3600))
    .option('--ca-file <file>', 'trust the authorities in this PEM file, too')
    .option('--allow-http', 'allow credentials over plain HTTP to another machine')
    .option('--debug', 'show the HTTP traffic on stderr, without secrets')
    .option('-V, --version', 'show the version');
}
