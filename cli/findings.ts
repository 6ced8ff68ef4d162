import { PAY_WAYS } from '../server/domain.ts';
import type { Context } from './context.ts';
import { asCalled, command, repeatTarget } from './hints.ts';
import { asInstalled } from './installation.ts';
import { ENGLISH, type Speech, type Text, coded, english, say, textIn } from './language.ts';
import { type Look, type Style, padTo, wrap } from './terminal-text.ts';
import { type View, visible, widest } from './values.ts';

const [first, ...others] = PAY_WAYS;

/** The command that sets a channel, and the names of the other channels. */
export const SET_A_CHANNEL = [`payctl channel set ${first}`, others.join(', ')] as const;

const [line, names] = SET_A_CHANNEL;

export const NO_CHANNEL: Text = command(line, say`Or one of these channels: ${names}.`);

/** The result of one check. `fix` is advice or a command that repairs the cause (see hints.ts), or null. */
export interface Finding {
  check: string;
  status: 'ok' | 'degraded' | 'failed';
  detail: Text;
  fix: Text | null;
}

const MARKS: Readonly<Record<Finding['status'], readonly [mark: string, look: Look]>> = {
  ok: ['ok', 'green'],
  degraded: ['warn', 'yellow'],
  failed: ['fail', 'red'],
};

const COLUMNS: View['columns'] = [
  { field: 'check', kind: 'id' },
  { field: 'status', kind: 'status' },
  { field: 'detail' },
  { field: 'fix' },
];

/**
 * Prints check results, drawn on a terminal and otherwise as rows. `-o name` prints the noun and the name of each
 * check.
 */
export async function printFindings(context: Context, found: readonly Finding[], noun: string): Promise<void> {
  const { print, terminal, flags } = context;
  const { out } = terminal;
  const findings = atTarget(found, context);
  if (print.format === 'table' && !print.fields && flags.quiet !== true)
    return out.write(drawFindings(findings, out, await print.speech()));
  const rows = findings.map(({ detail, fix, ...finding }) => ({
    ...finding,
    detail: english(detail),
    fix: fix === null ? null : english(fix),
  }));
  return print.list(rows, { noun, id: 'check', columns: COLUMNS });
}

/** The findings, with --server or -C of this run in their commands, and with those of an installed service. */
export function atTarget(
  findings: readonly Finding[],
  { flags, run: { target }, installation, terminal }: Pick<Context, 'flags' | 'run' | 'installation' | 'terminal'>,
): Finding[] {
  const commandsOf = (fix: string): string =>
    asCalled(asInstalled(repeatTarget(fix, flags, target), installation, target?.origin), terminal.env);
  return findings.map((finding) => {
    const { fix } = finding;
    return fix === null ? finding : { ...finding, fix: { in: (speech) => commandsOf(textIn(fix, speech)) } };
  });
}

/** Draws each check, and on the next line the command that repairs the cause. That command is never shortened. */
export function drawFindings(
  findings: readonly Finding[],
  { columns, style }: { columns: number; style: Style },
  speech: Speech = ENGLISH,
): string {
  const nameOf = ({ check }: Finding): string => visible(textIn(coded('check', check), speech));
  const markOf = (mark: string): string => speech.word('mark', mark);
  const names = widest(findings.map(nameOf));
  const marks = widest(Object.values(MARKS).map(([mark]) => markOf(mark)));
  const indent = ' '.repeat(marks + names + 4);
  return findings
    .flatMap((finding) => {
      const { status, detail, fix } = finding;
      const [mark, look] = MARKS[status];
      const [first = '', ...rest] = wrap(visible(textIn(detail, speech)), Math.max(20, columns - indent.length));
      return [
        `${style(look, padTo(markOf(mark), marks))}  ${padTo(nameOf(finding), names)}  ${first}`,
        ...rest.map((line) => indent + line),
        ...(fix === null ? [] : fixLines(textIn(fix, speech)).map((text) => `${indent}${style('cyan', text)}`)),
      ];
    })
    .map((line) => `${line}\n`)
    .join('');
}

function fixLines(fix: string): string[] {
  return fix.split('\n').map(visible);
}
