import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { exportFlags, exportStream, type ExportFlags } from '../../export-stream.ts';
import { examples } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { AUDIT_LOG, FILTERS } from './view.ts';

/** Adds `audit-log export`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export all matching lines as CSV or NDJSON with their hashes, newest first, to stdout or to a new file that is created only once it is complete. The export is a line of the log itself.',
    );
  addFields(command, FILTERS);
  examples(
    exportFlags(command),
    'payctl audit-log export --since 2026-11-01 --format ndjson --file november.ndjson',
    'payctl audit-log export --actor alice > alice.csv',
  ).action((options: Row & ExportFlags) => run(context(), options));
}

/** Exports the lines that pass the filters. */
export function run(context: Context, options: Row & ExportFlags): Promise<void> {
  return exportStream(context, `${AUDIT_LOG}/export`, bodyOf(options, FILTERS) as Query, options);
}
