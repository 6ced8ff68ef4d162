import { CliError, EXIT } from '../../errors.ts';
import { plain, type Row } from '../../values.ts';
import { nameOf } from './view.ts';

const AS_IT_CAME = 'import the file as it was downloaded; spreadsheet programs change it when they save it';

/** What to do about each fault of an imported file; the service knows the same. */
export const ADVICE: Readonly<Record<string, string>> = {
  not_a_bill: 'choose the bill of transactions, as it was downloaded from the channel',
  cut_short: 'download the file again: its end is missing',
  wrong_charset: AS_IT_CAME,
  wrong_columns: 'download the bill of all transactions, in its standard form',
  wrong_cell: AS_IT_CAME,
  wrong_account: 'check --account and --project: the file belongs to another account; payctl channel list',
  wrong_day: 'check --date: the file is the bill of another day',
  wrong_hash: 'download the file again: it changed on its way',
  empty_bill:
    'nothing to do if the channel really has no payments of that day; otherwise ask its support why: the lines that it gave before still count',
  wrong_sums: "download the file again; if its sums are still not those of its lines, ask the channel's support",
  too_large: 'the file is larger than any bill: check that it is the right one',
};

/** Faults of the configuration, not of the bill. */
const CONFIGURED = new Set(['not_configured', 'misconfigured', 'wrong_account']);

/** The failure of a bill that did not come, was refused or is not there yet; undefined when it is compared. */
export function failureOf(bill: Row): CliError | undefined {
  const fault = faultOf(bill['fault']);
  const state = String(bill['state']);
  // Another app of the same merchant has asked before: there the bill is, and this one is nothing of its own.
  if (state === 'done' && (!fault || fault.code === 'same_account')) return undefined;
  const name = nameOf(bill);
  const said = fault ? ` ${sentence(fault)}` : '';
  const extra = { billNo: bill['billNo'], state, ...(fault ? { fault: fault.code } : {}), ...placeOf(fault) };
  const fails = (code: string, exitCode: number, words: string, hint: string) =>
    new CliError(code, exitCode, `${name}${words}${said}`, { hint, extra });
  const known = CONFIGURED.has(fault?.code ?? '') ? 'payctl channel list' : undefined;
  const bring = `download it from the channel, then: ${importLine(bill)}`;
  if (state === 'done')
    return fails('bill_not_renewed', EXIT.failed, ': the one from before still counts.', again(bill));
  if (state === 'refused')
    return fails('bill_refused', EXIT.failed, ' was refused.', known ?? `${again(bill)}; or ${bring}`);
  if (state === 'missing') return fails('bill_missing', EXIT.failed, ' is missing.', bring);
  return fails('bill_not_there', EXIT.tryAgain, ' is not there yet.', known ?? again(bill));
}

/** What to do about a file that the service refused, added to its refusal. */
export function advised(error: unknown): unknown {
  if (!(error instanceof CliError) || error.code !== 'bill_malformed') return error;
  const { extra } = error.options;
  const details = (extra?.['details'] ?? extra ?? {}) as Row;
  const hint = ADVICE[String(details['fault'])];
  if (hint === undefined) return error;
  // The message tells the same as its only field.
  return new CliError(error.code, error.exitCode, error.message, { ...error.options, fields: [], hint, cause: error });
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

function placeOf(fault: Fault | undefined): { line?: number; column?: number } {
  const { line, column } = fault ?? {};
  return { ...(typeof line === 'number' ? { line } : {}), ...(typeof column === 'number' ? { column } : {}) };
}

/** `The amount is no number (line 17, column 5; wrong_cell).` */
function sentence(fault: Fault): string {
  const { line, column } = placeOf(fault);
  const place = line === undefined ? [] : [`line ${line}${column === undefined ? '' : `, column ${column}`}`];
  return `${plain(fault.detail).replace(/\.$/, '')} (${[...place, fault.code].join('; ')}).`;
}

function again(bill: Row): string {
  const at = bill['nextCheckAt'];
  return typeof at === 'string' ? `the service asks again at ${at}` : `payctl bill get ${String(bill['billNo'])}`;
}

function importLine(bill: Row): string {
  return `payctl bill import <file> --pay-way ${String(bill['payWay'])} --date ${String(bill['day'])}`;
}
