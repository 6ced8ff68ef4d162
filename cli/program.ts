import { Command, CommanderError, Option } from 'commander';
import { administratorNeeded } from './application.ts';
import { type Noun, nouns } from './commands/index.ts';
import type { ContextOf, DescribedTree } from './context.ts';
import { UsageError } from './errors.ts';
import { type HelpPage, MOST_COLUMNS, helpText } from './help.ts';
import { LANGUAGES } from './language.ts';
import { choice, examplesOf, integer, list, loginOf, needs } from './options.ts';
import { FORMATS } from './output.ts';
import type { Sink } from './terminal.ts';
import { packageVersion } from './version.ts';

/** Builds the parser. Only commands that appear in `argv` are loaded; the others have just a name and a summary. */
export async function buildProgram(argv: readonly string[], out: Sink, context: ContextOf): Promise<Command> {
  const program = createRoot(out, context);
  const tree: DescribedTree = (words) => (words ? buildProgram(words, out, runsNothing) : buildWholeProgram(out));
  for (const noun of nouns) {
    const command = addNoun(program, noun);
    if (isNamed(noun, argv)) (await noun.load()).define(command, context, tree);
  }
  return program;
}

function runsNothing(): never {
  throw new UsageError('This command tree only describes commands and cannot run them.');
}

function isNamed(noun: Noun, argv: readonly string[]): boolean {
  return argv.includes(noun.name) || (noun.plural !== undefined && argv.includes(noun.plural));
}

/** Builds the parser with every command loaded, for completion, help and tests. */
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
  return needs(command, noun.login ?? 'administrator');
}

function createRoot(out: Sink, context: ContextOf): Command {
  const program = new Command('payctl')
    .description('payctl operates the payment service from a terminal or a script.')
    .exitOverride()
    .helpCommand(false)
    .hook('preAction', async (_program, command) => {
      stripNouns(command);
      await refuseApplication(command, context);
    })
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

/**
 * Refuses an application at once, before the command prompts for anything. An offline command needs no login. A login
 * that cannot be read is reported by the command itself, as `doctor` does.
 */
async function refuseApplication(command: Command, context: ContextOf): Promise<void> {
  if (loginOf(command) !== 'administrator' || command.opts()['offline'] === true) return;
  const application = await context()
    .application()
    .catch((error: unknown) => {
      if (error instanceof UsageError) throw error;
      return undefined;
    });
  if (application) throw administratorNeeded(application);
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
    .addOption(
      choice('--lang <language>', 'language of bill, dispute, doctor, exception and explain in a terminal', LANGUAGES),
    )
    .addOption(choice('--color <when>', 'when to use color', ['auto', 'always', 'never']))
    .option('--timeout <seconds>', 'timeout for each response', integer(1, 3600))
    .option('--ca-file <file>', 'trust the authorities in this PEM file, too')
    .option('--allow-http', 'allow credentials over plain HTTP to another machine')
    .option('--debug', 'show the HTTP traffic on stderr, without secrets')
    .option('-V, --version', 'show the version');
}

/** Nouns that an argument accepts as prefix (`order/P…`), in addition to the names of its own command. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  orderNo: ['order', 'skillpay', 'trade'],
  outTradeNo: ['order', 'skillpay'],
  refundNo: ['refund', 'dispute', 'exception'],
  billNo: ['bill'],
  disputeNo: ['dispute'],
  client_id: ['app'],
  username: ['admin'],
  userId: ['user'],
  payWay: ['channel'],
  id: ['plant'],
  code: [],
  name: [],
};

/** Removes the prefix that `-o name` prints (`order/P…`), so that output can be the argument of another command. */
function stripNouns(command: Command): void {
  const own = namesUp(command);
  command.registeredArguments.forEach((argument, at) => {
    const nouns = NAMED[argument.name()];
    const value: unknown = command.processedArgs[at];
    if (nouns === undefined || typeof value !== 'string' || !value.includes('/')) return;
    const noun = value.slice(0, value.indexOf('/'));
    if (nouns.includes(noun) || own.includes(noun)) command.processedArgs[at] = value.slice(noun.length + 1);
  });
}

function namesUp({ parent }: Command): string[] {
  return parent === null ? [] : [parent.name(), ...namesUp(parent)];
}

/** The help of a command as plain data, which the build stores in files. */
export function helpPage(command: Command): HelpPage {
  const children = visibleCommands(command);
  const rows = optionRows(command.options);
  const description = command.description() || command.summary();
  if (!command.parent) {
    const groups = Map.groupBy(children, (child) => child.helpGroup() || 'Other');
    return {
      description: command.description(),
      names: command.commands.map(markedName),
      groups: [...groups].map(([title, commands]) => [
        title,
        commands.map((child) => [markedName(child), child.summary()]),
      ]),
      flags: rows,
    };
  }
  return {
    description,
    examples: [...examplesOf(command)],
    usage: usage(command),
    args: command.registeredArguments
      .filter((argument) => argument.description !== '')
      .map((argument) => [argument.name(), argument.description]),
    verbs: children.map((verb) => [markedName(verb), verb.summary() || verb.description()]),
    login: loginOf(command),
    flags: rows,
  };
}

/** Help marks the commands that an application can use, too. */
function markedName(command: Command): string {
  return /^(any|application)$/.test(loginOf(command)) ? `${command.name()} *` : command.name();
}

function usage(command: Command): string {
  const parts = [commandPath(command)];
  if (command.commands.length > 0) parts.push('<verb>');
  for (const argument of command.registeredArguments)
    parts.push(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`);
  if (command.options.length > 0 || command.commands.length > 0) parts.push('[flags]');
  return parts.join(' ');
}

/** The full name of a command, e.g. `payctl app create`. */
export function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}

function visibleCommands(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((verb) => verb.name() !== 'help' || command.parent === null);
}

function optionRows(options: readonly Option[]): [string, string][] {
  return options
    .filter((option) => !option.hidden)
    .map((option) => [`${option.short ? '' : '    '}${option.flags}`, optionWords(option)]);
}

function optionWords(option: Option): string {
  const { description, argChoices, mandatory } = option;
  return [description, argChoices && `(${argChoices.join('|')})`, mandatory && '(required)'].filter(Boolean).join(' ');
}
