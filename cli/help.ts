import type { Login } from './options.ts';
import { type Style, displayWidth, padTo, wrap } from './terminal-text.ts';
import { widest } from './values.ts';

type Rows = readonly (readonly [string, string])[];

interface RootPage {
  description: string;
  /** The names of all commands, for the width of the first column. */
  names: readonly string[];
  groups: readonly (readonly [string, Rows])[];
  flags: Rows;
}

interface CommandPage {
  description: string;
  examples: readonly string[];
  usage: string;
  args: Rows;
  verbs: Rows;
  flags: Rows;
  login: Login;
}

export type HelpPage = RootPage | CommandPage;

/** Maximum width of help, for readability. */
export const MOST_COLUMNS = 110;

/** Renders help: description, examples, usage, arguments, subcommands, flags. */
export function helpText(page: HelpPage, style: Style, columns: number): string {
  const lines = 'groups' in page ? rootLines(page, style, columns) : commandLines(page, style, columns);
  return `${lines.join('\n')}\n`;
}

function rootLines({ description, names, groups, flags }: RootPage, style: Style, columns: number): string[] {
  const width = widest(names);
  return [
    description,
    ...groups.flatMap(([title, commands]) => section(style, title, rows(commands, width, columns, style))),
    ...section(style, 'Global flags', rows(flags, undefined, columns, style)),
    ...section(
      style,
      'More',
      rows(
        [
          ['payctl help <command>', 'examples and flags of a command'],
          ['payctl help <topic>', 'environment, exit-codes, output, secrets, bootstrap'],
          ['*', 'also for merchants, with the credentials of an application: payctl login --client-id ID'],
        ],
        undefined,
        columns,
        style,
      ),
    ),
  ];
}

function commandLines(page: CommandPage, style: Style, columns: number): string[] {
  const table = (title: string, pairs: Rows) => section(style, title, rows(pairs, undefined, columns, style));
  return [
    ...wrapDescription(page.description, columns),
    ...section(
      style,
      'Examples',
      page.examples.map((line) => `  ${style('dim', '$')} ${breakCommand(line, columns - 6)}`),
    ),
    ...section(style, 'Usage', [`  ${page.usage}`]),
    ...section(style, 'Login', loginLines(page, columns)),
    ...table('Arguments', page.args),
    ...table('Verbs', page.verbs),
    ...table('Flags', page.flags),
    '',
    style('dim', 'Global flags (-C, -o, --json, --fields, -q, --debug …): payctl --help'),
  ];
}

const LOGIN: Readonly<Record<Login, string>> = {
  administrator: 'administrator',
  any: 'administrator, or merchant with the credentials of an application',
  application: 'merchant, with the credentials of an application',
  none: 'not needed',
};

function loginLines({ login, verbs }: CommandPage, columns: number): string[] {
  const some = 'administrator; verbs with * also merchant, with the credentials of an application';
  const text = login === 'any' && verbs.length > 0 ? some : LOGIN[login];
  return wrap(text, columns - 2).map((line) => `  ${line}`);
}

const NO_BREAK = '\u00a0';

/** A command with a redirection or a pipe stays in one line, so that it can be copied. */
function wrapDescription(text: string, columns: number): string[] {
  const joined = text.replaceAll(/\w+ <\([^)]*\)|payctl [\w ]+ \| \w+/g, (line) => line.replaceAll(' ', NO_BREAK));
  return wrap(joined, columns).map((line) => line.replaceAll(NO_BREAK, ' '));
}

/** Wraps a long command line before a flag, with `\`, so that the operator can still copy the command. */
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

function rows(pairs: Rows, fixed: number | undefined, columns: number, style: Style): string[] {
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
