import { BILL_LINE_KINDS, DIFFERENCE_KINDS, DIFFERENCE_STATES, MODES, NOT_OURS } from '../../server/domain.ts';
import type { Command } from 'commander';
import { createInterface } from 'node:readline';
import { addAction } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { UsageError } from '../errors.ts';
import { type ExportFlags, exportBroken, exportFlags, exportStream } from '../export-stream.ts';
import { repeatTarget } from '../hints.ts';
import { type Text, coded, joined, say, textIn } from '../language.ts';
import { changes, choice, day, examples, integer, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, addList, complete, printList, queryOf, rowPath } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { type Column, type Row, type View, minorDigits, minorMoney, plain, valueOf } from '../values.ts';
import { BILL_NO, FETCH, RERUN, bill, defineImport, nameOf, showBill } from './bill-fetch.ts';
import { BY, KIND, REASON } from './views.ts';

function defineGet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('get')
    .description('Show one bill, its sums and how many differences it has.')
    .argument('<billNo>');
  examples(command, `payctl bill get ${BILL_NO}`, `payctl bill get ${BILL_NO} --fields state,lines,fault`).action(
    (billNo: string) => runGet(context(), billNo),
  );
}

async function runGet(context: Context, billNo: string): Promise<void> {
  await showBill(context, await context.api.get(rowPath(bill, billNo)));
}

const DIFFERENCES: View = {
  noun: 'difference',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { ...KIND, kind: 'id' },
    side('ours'),
    side('theirs'),
    { field: 'state', kind: 'status', words: 'differenceState' },
    { field: 'theirs.currency', title: 'CUR', kind: 'id' },
    { field: 'theirs.line', title: 'LINE', kind: 'id' },
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'nextCheckAt', title: 'NEXT CHECK', kind: 'time' },
    { field: 'fix', kind: 'id' },
  ],
};

/** A column with the amount, fee or state according to the service (`ours`) or to the channel (`theirs`). */
function side(name: 'ours' | 'theirs'): Column {
  return { field: name, kind: 'money', read: (row) => sideText(row, name) };
}

function sideText(row: Row, name: 'ours' | 'theirs'): unknown {
  if (row['kind'] === 'fee_differs') return feeText(row, name);
  if (row['kind'] === 'line_unreadable') return valueOf(row, `${name}.reason`);
  const minor = valueOf(row, `${name}.amountMinor`);
  const currency = plain(valueOf(row, `${name}.currency`));
  if (typeof minor !== 'number') return valueOf(row, `${name}.state`);
  return row['kind'] === 'currency_differs' ? minorMoney(minor, currency) : minorDigits(minor, currency);
}

function feeText(row: Row, name: 'ours' | 'theirs'): unknown {
  const fee = valueOf(row, `${name}.feeMinor`);
  return typeof fee === 'number' ? minorDigits(fee, plain(valueOf(row, `${name}.currency`))) : undefined;
}

const LINES: View = {
  noun: 'line',
  id: 'line',
  columns: [
    { field: 'line', kind: 'id' },
    { field: 'kind', kind: 'id', words: 'lineKind' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'amountMinor', title: 'AMOUNT', kind: 'minor' },
    { field: 'feeMinor', title: 'FEE', kind: 'minor' },
    { field: 'currency', title: 'CUR', kind: 'id' },
    { field: 'at', kind: 'time' },
    { field: 'event' },
    { field: 'discountMinor', title: 'DISCOUNT', kind: 'minor' },
    { field: 'shareMinor', title: 'SHARE', kind: 'minor' },
    { field: 'channelTradeNo', kind: 'id' },
    { field: 'refundNo', kind: 'id' },
    { field: 'channelRefundNo', kind: 'id' },
  ],
};

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

async function runDifferences(context: Context, billNo: string, options: Row & ListFlags): Promise<void> {
  const path = `${rowPath(bill, billNo)}/differences`;
  const fixes = new Set<string>();
  await printList(context, path, queryOf(options, DIFFERENCE_FILTERS), DIFFERENCES, options, (rows) => {
    for (const { fix } of rows) if (typeof fix === 'string') fixes.add(fix);
  });
  const { print } = context;
  if (print.format !== 'table' || print.linewise) return;
  for (const fix of [...fixes].slice(0, MOST_FIXES))
    await print.done(say`Next: ${repeatTarget(fix, context.flags, context.run.target)}`);
  if (fixes.size > MOST_FIXES) await print.done(say`${fixes.size - MOST_FIXES} more: add --fields orderNo,kind,fix`);
}

interface LinesFlags {
  kind?: string;
  limit?: number;
  all?: boolean;
}

const FIRST_LINES = 50;
const LINES_AT_ONCE = 200;

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

/** Formats with one output row per line (e.g. CSV) are printed while the lines arrive. */
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
      return print.note(say`There are more lines: add --all, or use payctl bill export.`);
    }
    held.push(row);
    if (print.linewise && held.length >= LINES_AT_ONCE) await show();
    if (terminal.out.closed) return;
  }
  if (held.length > 0 || printed === 0) await show();
  if (printed === 0 && print.format === 'table') await print.note(say`No line found.`);
}

/** If the caller stops early, the connection is closed. */
async function* streamLines(
  { api, terminal }: Context,
  billNo: string,
  kind: string | undefined,
): AsyncGenerator<Row, void, undefined> {
  const answer = await api.stream({
    method: 'GET',
    path: `${rowPath(bill, billNo)}/lines`,
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

type BillExportFlags = ExportFlags & { kind?: string };

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

function runExport(context: Context, billNo: string, flags: BillExportFlags): Promise<void> {
  return exportStream(context, `${rowPath(bill, billNo)}/lines`, { kind: flags.kind }, flags);
}

interface QuietFlags extends ChangeFlags {
  reason?: string;
  off?: boolean;
}

function defineQuiet(noun: Command, context: ContextOf): void {
  const command = noun
    .command('quiet')
    .description(
      'Treat unknown order numbers in all bills of the account as orders of another installation of this service; with --off, report them again.',
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

/**
 * Turns the reports of unknown order numbers off or on, for all bills of one channel account. Operators turn them off
 * if another installation uses the same account. To confirm, the operator types the bill number, because orders that
 * this database has lost are then no longer reported.
 */
async function runQuiet(context: Context, billNo: string, flags: QuietFlags): Promise<void> {
  const { reason, off } = flags;
  if (off && reason !== undefined)
    throw new UsageError('--reason cannot be combined with --off.', 'leave --reason out');
  const path = `${rowPath(bill, billNo)}/quiet`;
  const row = await context.change(
    off
      ? {
          what: `report unknown order numbers of the account of bill ${billNo} again`,
          name: billNo,
          method: 'DELETE',
          path,
        }
      : {
          what: `stop the reports of unknown order numbers of the account of bill ${billNo}`,
          name: billNo,
          risk: 'severe',
          method: 'POST',
          path,
          body: await complete(context, [REASON], { reason }),
        },
    flags,
  );
  if (!row) return;
  await showBill(context, row);
  await context.print.done(
    off
      ? say`Unknown order numbers of ${accountOf(row)} are reported again.`
      : say`Unknown order numbers of ${accountOf(row)} are no longer reported.`,
  );
}

function accountOf({ payWay, account }: Row): Text {
  return joined([coded('payWay', plain(payWay)), plain(account)], ' ');
}

const SETTLED_FILTERS: readonly Field[] = [
  { name: 'from', value: 'day', help: 'first day, e.g. 2026-11-01', read: day },
  { name: 'to', value: 'day', help: 'last day (inclusive)', read: day },
  BY.channel,
  { name: 'account', value: 'account', help: "filter by the account's number at the channel" },
  BY.project,
  { name: 'mode', value: 'mode', help: 'channel mode; by default live', choices: MODES },
];

const DAYS: View = {
  noun: 'settlement',
  id: 'billNo',
  columns: [
    { field: 'day', kind: 'id' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id', words: 'payWay' },
    { field: 'currency', title: 'CUR', kind: 'id' },
    { field: 'netMinor', title: 'NET', kind: 'minor' },
    { field: 'grossMinor', title: 'GROSS', kind: 'minor' },
    { field: 'refundsMinor', title: 'REFUNDS', kind: 'minor' },
    { field: 'discountsMinor', title: 'DISCOUNTS', kind: 'minor' },
    { field: 'feesMinor', title: 'FEES', kind: 'minor' },
    { field: 'sharesMinor', title: 'SHARES', kind: 'minor' },
    { field: 'disputesMinor', title: 'DISPUTES', kind: 'minor' },
    { field: 'otherMinor', title: 'OTHER', kind: 'minor' },
    { field: 'project', kind: 'id' },
    { field: 'account', kind: 'id' },
    { field: 'billNo', title: 'BILL', kind: 'id' },
  ],
};

/** Maximum number of notes that `payctl bill settlement` prints about the same kind of problem. */
const MOST_NOTES = 5;

function defineSettlement(noun: Command, context: ContextOf): void {
  const command = noun
    .command('settlement')
    .description(
      'Show what the channels settle, from their bills: gross, refunds, discounts, fees, shares, disputes and net for each day, channel, account and project. Names the days without a bill, and the differences in the balances of a PayPal account.',
    );
  addFields(command, SETTLED_FILTERS);
  examples(
    command,
    'payctl bill settlement --from 2026-11-01 --to 2026-11-30',
    'payctl bill settlement --pay-way wechat --project shop-eu',
    'payctl bill settlement --from 2026-11-01 --to 2026-11-30 --json',
  ).action((options: Row) => runSettlement(context(), options));
}

/** Prints the amounts that the channels settle per day. Notes, e.g. about missing bills, go to stderr. */
async function runSettlement({ api, print }: Context, options: Row): Promise<void> {
  const figures = await api.get('/api/v1/stats/settlement', queryOf(options, SETTLED_FILTERS));
  if (print.json) return print.item(figures, DAYS);
  const rows = (name: string) => (figures[name] ?? []) as Row[];
  const withTotals = print.format === 'table' && !print.linewise;
  const total = textIn(say`total`, await print.speech());
  const totals = withTotals ? rows('totals').map((row) => ({ day: total, ...row })) : [];
  await print.list([...rows('days'), ...totals], DAYS);
  if (rows('days').length === 0) await print.done(say`No settled day found.`);
  await notes(rows('shrunk').map(shrunk), (text) => print.note(text));
  await notes(rows('pendingRefunds').map(pending), (text) => print.note(text));
  await notes(rows('unreadable').map(unreadable), (text) => print.note(text));
  await notes(rows('disagreements').map(disagreement), (text) => print.note(text));
  await notes(rows('balances').map(balance), (text) => print.note(text));
  await notes(rows('unchecked').map(unchecked), (text) => print.note(text));
  await notes(rows('missing').map(missing), (text) => print.note(text));
}

async function notes(texts: readonly Text[], note: (text: Text) => Promise<void>): Promise<void> {
  for (const text of texts.slice(0, MOST_NOTES)) await note(text);
  if (texts.length > MOST_NOTES) await note(say`${texts.length - MOST_NOTES} more like this: add --json`);
}

function missing(row: Row): Text {
  const [payWay, account, date] = [plain(row['payWay']), plain(row['account']), plain(row['day'])];
  const project = plain(row['project']);
  const next = `payctl bill fetch --pay-way ${payWay} --date ${date} --account ${account} --project ${project}`;
  return row['state']
    ? say`No bill of ${accountOf(row)}, ${date} (${coded('billState', plain(row['state']))}). Next: ${next}`
    : say`No bill of ${accountOf(row)}, ${date}. Next: ${next}`;
}

function shrunk(row: Row): Text {
  return say`${nameOf(row)}, has ${plain(row['lines'])} lines; an earlier reading had ${plain(row['mostLines'])}.`;
}

function pending(row: Row): Text {
  const [count, money] = [plain(row['refunds']), minorMoney(Number(row['amountMinor']), plain(row['currency']))];
  return row['end'] === 'failed'
    ? say`${nameOf(row)}, has ${count} refund(s) of ${money} as under way: they failed since, and are not counted.`
    : say`${nameOf(row)}, has ${count} refund(s) of ${money} as under way: they are counted, and their end is not known.`;
}

function unreadable(row: Row): Text {
  const short = say`${nameOf(row)}, is short of ${plain(row['lines'])} lines that could not be read.`;
  return joined([short, plain(row['shortfall'])], ' ');
}

function disagreement(row: Row): Text {
  const [what, currency] = [plain(row['what']), plain(row['currency'])];
  const isCount = what === 'payments' || what === 'refunds';
  const figure = (value: unknown): Text =>
    isCount
      ? say`${plain(value)} ${coded('figure', what)} in ${currency}`
      : say`${coded('figure', what)} of ${minorMoney(Number(value), currency)}`;
  return say`${nameOf(row)}, states ${figure(row['bill'])}; its lines add up to ${figure(row['lines'])}.`;
}

function balance(row: Row): Text {
  const money = (name: string) => minorMoney(Number(row[name]), plain(row['currency']));
  const [from, to] = [plain(row['from']), plain(row['to'])];
  const days = from === to ? from : say`${from} to ${to}`;
  return say`The balance of ${accountOf(row)}, ${days}, moved by ${money('balance')}; the lines of its bills add up to ${money('lines')}.`;
}

function unchecked(row: Row): Text {
  return say`${nameOf(row)}, is not checked against the balances of its account.`;
}

/** Adds the subcommands of `payctl bill`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Fetch, import and compare the bills of the channels, and show their settlement.');
  addList(
    noun,
    context,
    bill,
    [
      'payctl bill list',
      'payctl bill list --pay-way wechat --state missing',
      'payctl bill list --from 2026-11-01 --to 2026-11-30 --all --json',
    ],
    'List bills, newest day first, with their differences: open ones are checked, listed ones need review.',
  );
  defineGet(noun, context);
  addAction(noun, context, bill, FETCH);
  defineImport(noun, context);
  defineDifferences(noun, context);
  defineLines(noun, context);
  addAction(noun, context, bill, RERUN);
  defineQuiet(noun, context);
  defineExport(noun, context);
  defineSettlement(noun, context);
}
