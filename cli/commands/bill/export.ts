import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { exportFlags, exportStream, type ExportFlags } from '../../export-stream.ts';
import { choice, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { BILL_NO, BILLS, LINE_KINDS } from './view.ts';

/** The flags of `bill export`. */
export type BillExportFlags = ExportFlags & { kind?: string };

/** Adds `bill export`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export the lines of a bill as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    )
    .argument('<billNo>')
    .addOption(choice('--kind <kind>', 'filter by kind', LINE_KINDS));
  examples(
    exportFlags(command),
    `payctl bill export ${BILL_NO} --file bill.csv`,
    `payctl bill export ${BILL_NO} --kind fee --format ndjson > fees.ndjson`,
  ).action((billNo: string, flags: BillExportFlags) => run(context(), billNo, flags));
}

/** Exports the lines of a bill. */
export function run(context: Context, billNo: string, flags: BillExportFlags): Promise<void> {
  return exportStream(context, `${BILLS}/${segment(billNo)}/lines`, { kind: flags.kind }, flags);
}
