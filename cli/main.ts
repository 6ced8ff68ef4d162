import { type Command, CommanderError } from 'commander';
import { nouns } from './commands/index.ts';
import { type Context, type ContextOf, type GlobalFlags, type Overrides, createContext } from './context.ts';
import { CliError, EXIT, FlagRequired, SECRET_LOST, UsageError, codeOf } from './errors.ts';
import { asCalled, repeatTarget } from './hints.ts';
import { asInstalled } from './installation.ts';
import { ENGLISH, type Speech, chooseLanguage, say, textIn } from './language.ts';
import { FORMATS, type Format } from './output.ts';
import { buildProgram, commandPath } from './program.ts';
import { type Streams, type Terminal, createTerminal } from './terminal.ts';
import { displayWidth } from './terminal-text.ts';
import { visible } from './values.ts';
import { OutputLost, writeFault } from './whole-write.ts';

/** Runs one command line and returns the exit code. All output goes to the given streams. */
export async function main(argv: readonly string[], streams: Streams, overrides: Overrides = {}): Promise<number> {
  const early = createTerminal(streams, { color: valueAfter(argv, '--color') });
  const opened: { context?: Context; program?: Command } = {};
  const context = (): Context => {
    refuseUnverified(streams);
    return (opened.context ??= createContext(streams, readFlags(opened.program, streams), overrides, argv));
  };
  const code = await run(argv, early, opened, context).then(
    () => EXIT.done,
    (failure: unknown) => fail(failure, early, argv, opened),
  );
  await early.err.flush();
  // If a message could not be written to stderr, the exit code must not be 0, although the command itself succeeded.
  return code === EXIT.done && early.err.fault ? EXIT.failed : code;
}

interface Opened {
  context?: Context;
  program?: Command;
}

async function run(argv: readonly string[], { out }: Terminal, opened: Opened, context: ContextOf): Promise<void> {
  opened.program = await buildProgram(argv, out, context);
  try {
    await opened.program.parseAsync(argv.length > 0 ? argv : ['--help'], { from: 'user' });
  } catch (failure) {
    // commander also throws after --help and --version, with exit code 0.
    if (!(failure instanceof CommanderError) || failure.exitCode !== 0) throw failure;
  }
  await out.flush();
  if (out.fault) throw out.fault;
}

async function fail(failure: unknown, terminal: Terminal, argv: readonly string[], opened: Opened): Promise<number> {
  const isLost = failure instanceof OutputLost || (failure instanceof CliError && failure.code === SECRET_LOST);
  if (terminal.out.closed && !isLost) return EXIT.done;
  const error = failure instanceof CommanderError ? await fromParser(failure, argv, opened.program, terminal) : failure;
  if (failure instanceof CommanderError && failure.code === 'commander.help')
    await showHelpOnStderr(terminal, argv, opened.program);
  const target = opened.context?.run.target;
  const place = target && `on ${target.context === null ? '' : `${target.context}  `}${target.server}`;
  const done = opened.context?.run.completedChange;
  return report(
    terminal,
    atTarget(
      withFlag(
        withList(error instanceof OutputLost ? outputLostError(error, done) : error, argv, opened.program),
        argv,
        opened.program,
      ),
      opened.context,
    ),
    {
      json: wantsJson(argv, terminal.env),
      speech: (await opened.context?.print.speech()) ?? ENGLISH,
      ...(place ? { target: place } : {}),
    },
  );
}

/** If a change was completed, the error names it, so that the operator does not repeat the change. */
function outputLostError(fault: OutputLost, done: string | undefined): CliError {
  const message = done === undefined ? fault.message : `${fault.message} The change was made: ${done}.`;
  const hint =
    done === undefined ? 'free disk space or choose another file, then run it again' : 'do not repeat the change';
  return new CliError('output_lost', EXIT.failed, message, {
    cause: fault,
    hint,
    ...(done !== undefined && { extra: { done } }),
  });
}

/** Whether errors are printed as JSON. Reads the raw arguments, because the parser may have failed. */
function wantsJson(argv: readonly string[], env: Streams['env']): boolean {
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  if (words.includes('--json')) return true;
  const glued = words.map((word) => /^(?:-o|--output=)(.+)$/.exec(word)?.[1]).findLast((value) => value !== undefined);
  const format = glued ?? valueAfter(words, '-o') ?? valueAfter(words, '--output') ?? env['PAYCTL_OUTPUT'];
  return format === 'json' || format === 'jsonl';
}

function valueAfter(words: readonly string[], flag: string): string | undefined {
  const glued = words.find((word) => word.startsWith(`${flag}=`));
  if (glued) return glued.slice(flag.length + 1);
  const at = words.lastIndexOf(flag);
  return at === -1 ? undefined : words[at + 1];
}

/** Refuses to run without TLS verification, because payctl would send passwords and tokens to any server. */
function refuseUnverified({ env }: Streams): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0') return;
  throw new UsageError(
    'payctl refuses NODE_TLS_REJECT_UNAUTHORIZED=0, because no server certificate would be verified.',
    'unset the variable; NODE_EXTRA_CA_CERTS=FILE adds a CA of your own',
  );
}

function readFlags(program: Command | undefined, { env }: Streams): GlobalFlags {
  const flags: GlobalFlags = { ...program?.opts<GlobalFlags>() };
  flags.language = isTranslated(program) ? chooseLanguage(flags.lang, env).language : 'en';
  flags.output ??= readFormat(env['PAYCTL_OUTPUT']);
  flags.timeout ??= readTimeout(env['PAYCTL_TIMEOUT']);
  return flags;
}

/** Results of the other commands are in English only, so that no output is half in one language. */
function isTranslated(program: Command | undefined): boolean {
  const [word = ''] = program?.args ?? [];
  return nouns.some(({ name, plural, translated }) => translated === true && (word === name || word === plural));
}

function readFormat(text: string | undefined): Format | undefined {
  if (!text) return undefined;
  const format = FORMATS.find((known) => known === text);
  if (!format)
    throw new UsageError(`PAYCTL_OUTPUT: "${text}" is not an output format.`, `use one of ${FORMATS.join(', ')}`);
  return format;
}

function readTimeout(text: string | undefined): number | undefined {
  if (!text) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new UsageError(`PAYCTL_TIMEOUT: "${text}" is not valid.`, 'use seconds from 1 to 9999');
  return Number(text);
}

async function fromParser(
  error: CommanderError,
  argv: readonly string[],
  program: Command | undefined,
  { out }: Terminal,
): Promise<UsageError> {
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n');
  const command = program && deepest(program, argv);
  const path = command ? commandPath(command) : 'payctl';
  if (error.code === 'commander.help')
    return new UsageError(`${path} requires a verb.`, `${path} --help`, 'verb_missing');
  const guess = longerFlag(first, command) ?? /\(Did you mean (.+)\?\)/.exec(rest.join(' '))?.[1];
  const unknown = error.code === 'commander.unknownCommand' ? /'(.*)'/.exec(first)?.[1] : undefined;
  if (command && unknown !== undefined) {
    const { suggestLine } = await import('./suggestions.ts');
    const line = await suggestLine(argv, { command, unknown, guess: guess?.replace(/^one of ([^,]+),.*/, '$1') }, out);
    return new UsageError(sentence(first), line ? `did you mean: ${line}` : `${path} --help`, 'usage');
  }
  return new UsageError(`${sentence(first)}`, guess ? `did you mean ${guess}?` : `${path} --help`, 'usage');
}

/** The flag of which an unknown one is the beginning, such as --expire-seconds for --expire. */
function longerFlag(message: string, command: Command | undefined): string | undefined {
  const typed = /unknown option '(--[\w-]+)'/.exec(message)?.[1];
  if (typed === undefined) return undefined;
  const known = command?.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []) ?? [];
  return known.find((flag) => flag.startsWith(`${typed}-`)) ?? known.find((flag) => flag.startsWith(typed));
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(whole) ? whole : `${whole}.`;
}

function deepest(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) {
    command = command.commands.find((child) => child.name() === word || child.aliases().includes(word)) ?? command;
  }
  return command;
}

async function showHelpOnStderr(
  terminal: Terminal,
  argv: readonly string[],
  program: Command | undefined,
): Promise<void> {
  if (program && !wantsJson(argv, terminal.env))
    await terminal.err.write(`${deepest(program, argv).helpInformation()}\n`);
}

function withList(error: unknown, argv: readonly string[], program: Command | undefined): unknown {
  if (!(error instanceof CliError) || error.exitCode !== EXIT.notFound || error.options.hint || !program) return error;
  const noun = program.commands.find(
    (command) => argv.includes(command.name()) || argv.some((word) => command.aliases().includes(word)),
  );
  const listed = noun?.name() === 'explain' ? 'order' : noun?.name();
  if (listed !== 'order' && !noun?.commands.some((verb) => verb.name() === 'list')) return error;
  const hint = `payctl ${listed} list`;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

/** Repeats the command line with the missing flag. A name that confirms a severe change is left for the operator to type. */
function withFlag(error: unknown, argv: readonly string[], program: Command | undefined): unknown {
  if (!(error instanceof FlagRequired) || program === undefined || error.flag.startsWith('--confirm')) return error;
  const wanted: readonly string[] = error.flag.match(/--[\w-]+/g) ?? [];
  const options = deepest(program, argv).options.filter(({ long }) => wanted.includes(long ?? ''));
  const option = options.find(({ required }) => required) ?? options[0];
  if (option?.long === undefined || !argv.every((word) => /^[\w.,:/@=+-]+$/.test(word))) return error;
  const value = /<([\w-]+)/.exec(option.flags)?.[1];
  const line = ['payctl', ...argv, option.long, ...(value === undefined ? [] : [value.toUpperCase()])].join(' ');
  return new UsageError(error.message, line, error.code);
}

function atTarget(error: unknown, context: Context | undefined): unknown {
  if (!(error instanceof CliError) || !error.options.hint || !context) return error;
  const { flags, run, installation } = context;
  const hint = asInstalled(repeatTarget(error.options.hint, flags, run.target), installation, run.target?.origin);
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint, cause: error });
}

/** In JSON mode stderr contains only this document. */
function errorDocument(error: CliError): { error: Record<string, unknown> } {
  const { status, hint, requestId, fields, extra } = error.options;
  return {
    error: {
      code: error.code,
      message: error.message,
      status: status ?? null,
      hint: hint ?? null,
      requestId: requestId ?? null,
      exitCode: error.exitCode,
      ...(fields && fields.length > 0 ? { fields } : {}),
      ...extra,
    },
  };
}

async function report(
  terminal: Terminal,
  failure: unknown,
  where: { json: boolean; speech: Speech; target?: string },
): Promise<number> {
  const error = asRun(toCliError(failure), terminal);
  const text = where.json ? JSON.stringify(errorDocument(error)) : errorLines(terminal, error, where).join('\n');
  await terminal.err.write(`${text}\n`);
  return error.exitCode;
}

function asRun(error: CliError, { env }: Terminal): CliError {
  const { hint } = error.options;
  if (hint === undefined) return error;
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, hint: asCalled(hint, env) });
}

function errorLines(
  terminal: Terminal,
  error: CliError,
  { speech, target }: { speech: Speech; target?: string },
): string[] {
  const { style } = terminal.err;
  const { hint, requestId, fields = [], extra } = error.options;
  const orderNo = typeof extra?.['orderNo'] === 'string' ? extra['orderNo'] : undefined;
  const facts = [
    target,
    error.exitCode === EXIT.usage ? undefined : error.code,
    orderNo && `order ${orderNo}`,
    requestId && `request ${requestId}`,
  ];
  // A Chinese colon is as wide as a colon and a space.
  const gap = speech.language === 'en' ? ' ' : '';
  const known = facts.filter((fact): fact is string => Boolean(fact)).map(visible);
  const mark =
    error.exitCode === EXIT.cancelled
      ? style('yellow', textIn(say`cancelled:`, speech))
      : style(['red', 'bold'], textIn(say`error:`, speech));
  return [
    `${mark}${gap}${error.message.split('\n').map(visible).join('\n')}`,
    ...fields.map((field) => `  ${style('bold', visible(field.pointer || '/'))}  ${visible(field.detail)}`),
    ...(known.length > 0 && error.exitCode !== EXIT.cancelled ? [`  ${style('dim', known.join('  ·  '))}`] : []),
    ...(hint ? hintLines(hint, textIn(say`next:`, speech), gap, style) : []),
  ];
}

/** The command or advice stands in the first line; a sentence about a command in the next one. */
function hintLines(hint: string, mark: string, gap: string, style: Terminal['err']['style']): string[] {
  const indent = ' '.repeat(displayWidth(`  ${mark}${gap}`));
  const [first = '', ...more] = hint.split('\n').map(visible);
  return [`  ${style('cyan', mark)}${gap}${first}`, ...more.map((line) => indent + line)];
}

/** A programming error keeps its message, but the stack is dropped. */
function toCliError(failure: unknown): CliError {
  if (failure instanceof CliError) return failure;
  const code = codeOf(failure);
  const message = failure instanceof Error ? failure.message : String(failure);
  const fault = writeFault(failure);
  if (fault !== undefined)
    return new CliError('file_not_written', EXIT.failed, `Cannot write the file: ${fault}.`, {
      cause: failure,
      hint: 'free disk space or choose another file, then run it again',
    });
  if (code === 'ENOENT') return new CliError('file_not_found', EXIT.usage, message);
  if (code === 'EACCES' || code === 'EPERM') return new CliError('file_denied', EXIT.failed, message);
  return new CliError('unexpected', EXIT.failed, message, {
    hint: 'rerun with --debug and report the problem',
    cause: failure,
  });
}
