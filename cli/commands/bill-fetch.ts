import type { Command } from 'commander';
import { BILL_STATES, MODES, PAY_WAYS } from '../../server/domain.ts';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Action } from '../action.ts';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { Cancelled, CliError, EXIT, UsageError, ignoreUnreachable } from '../errors.ts';
import { command as hintOf } from '../hints.ts';
import type { StreamedBody } from '../http.ts';
import { type Speech, type Text, coded, joined, say, textIn } from '../language.ts';
import { changes, day, duration, examples, seconds } from '../options.ts';
import { type Field, type Resource, addFields, bodyOf, complete, rowPath } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { progressBar, startSpinner } from '../terminal.ts';
import { type Row, type View, minorMoney, plain } from '../values.ts';
import { BY } from './views.ts';

export const BILL_NO = 'B20261121023000D4N8ZR3VHC';

/** A bill is a channel's list of all payments, refunds and fees of one merchant account on one day. */
export const bill: Resource = {
  noun: 'bill',
  plural: 'bills',
  path: '/api/v1/bills',
  idName: 'billNo',
  view: {
    noun: 'bill',
    id: 'billNo',
    columns: [
      { field: 'billNo', title: 'BILL', kind: 'id' },
      { field: 'day', kind: 'id' },
      { field: 'payWay', title: 'CHANNEL', kind: 'id', words: 'payWay' },
      { field: 'state', kind: 'status', words: 'billState' },
      { field: 'lines', kind: 'id' },
      { field: 'open', kind: 'id', read: (row) => countOf(row, 'open') },
      { field: 'listed', kind: 'id', read: (row) => countOf(row, 'listed') },
      { field: 'fault.code', title: 'FAULT' },
      { field: 'nextCheckAt', title: 'NEXT CHECK', kind: 'time' },
      { field: 'account' },
      { field: 'project' },
      { field: 'mode', words: 'mode' },
    ],
    more: [{ field: 'source', words: 'source' }],
  },
  filters: [
    BY.channel,
    { name: 'state', value: 'state', help: 'filter by state', choices: BILL_STATES },
    { name: 'from', value: 'day', help: 'first day, e.g. 2026-11-01', read: day },
    { name: 'to', value: 'day', help: 'last day (inclusive)', read: day },
    { name: 'account', value: 'account', help: "filter by the account's number at the channel" },
    { name: 'mode', value: 'mode', help: 'filter by mode', choices: MODES },
    BY.project,
  ],
};

function countOf(row: Row, state: string): number {
  const counts = (row['differences'] ?? []) as { state?: unknown; count?: unknown }[];
  return counts.reduce((sum, one) => (one.state === state ? sum + Number(one.count) : sum), 0);
}

/** A bill has sums that the channel states, and sums that the service computes from the lines. */
const SUMS: View = {
  noun: 'sum',
  id: 'of',
  columns: [
    { field: 'of', title: 'SUMS OF', kind: 'id' },
    { field: 'currency', title: 'CUR', kind: 'id' },
    { field: 'payments', kind: 'id' },
    { field: 'paidMinor', title: 'PAID', kind: 'minor' },
    { field: 'refunds', kind: 'id' },
    { field: 'refundedMinor', title: 'REFUNDED', kind: 'minor' },
    { field: 'feesMinor', title: 'FEES', kind: 'minor' },
    { field: 'discountsMinor', title: 'DISCOUNTS', kind: 'minor' },
    { field: 'sharesMinor', title: 'SHARES', kind: 'minor' },
    { field: 'disputedMinor', title: 'DISPUTED', kind: 'minor' },
    { field: 'otherMinor', title: 'OTHER', kind: 'minor' },
    { field: 'netMinor', title: 'NET', kind: 'minor' },
  ],
};

const COUNTS: View = {
  noun: 'difference',
  id: 'kind',
  columns: [
    { field: 'kind', title: 'DIFFERENCE', kind: 'id', words: 'kind' },
    { field: 'state', kind: 'status', words: 'differenceState' },
    { field: 'count', kind: 'id' },
  ],
};

const FACTS = bill.view.columns.filter(({ field }) => !['open', 'listed', 'fault.code'].includes(field));

/** Prints a bill. A table is followed by the sums and the differences of the bill. */
export async function showBill({ print, terminal }: Pick<Context, 'print' | 'terminal'>, row: Row): Promise<void> {
  if (print.format !== 'table' || print.fields || print.linewise) return print.item(row, bill.view);
  const { totals, sums, differences, fault, quiet, ...facts } = row;
  const stated = (totals ?? []) as Row[];
  const speech = await print.speech();
  const more = Object.fromEntries(
    Object.entries({
      ...balanceLine(stated),
      ...faultLine(fault as Row | null | undefined),
      ...quietLine(quiet as Row | null | undefined),
    }).map(([name, text]) => [name, textIn(text, speech)]),
  );
  await print.item({ ...facts, ...more }, { ...bill.view, columns: FACTS });
  const sumRows = [
    ...named(
      stated.filter((one) => one['payments'] !== null),
      () => say`the bill itself`,
    ),
    ...named(sums, ownerOfLines),
  ].map(({ of, ...figures }) => ({ of: textIn(of, speech), ...figures }));
  for (const [rows, view] of [
    [sumRows, SUMS],
    [(differences ?? []) as Row[], COUNTS],
  ] as const) {
    if (rows.length === 0) continue;
    await terminal.out.write('\n');
    await print.list(rows, view);
  }
}

function balanceLine(totals: readonly Row[]): Record<string, Text> {
  const texts = totals
    .filter((one) => typeof one['openingMinor'] === 'number')
    .map((one) =>
      ['openingMinor', 'closingMinor'].map((name) => minorMoney(Number(one[name]), plain(one['currency']))).join(' → '),
    );
  return texts.length === 0 ? {} : { balance: texts.join(', ') };
}

function faultLine(fault: Row | null | undefined): Record<string, Text> {
  if (!fault) return {};
  const { line, column } = placeOf(fault);
  const words = [
    plain(fault['code']),
    line === undefined ? '' : say`line ${line}`,
    column === undefined ? '' : say`column ${column}`,
  ];
  return { fault: joined([joined(words), plain(fault['detail'])], ': ') };
}

function quietLine(quiet: Row | null | undefined): Record<string, Text> {
  if (!quiet) return {};
  return { quiet: say`since ${plain(quiet['since'])}, by ${plain(quiet['by'])}: ${plain(quiet['reason'])}` };
}

function named(rows: unknown, name: (row: Row) => Text): (Row & { of: Text })[] {
  return ((rows ?? []) as Row[]).map((row) => ({ of: name(row), ...row }));
}

function ownerOfLines({ project }: Row): Text {
  return project === null ? say`lines, not ours` : say`lines, ${plain(project)}`;
}

const BILL_KEY_FIELDS: readonly Field[] = [
  { name: 'payWay', value: 'channel', help: 'channel', choices: PAY_WAYS, required: true },
  { name: 'day', flag: 'date', value: 'day', help: 'day of the bill, e.g. 2026-11-20', read: day, required: true },
  {
    name: 'account',
    value: 'account',
    help: "the account's number at the channel; by default the one used for new orders",
  },
  { name: 'project', value: 'code', help: 'project code, by default "default"' },
];

const UNCHANGED_FILE = say`import the file as it was downloaded; spreadsheet programs change it when they save it`;

/** Advice by error code of an imported bill file. A test compares the codes with those of the service. */
export const ADVICE: Readonly<Record<string, Text>> = {
  not_a_bill: say`choose the bill of transactions, as it was downloaded from the channel`,
  cut_short: say`download the file again: its end is missing`,
  wrong_charset: UNCHANGED_FILE,
  wrong_columns: say`download the bill of all transactions, in its standard form`,
  wrong_cell: UNCHANGED_FILE,
  wrong_account: say`check --account and --project: the file belongs to another account. The accounts: payctl channel list`,
  wrong_day: say`check --date: the file is the bill of another day`,
  wrong_hash: say`download the file again: its hash does not match`,
  empty_bill: say`nothing to do if the channel really has no payments of that day; otherwise ask its support why: the lines that it gave before still count`,
  wrong_sums: say`download the file again; if its sums are still not those of its lines, ask the channel's support`,
  too_large: say`the file is larger than any bill: check that it is the right one`,
};

/** Error codes that mean a wrong channel configuration, not a faulty bill. */
const CONFIGURED = new Set(['not_configured', 'misconfigured', 'wrong_account']);

/** How texts call a bill: the start of a sentence. */
export function nameOf(bill: Row): Text {
  return say`Bill ${plain(bill['billNo'])} of ${coded('payWay', plain(bill['payWay']))}, ${plain(bill['day'])}`;
}

/** The error for a bill that could not be compared with the orders; undefined if it was compared. */
function failureOf(bill: Row, speech: Speech): CliError | undefined {
  const fault = faultOf(bill['fault']);
  const state = String(bill['state']);
  // `same_account` is harmless: the lines of this bill are already in the bill of another app of the same merchant.
  if (state === 'done' && (!fault || fault.code === 'same_account')) return undefined;
  const name = nameOf(bill);
  const faultText = fault ? sentence(fault) : '';
  const extra = { billNo: bill['billNo'], state, ...(fault ? { fault: fault.code } : {}), ...placeOf(fault) };
  const fails = (code: string, exitCode: number, words: Text, hint: Text) =>
    new CliError(code, exitCode, textIn(joined([words, faultText], ' '), speech), {
      hint: textIn(hint, speech),
      extra,
    });
  const known = CONFIGURED.has(fault?.code ?? '') ? 'payctl channel list' : undefined;
  const importHint = say`download it from the channel, then: ${importLine(bill)}`;
  if (state === 'done')
    return fails(
      'bill_not_renewed',
      EXIT.failed,
      say`${name} could not be fetched from the channel again; the service keeps the earlier bill and its result.`,
      again(bill),
    );
  if (state === 'refused')
    return fails(
      'bill_refused',
      EXIT.failed,
      say`${name} was refused.`,
      known ?? hintOf(again(bill), say`Or ${importHint}`),
    );
  if (state === 'missing') return fails('bill_missing', EXIT.failed, say`${name} is missing.`, importHint);
  return fails('bill_not_there', EXIT.tryAgain, say`${name} is not available yet.`, known ?? again(bill));
}

function withFaultHint(error: unknown, speech: Speech): unknown {
  if (!(error instanceof CliError) || error.code !== 'bill_malformed') return error;
  const { extra } = error.options;
  const details = (extra?.['details'] ?? extra ?? {}) as Row;
  const hint = ADVICE[String(details['fault'])];
  if (hint === undefined) return error;
  const said = textIn(hint, speech);
  // `fields` is dropped, because its only entry repeats the message.
  return new CliError(error.code, error.exitCode, error.message, {
    ...error.options,
    fields: [],
    hint: said,
    cause: error,
  });
}

interface Fault {
  code: string;
  detail: string;
  line?: number | null;
  column?: number | null;
}

function faultOf(value: unknown): Fault | undefined {
  return typeof value === 'object' && value !== null ? (value as Fault) : undefined;
}

function placeOf(fault: Pick<Fault, 'line' | 'column'> | Row | undefined): { line?: number; column?: number } {
  const { line, column } = fault ?? {};
  return { ...(typeof line === 'number' ? { line } : {}), ...(typeof column === 'number' ? { column } : {}) };
}

/** Formats the error of a bill as a sentence, e.g. `The amount is no number (line 17, column 5; wrong_cell).` */
function sentence(fault: Fault): Text {
  const { line, column } = placeOf(fault);
  const place =
    line === undefined ? '' : joined([say`line ${line}`, column === undefined ? '' : say`column ${column}`]);
  return say`${plain(fault.detail).replace(/\.$/, '')} (${joined([place, fault.code], '; ')}).`;
}

function again(bill: Row): Text {
  const at = bill['nextCheckAt'];
  return typeof at === 'string'
    ? say`the service queries the channel again at ${at}`
    : `payctl bill get ${String(bill['billNo'])}`;
}

function importLine(bill: Row): string {
  return `payctl bill import FILE --pay-way ${String(bill['payWay'])} --date ${String(bill['day'])}`;
}

interface WaitFlags {
  wait?: number | boolean;
  interval?: number;
}

const LONGEST_SECONDS = 600;

function waitFlags(command: Command): Command {
  return command
    .option('--wait <duration>', 'longest time to wait, e.g. 90s; by default 10m', duration)
    .option('--no-wait', 'do not wait for the result')
    .option('--interval <seconds>', 'seconds between checks', seconds, 2);
}

/** Waits until the service has compared a bill, and prints it. Throws if the bill is invalid or missing. */
async function finish(context: Context, begun: Row, flags: WaitFlags): Promise<void> {
  const { print } = context;
  const billNo = String(begun['billNo']);
  if (flags.wait === false) {
    await showBill(context, begun);
    return print.done(say`Not waiting. Next: payctl bill get ${billNo}`);
  }
  const ended = await follow(context, begun, flags);
  await showBill(context, ended);
  const failure = failureOf(ended, await print.speech());
  if (failure) throw failure;
  await print.done(outcome(ended));
}

/** An unreachable server does not end the polling. */
async function follow({ api, print, terminal }: Context, begun: Row, flags: WaitFlags): Promise<Row> {
  const billNo = String(begun['billNo']);
  const longest = typeof flags.wait === 'number' ? flags.wait : LONGEST_SECONDS;
  const until = performance.now() + longest * 1000;
  const speech = await print.speech();
  const spinner = startSpinner(terminal.err, textIn(progress(begun), speech));
  let lastState = '';
  try {
    for (;;) {
      const now = await api.get(rowPath(bill, billNo)).catch(ignoreUnreachable);
      if (now) {
        spinner.text = textIn(say`${progress(now)} (Ctrl-C stops waiting)`, speech);
        if (!terminal.err.isTerminal && lastState !== now['state'] && !isOver(now, begun))
          await print.done(progress(now));
        lastState = String(now['state']);
        if (isOver(now, begun)) return now;
      }
      if (performance.now() >= until) throw tooLong(begun, { state: lastState, longest }, speech);
      await wait((flags.interval ?? 2) * 1000, undefined, { signal: terminal.signal });
    }
  } catch (error) {
    if (terminal.signal.aborted)
      throw new Cancelled(
        textIn(say`Stopped waiting; the service still processes the bill. Next: payctl bill get ${billNo}`, speech),
      );
    throw error;
  } finally {
    spinner.stop();
  }
}

/** Polling also stops when the service has queried the channel again and the channel has no bill yet. */
function isOver(bill: Row, begun: Row): boolean {
  if (!Object.hasOwn(PROGRESS_TEXTS, String(bill['state']))) return true;
  return bill['state'] === 'waiting' && bill['fault'] !== null && Number(bill['checks']) > Number(begun['checks']);
}

function tooLong(begun: Row, { state, longest }: { state: string; longest: number }, speech: Speech): CliError {
  const now = coded('billState', state || 'unknown');
  return new CliError(
    'bill_takes_long',
    EXIT.tryAgain,
    textIn(say`${nameOf(begun)} is still ${now} after ${longest} s; the service still processes the bill.`, speech),
    { hint: `payctl bill get ${String(begun['billNo'])}`, extra: { billNo: begun['billNo'], state: state || null } },
  );
}

const PROGRESS_TEXTS: Readonly<Record<string, (bill: Row) => Text>> = {
  waiting: () => say`asking the channel`,
  reading: () => say`reading`,
  matching: ({ lines }) => say`comparing with the orders, ${plain(lines)} lines`,
};

function progress(bill: Row): Text {
  const state = String(bill['state']);
  return joined([nameOf(bill), PROGRESS_TEXTS[state]?.(bill) ?? state], ': ');
}

function outcome(bill: Row): Text {
  const [open, listed] = [countOf(bill, 'open'), countOf(bill, 'listed')];
  const [name, lines] = [nameOf(bill), plain(bill['lines'])];
  if (open + listed === 0) return say`${name}: ${lines} lines, no open differences.`;
  return say`${name}: ${lines} lines; differences: ${open} being checked, ${listed} for review. Next: payctl bill differences ${plain(bill['billNo'])}`;
}

export const FETCH: Action = {
  verb: 'fetch',
  words:
    'Fetch the bill of a day from the channel now, and wait until it is compared. Exits with 1 if it is refused or missing, with 7 if it is not there yet.',
  lines: [
    'payctl bill fetch --pay-way wechat --date 2026-11-20',
    'payctl bill fetch --pay-way alipay --date 2026-11-20 --account 2021004100000001 --wait 30m',
    'payctl bill fetch --pay-way paypal --date 2026-11-20 --no-wait --json',
  ],
  id: false,
  fields: BILL_KEY_FIELDS,
  flags: waitFlags,
  request: (_id, { payWay, day }) => ({
    what: `fetch the bill of ${String(payWay)}, ${String(day)}`,
    path: bill.path,
  }),
  print: (context, begun, _id, flags) => finish(context, begun, flags as WaitFlags),
};

/** Read timeout: the service needs about a minute to read a bill of a million lines before it responds. */
const SILENCE_MS = 600_000;

/** Adds the subcommand `bill import`, which sends a bill file that the operator downloaded from the channel. */
export function defineImport(noun: Command, context: ContextOf): void {
  const command = noun
    .command('import')
    .description(
      'Import an unchanged bill that was downloaded from a channel: zip, gzip, CSV or JSON. A file of another bill is refused; importing the same file again changes nothing.',
    )
    .argument('<file>');
  addFields(command, BILL_KEY_FIELDS);
  examples(
    changes(waitFlags(command)),
    'payctl bill import wechat.csv --pay-way wechat --date 2026-11-20',
    'payctl bill import alipay.zip --pay-way alipay --date 2026-11-20 --account 2021004100000001 --json',
  ).action((file: string, options: Row & ChangeFlags & WaitFlags) => runImport(context(), file, options));
}

async function runImport(context: Context, file: string, options: Row & ChangeFlags & WaitFlags): Promise<void> {
  const { terminal, change, flags, print } = context;
  const speech = await print.speech();
  const query = (await complete(context, BILL_KEY_FIELDS, bodyOf(options, BILL_KEY_FIELDS))) as Query;
  let tell = (_sent: number): void => {};
  const content = await bodyOfFile(resolve(terminal.cwd, file), (sent) => tell(sent));
  const begun = await change(
    {
      what: `import ${basename(file)}`,
      method: 'POST',
      path: `${bill.path}/import`,
      query,
      raw: { type: 'application/octet-stream', content },
      shown: { name: basename(file), bytes: content.length },
      silenceMs: flags.timeout === undefined ? SILENCE_MS : flags.timeout * 1000,
      progress: (spinner) => {
        tell = (sent) => (spinner.text = textIn(uploadProgress(basename(file), sent, content.length), speech));
      },
    },
    options,
  ).catch((error: unknown) => {
    throw withFaultHint(error, speech);
  });
  if (begun) await finish(context, begun, options);
}

function uploadProgress(name: string, sent: number, all: number): Text {
  if (sent >= all) return say`Sent ${name}; the service reads it …`;
  return say`${progressBar(sent, all)}  ${megabytes(sent)} of ${megabytes(all)} MB  ${name}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** Streams a file as a request body, so that payctl never loads a large file into memory as a whole. */
async function bodyOfFile(path: string, sent: (bytes: number) => void): Promise<StreamedBody> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError('file_not_found', EXIT.usage, `Cannot read ${path}.`, { cause: error });
  });
  if (!found.isFile()) throw new UsageError(`${path} is not a file.`);
  if (found.size === 0) throw new UsageError(`${path} is empty.`);
  return { length: found.size, open: () => partsOf(path, found.size, sent) };
}

async function* partsOf(path: string, size: number, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let sent = 0;
  try {
    for await (const part of createReadStream(path, { end: size - 1 }) as AsyncIterable<Buffer>) {
      yield part;
      sent += part.length;
      tell(sent);
    }
  } catch (error) {
    throw new CliError('file_unreadable', EXIT.failed, `${path} cannot be read.`, { cause: error });
  }
  if (sent < size) throw new CliError('file_changed', EXIT.failed, `${path} was changed while payctl sent it.`);
}

export const RERUN: Action = {
  verb: 'rerun',
  words: 'Compare a bill that was read with the orders again, and wait for the result.',
  lines: [`payctl bill rerun ${BILL_NO}`, `payctl bill rerun ${BILL_NO} --no-wait --json`],
  flags: waitFlags,
  request: (billNo) => ({ what: `compare bill ${billNo}` }),
  print: (context, begun, _billNo, flags) => finish(context, begun, flags as WaitFlags),
};
