import { resolve } from 'node:path';
import type { IncomingMessage } from 'node:http';
import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { Cancelled, CliError, EXIT, networkCause } from '../../errors.ts';
import { reserveStream, type ReservedStream } from '../../files.ts';
import { choice, examples } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import { withSpinner, type Spinner } from '../../spinner.ts';
import type { Row } from '../../values.ts';
import { FILTERS, ORDERS } from './view.ts';

/** The flags of `order export`. */
export type ExportFlags = Row & { format?: string; file?: string };

/** Adds `order export`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export all matching orders as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    );
  addFields(command, FILTERS);
  command
    .addOption(choice('--format <format>', 'file format', ['csv', 'ndjson']))
    .option('--file <file>', 'write to a new file');
  examples(
    command,
    'payctl order export --since 2026-11-01 --file november.csv',
    'payctl order export --status paid --format ndjson > paid.ndjson',
  ).action((options: ExportFlags) => run(context(), options));
}

/** Streams the export; memory stays flat, and a broken connection leaves no half file. */
export async function run(context: Context, options: ExportFlags): Promise<void> {
  const { api, terminal, print } = context;
  const query = { ...(bodyOf(options, FILTERS) as Query), format: options.format ?? 'csv' };
  const file = options.file ? await reserveStream(resolve(terminal.cwd, options.file)) : undefined;
  try {
    const answer = await api.stream({ method: 'GET', path: `${ORDERS}/export`, query, headers: { accept: '*/*' } });
    const lines = await withSpinner(terminal.err, 'Exporting', (spinner) => copy(context, answer, file, spinner));
    await file?.commit();
    await print.done(`Exported ${lines} lines${options.file ? ` to ${options.file}` : ''}.`);
  } finally {
    await file?.discard();
  }
}

async function copy(
  { terminal }: Context,
  answer: IncomingMessage,
  file: ReservedStream | undefined,
  spinner: Spinner,
): Promise<number> {
  let lines = 0;
  let bytes = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      await (file ? file.write(part) : terminal.out.write(part));
      if (!file && terminal.out.closed) return lines;
      bytes += part.length;
      for (const byte of part) if (byte === 10) lines += 1;
      spinner.text = `Exporting  ${lines} lines  ${(bytes / 1e6).toFixed(1)} MB`;
    }
  } catch (error) {
    if (terminal.signal.aborted) throw new Cancelled();
    throw new CliError(
      'export_broken',
      EXIT.tryAgain,
      `The export was interrupted after ${lines} lines: ${networkCause(error)}.`,
      { cause: error, hint: 'run it again' },
    );
  }
  return lines;
}
