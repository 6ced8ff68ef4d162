import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { exportFlags, exportStream, type ExportFlags } from '../../export-stream.ts';
import { examples } from '../../options.ts';
import { addFields, bodyOf } from '../../resource.ts';
import type { Row } from '../../values.ts';
import { FILTERS, ORDERS } from './view.ts';

/** Adds `order export`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export all matching orders as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    );
  addFields(command, FILTERS);
  examples(
    exportFlags(command),
    'payctl order export --since 2026-11-01 --file november.csv',
    'payctl order export --status paid --format ndjson > paid.ndjson',
  ).action((options: Row & ExportFlags) => run(context(), options));
}

/** Exports the orders that pass the filters. */
export function run(context: Context, options: Row & ExportFlags): Promise<void> {
  return exportStream(context, `${ORDERS}/export`, bodyOf(options, FILTERS) as Query, options);
}
