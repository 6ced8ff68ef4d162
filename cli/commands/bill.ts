import { DIFFERENCE_KINDS, DIFFERENCE_STATES, BILL_LINE_KINDS, NOT_OURS } from '../../server/domain.ts';
import type { Command } from 'commander';
import { createInterface } from 'node:readline';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type ExportFlags, exportBroken, exportFlags, exportStream } from '../export-stream.ts';
import { changes, choice, examples, integer, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, complete, printList, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import type { Row } from '../values.ts';
import { defineFetch, defineImport, defineRerun } from './bill-fetch.ts';
import { defineSettlement } from './bill-settlement.ts';
import { BILLS, BILL_FILTERS, BILL_NO, BILL_VIEW, DIFFERENCES, LINES, showBill } from './bill-view.ts';

/** Adds `bill list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description(
      'List bills, newest day first, with their differences: open ones are checked, listed ones need review.',
    );
  addFields(command, BILL_FILTERS);
  examples(
    paged(command),
    'payctl bill list',
    'payctl bill list --pay-way wechat --state missing',
    'payctl bill list --from 2026-11-01 --to 2026-11-30 --all --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the bills that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, BILLS, bodyOf(options, BILL_FILTERS) as Query, BILL_VIEW, options);
}

/** Adds `bill get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one bill, its sums and how many differences it has.')
    .argument('<billNo>');
  examples(command, `payctl bill get ${BILL_NO}`, `payctl bill get ${BILL_NO} --fields state,lines,fault`).action(
    (billNo: string) => runGet(context(), billNo),
  );
}

/** Prints one bill. */
async function runGet(context: Context, billNo: string): Promise<void> {
  await showBill(context, await context.api.get(`${BILLS}/${segment(billNo)}`));
}

const DIFFERENCE_FILTERS: readonly Field[] = [
  {
    name: 'state',
    value: 'state',
    help: 'filter by state: open (the channel is being asked), healed, listed (needs review), ended',
    choices: DIFFERENCE_STATES,
  },
  {
    name: 'kind',
    value: 'kind',
    help: 'filter by kind; order_not_ours lists the lines of other systems, which are only counted otherwise',
    choices: [...DIFFERENCE_KINDS, NOT_OURS],
  },
];

const MOST_FIXES = 3;

/** Adds `bill differences`. */
function defineDifferences(noun: Command, context: ContextOf): void {
  const command = noun
    .command('differences')
    .description('List how a bill and the orders differ, and the command that ends each difference.')
    .argument('<billNo>');
  addFields(command, DIFFERENCE_FILTERS);
  examples(
    paged(command),
    `payctl bill differences ${BILL_NO}`,
    `payctl bill differences ${BILL_NO} --state listed --fields orderNo,kind,fix`,
    `payctl bill differences ${BILL_NO} --kind order_not_ours --all --json`,
  ).action((billNo: string, options: Row & ListFlags) => runDifferences(context(), billNo, options));
}

/** Prints the differences that pass the filters; on a terminal, the next steps below them. */
async function runDifferences(context: Context, billNo: string, options: Row & ListFlags): Promise<void> {
  const path = `${BILLS}/${segment(billNo)}/differences`;
  const fixes = new Set<string>();
  await printList(context, path, bodyOf(options, DIFFERENCE_FILTERS) as Query, DIFFERENCES, options, (rows) => {
    for (const { fix } of rows) if (typeof fix === 'string') fixes.add(fix);
  });
  const { print } = context;
  if (print.format !== 'table' || print.linewise) return;
  for (const fix of [...fixes].slice(0, MOST_FIXES)) await print.done(`Next: ${fix}`);
  if (fixes.size > MOST_FIXES) await print.done(`${fixes.size - MOST_FIXES} more: add --fields orderNo,kind,fix`);
}

/** The flags of `bill lines`. */
interface LinesFlags {
  kind?: string;
  limit?: number;
  all?: boolean;
}

const FIRST_LINES = 50;
const LINES_AT_ONCE = 200;

/** Adds `bill lines`. */
function defineLines(noun: Command, context: ContextOf): void {
  const command = noun
    .command('lines')
    .description('Show the lines of a bill. For a whole bill, use payctl bill export.')
    .argument('<billNo>')
    .addOption(choice('--kind <kind>', 'filter by kind', BILL_LINE_KINDS))
    .option('--limit <n>', 'number of lines, by default 50', integer(1, 100_000))
    .option('--all', 'show all lines');
  examples(
    command,
    `payctl bill lines ${BILL_NO}`,
    `payctl bill lines ${BILL_NO} --kind refund --all`,
    `payctl bill lines ${BILL_NO} --limit 5 --json`,
  ).action((billNo: string, flags: LinesFlags) => runLines(context(), billNo, flags));
}

/** Prints the lines while they come, where the format allows it; says when there are more. */
async function runLines(context: Context, billNo: string, flags: LinesFlags): Promise<void> {
  const { print, terminal } = context;
  const most = flags.all ? Infinity : (flags.limit ?? FIRST_LINES);
  let held: Row[] = [];
  let printed = 0;
  const show = async (): Promise<void> => {
    await print.list(held, LINES, { continued: printed > 0 });
    printed += held.length;
    held = [];
  };
  for await (const row of streamLines(context, billNo, flags.kind)) {
    if (printed + held.length >= most) {
      await show();
      return print.note('There are more lines: add --all, or use payctl bill export.');
    }
    held.push(row);
    if (print.linewise && held.length >= LINES_AT_ONCE) await show();
    if (terminal.out.closed) return;
  }
  if (held.length > 0 || printed === 0) await show();
  if (printed === 0 && print.format === 'table') await print.note('No line found.');
}

/** The lines as the service streams them; leaving the loop closes the connection. */
async function* streamLines(
  { api, terminal }: Context,
  billNo: string,
  kind: string | undefined,
): AsyncGenerator<Row, void, undefined> {
  const answer = await api.stream({
    method: 'GET',
    path: `${BILLS}/${segment(billNo)}/lines`,
    query: { format: 'ndjson', kind },
    headers: { accept: '*/*' },
  });
  let count = 0;
  try {
    for await (const line of createInterface({ input: answer, crlfDelay: Infinity })) {
      if (line === '') continue;
      const row = JSON.parse(line) as Row;
      count += 1;
      yield row;
    }
    if (!answer.complete) throw new Error('the connection was closed');
  } catch (error) {
    throw exportBroken(terminal.signal, count, error);
  } finally {
    answer.destroy();
  }
}

/** The flags of `bill export`. */
type BillExportFlags = ExportFlags & { kind?: string };

/** Adds `bill export`. */
function defineExport(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export the lines of a bill as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    )
    .argument('<billNo>')
    .addOption(choice('--kind <kind>', 'filter by kind', BILL_LINE_KINDS));
  examples(
    exportFlags(command),
    `payctl bill export ${BILL_NO} --file bill.csv`,
    `payctl bill export ${BILL_NO} --kind fee --format ndjson > fees.ndjson`,
  ).action((billNo: string, flags: BillExportFlags) => runExport(context(), billNo, flags));
}

/** Exports the lines of a bill. */
function runExport(context: Context, billNo: string, flags: BillExportFlags): Promise<void> {
  return exportStream(context, `${BILLS}/${segment(billNo)}/lines`, { kind: flags.kind }, flags);
}

const QUIET_FIELDS: readonly Field[] = [
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** The flags of `bill quiet`. */
interface QuietFlags extends ChangeFlags {
  reason?: string;
  off?: boolean;
}

/** Adds `bill quiet`. */
function defineQuiet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('quiet')
    .description(
      'Treat unknown order numbers at the account of a bill as those of another installation of this service, in all bills of the account; with --off, report them again.',
    )
    .argument('<billNo>')
    .option('--reason <text>', 'reason, recorded with your name')
    .option('--off', 'report unknown order numbers of the account again');
  examples(
    changes(command),
    `payctl bill quiet ${BILL_NO} --reason "the staging system uses this account"`,
    `payctl bill quiet ${BILL_NO} --off`,
  ).action((billNo: string, flags: QuietFlags) => runQuiet(context(), billNo, flags));
}

/** Makes the account of a bill quiet, or ends that; to make it so is confirmed with the bill's number, because lost orders are then not missed. */
async function runQuiet(context: Context, billNo: string, flags: QuietFlags): Promise<void> {
  const { reason, off } = flags;
  if (off && reason !== undefined) throw new UsageError('--off takes no --reason.', 'leave --reason out');
  const path = `${BILLS}/${segment(billNo)}/quiet`;
  const bill = await context.change(
    off
      ? { what: `report unknown orders of the account of bill ${billNo}`, name: billNo, method: 'DELETE', path }
      : {
          what: `keep quiet about unknown orders of the account of bill ${billNo}`,
          name: billNo,
          risk: 'severe',
          method: 'POST',
          path,
          body: await complete(context, QUIET_FIELDS, reason ? { reason } : {}),
        },
    flags,
  );
  if (!bill) return;
  await showBill(context, bill);
  await context.print.done(`${accountOf(bill)} ${off ? 'is not quiet any more' : 'is quiet'}.`);
}

function accountOf({ payWay, account }: Row): string {
  return `${String(payWay)} ${String(account)}`;
}

/** Adds the verbs of `bill`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Fetch, import and compare the bills of the channels, and show what they settle.');
  for (const addVerb of [
    defineList,
    defineGet,
    defineFetch,
    defineImport,
    defineDifferences,
    defineLines,
    defineRerun,
    defineQuiet,
    defineExport,
    defineSettlement,
  ])
    addVerb(noun, context);
}
