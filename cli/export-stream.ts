import type { IncomingMessage } from 'node:http';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Query } from './api-client.ts';
import type { Context, ContextOf } from './context.ts';
import { Cancelled, CliError, EXIT, networkCause, UsageError } from './errors.ts';
import { reserveStream, type ReservedStream } from './files.ts';
import { say } from './language.ts';
import { choice, examples } from './options.ts';
import { type Resource, addFields, queryOf } from './resource.ts';
import { withSpinner, type Spinner } from './terminal.ts';
import type { Row } from './values.ts';
import { OutputLost } from './whole-write.ts';

export interface ExportFlags {
  format?: string;
  bom?: boolean;
  file?: string;
}

/** Adds the flags --format, --bom and --file to a command that exports rows. */
export function exportFlags(command: Command): Command {
  return command
    .addOption(choice('--format <format>', 'file format', ['csv', 'ndjson']))
    .option('--bom', 'begin CSV with the UTF-8 mark, for Excel on Windows; without it Chinese text is garbled there')
    .option('--file <file>', 'write to a new file');
}

/** Adds the subcommand `export`, which exports the rows that match the filters. */
export function addExport(
  noun: Command,
  context: ContextOf,
  { path, filters = [] }: Resource,
  words: string,
  lines: readonly string[],
): void {
  const command = noun.command('export').description(words);
  addFields(command, filters);
  examples(exportFlags(command), ...lines).action((flags: Row & ExportFlags) =>
    exportStream(context(), `${path}/export`, queryOf(flags, filters), flags),
  );
}

/** Streams an export to stdout or to a new file. If the connection breaks, no partial file remains. */
export async function exportStream(context: Context, path: string, query: Query, flags: ExportFlags): Promise<void> {
  const { api, terminal, print } = context;
  const { format = 'csv', bom } = flags;
  if (bom && format !== 'csv') throw new UsageError('--bom requires the format CSV.', 'remove --bom or --format');
  const file = flags.file ? await reserveStream(resolve(terminal.cwd, flags.file)) : undefined;
  try {
    const whole = { ...query, format, ...(bom && { bom }) };
    const answer = await api.stream({ method: 'GET', path, query: whole, headers: { accept: '*/*' } });
    const lines = await withSpinner(terminal.err, 'Exporting', (spinner) => copy(context, answer, file, spinner));
    await file?.commit();
    await print.done(
      flags.file === undefined ? say`Exported ${lines} lines.` : say`Exported ${lines} lines to ${flags.file}.`,
    );
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
    if (error instanceof OutputLost || error instanceof CliError) throw error;
    throw exportBroken(terminal.signal, lines, error);
  }
  return lines;
}

/** Creates the error for an export that was interrupted after `lines` lines. */
export function exportBroken(signal: AbortSignal, lines: number, error: unknown): CliError {
  if (signal.aborted) return new Cancelled();
  return new CliError(
    'export_broken',
    EXIT.tryAgain,
    `The export was interrupted after ${lines} lines: ${networkCause(error)}.`,
    { cause: error, hint: 'run it again' },
  );
}
