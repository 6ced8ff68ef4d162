import type { Context } from '../../context.ts';
import { plain, visible, type Row, type View } from '../../values.ts';
import { wrap } from '../../width.ts';

/** Prints a configuration, and for a person, below it, what must be registered at the channel. */
export async function printConfig(context: Context, row: Row, view: View): Promise<void> {
  const { registrations, ...config } = row;
  if (!isForPeople(context)) return context.print.item(row, view);
  await context.print.item(config, view);
  await printRegistrations(context, registrations);
}

/** For a person: where each thing is registered, what exactly, and for which scenes. */
export async function printRegistrations(context: Context, registrations: unknown): Promise<void> {
  const { out } = context.terminal;
  if (!isForPeople(context) || !Array.isArray(registrations) || registrations.length === 0) return;
  const lines = (registrations as Row[]).flatMap((row) => linesOf(row, out.columns, out.style));
  await out.write(`\n${out.style('bold', 'To be registered at the channel')}\n${lines.join('\n')}\n`);
}

function isForPeople({ print, flags }: Context): boolean {
  return print.format === 'table' && !print.fields && flags.quiet !== true;
}

function linesOf(row: Row, columns: number, style: Context['terminal']['out']['style']): string[] {
  const texts = (name: string): string[] => (Array.isArray(row[name]) ? row[name].map(plain) : []);
  const scenes = texts('scenes').join(', ');
  const by = row['by'] === 'payctl' ? 'payctl channel set does it' : 'by hand';
  const indented = (text: string, indent: string) =>
    wrap(visible(text), Math.max(20, columns - indent.length)).map((line) => indent + line);
  return [
    ...indented(`${plain(row['name'])} (${scenes}; ${by})`, '  '),
    ...texts('values').map((value) => `      ${style('cyan', visible(value))}`),
    ...indented(`at: ${plain(row['where'])}`, '    '),
    ...(row['note'] ? indented(plain(row['note']), '    ') : []),
  ];
}
