import type { Command, Option } from 'commander';
import { examplesOf } from './options.ts';
import type { Style } from './style.ts';
import { widest } from './values.ts';
import { displayWidth, padTo, wrap } from './width.ts';

/** The help of a command: what it does, examples first, then usage, arguments, verbs and flags. */
export function helpText(command: Command, style: Style, columns: number): string {
  const lines = command.parent ? commandLines(command, style, columns) : rootLines(command, style, columns);
  return `${lines.join('\n')}\n`;
}

function rootLines(program: Command, style: Style, columns: number): string[] {
  const groups = Map.groupBy(visibleCommands(program), (command) => command.helpGroup() || 'Other');
  const width = widest(program.commands.map((command) => command.name()));
  return [
    program.description(),
    ...[...groups].flatMap(([group, commands]) =>
      section(
        style,
        group,
        rows(
          commands.map((command) => [command.name(), command.summary()]),
          width,
          columns,
          style,
        ),
      ),
    ),
    ...section(style, 'Global flags', rows(optionRows(program.options), undefined, columns, style)),
    ...section(
      style,
      'More',
      rows(
        [
          ['payctl help <command>', 'examples and flags of a command'],
          ['payctl help <topic>', 'environment, exit-codes, output, secrets, bootstrap'],
        ],
        undefined,
        columns,
        style,
      ),
    ),
  ];
}

function commandLines(command: Command, style: Style, columns: number): string[] {
  const verbs = visibleCommands(command);
  const args = command.registeredArguments
    .filter((argument) => argument.description !== '')
    .map((argument): [string, string] => [argument.name(), argument.description]);
  return [
    ...wrap(command.description() || command.summary(), columns),
    ...section(
      style,
      'Examples',
      examplesOf(command).map((line) => `  ${style('dim', '$')} ${breakCommand(line, columns - 6)}`),
    ),
    ...section(style, 'Usage', [`  ${usage(command)}`]),
    ...section(style, 'Arguments', rows(args, undefined, columns, style)),
    ...section(
      style,
      'Verbs',
      rows(
        verbs.map((verb) => [verb.name(), verb.summary() || verb.description()]),
        undefined,
        columns,
        style,
      ),
    ),
    ...section(style, 'Flags', rows(optionRows(command.options), undefined, columns, style)),
    '',
    style('dim', 'Global flags (-C, -o, --json, --fields, -q, --debug …): payctl --help'),
  ];
}

/** A command line that fits, broken before its flags so that it can still be copied. */
function breakCommand(line: string, columns: number): string {
  const [start = '', ...flags] = line.split(/ (?=--?[a-zA-Z])/);
  const lines = [start];
  for (const flag of flags) {
    const last = lines.at(-1) ?? '';
    if (displayWidth(`${last} ${flag}`) <= columns) lines.splice(-1, 1, `${last} ${flag}`);
    else lines.push(flag);
  }
  return lines.join(' \\\n      ');
}

function section(style: Style, title: string, lines: readonly string[]): string[] {
  return lines.length > 0 ? ['', style('bold', title), ...lines] : [];
}

function usage(command: Command): string {
  const parts = [commandPath(command)];
  if (command.commands.length > 0) parts.push('<verb>');
  for (const argument of command.registeredArguments)
    parts.push(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`);
  if (command.options.length > 0 || command.commands.length > 0) parts.push('[flags]');
  return parts.join(' ');
}

/** The words that lead to a command: `payctl app create`. */
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
    .map((option) => [`${option.short ? '' : '    '}${option.flags}`, words(option)]);
}

function words(option: Option): string {
  const { description, argChoices, mandatory } = option;
  return [description, argChoices && `(${argChoices.join('|')})`, mandatory && '(required)'].filter(Boolean).join(' ');
}

function rows(
  pairs: readonly (readonly [string, string])[],
  fixed: number | undefined,
  columns: number,
  style: Style,
): string[] {
  const width = Math.min(fixed ?? widest(pairs.map(([name]) => name)), 34);
  return pairs.flatMap(([name, text]) => {
    const [first = '', ...rest] = wrap(text, Math.max(20, columns - width - 4));
    const head =
      name.length > width
        ? [`  ${style('cyan', name)}`, `  ${' '.repeat(width)}  ${first}`]
        : [`  ${style('cyan', padTo(name, width))}  ${first}`];
    return [...head, ...rest.map((line) => `  ${' '.repeat(width)}  ${line}`)];
  });
}
