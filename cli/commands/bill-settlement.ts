import { MODES, PAY_WAYS } from '../../server/domain.ts';
import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { day, examples } from '../options.ts';
import { type Field, addFields, bodyOf } from '../resource.ts';
import { type Row, type View, minorMoney, plain } from '../values.ts';

const FILTERS: readonly Field[] = [
  { name: 'from', value: 'day', help: 'first day, e.g. 2026-11-01', read: day },
  { name: 'to', value: 'day', help: 'last day (inclusive)', read: day },
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: PAY_WAYS },
  { name: 'account', value: 'account', help: "filter by the account's number at the channel" },
  { name: 'project', value: 'code', help: 'filter by project' },
  { name: 'mode', value: 'mode', help: 'channel mode; by default live', choices: MODES },
];

const DAYS: View = {
  noun: 'settlement',
  id: 'billNo',
  columns: [
    { field: 'day', kind: 'id' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
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

/** As many notes of a kind are shown. */
const MOST_NOTES = 5;

/** Adds `bill settlement`. */
export function defineSettlement(noun: Command, context: ContextOf): void {
  const command = noun
    .command('settlement')
    .description(
      'Show what the channels settle, from their bills: gross, refunds, discounts, fees, shares, disputes and net for each day, channel, account and project. Names the days without a bill, and what the balances of an account at PayPal disagree about.',
    );
  addFields(command, FILTERS);
  examples(
    command,
    'payctl bill settlement --from 2026-11-01 --to 2026-11-30',
    'payctl bill settlement --pay-way wechat --project shop-eu',
    'payctl bill settlement --from 2026-11-01 --to 2026-11-30 --json',
  ).action((options: Row) => runSettlement(context(), options));
}

/** Prints the days; on a terminal with their totals, as JSON everything. What is missing is said on stderr. */
async function runSettlement({ api, print }: Context, options: Row): Promise<void> {
  const figures = await api.get('/api/v1/stats/settlement', bodyOf(options, FILTERS) as Query);
  if (print.json) return print.item(figures, DAYS);
  const rows = (name: string) => (figures[name] ?? []) as Row[];
  const withTotals = print.format === 'table' && !print.linewise;
  const totals = withTotals ? rows('totals').map((row) => ({ day: 'total', ...row })) : [];
  await print.list([...rows('days'), ...totals], DAYS);
  if (rows('days').length === 0) await print.done('No settled day found.');
  await notes(rows('shrunk').map(shrunk), (text) => print.note(text));
  await notes(rows('pendingRefunds').map(pending), (text) => print.note(text));
  await notes(rows('unreadable').map(unreadable), (text) => print.note(text));
  await notes(rows('disagreements').map(disagreement), (text) => print.note(text));
  await notes(rows('balances').map(balance), (text) => print.note(text));
  await notes(rows('unchecked').map(unchecked), (text) => print.note(text));
  await notes(rows('missing').map(missing), (text) => print.note(text));
}

async function notes(texts: readonly string[], note: (text: string) => Promise<void>): Promise<void> {
  for (const text of texts.slice(0, MOST_NOTES)) await note(text);
  if (texts.length > MOST_NOTES) await note(`${texts.length - MOST_NOTES} more like this: add --json`);
}

function missing(row: Row): string {
  const [payWay, account, date] = [plain(row['payWay']), plain(row['account']), plain(row['day'])];
  const project = plain(row['project']);
  const state = row['state'] ? ` (${plain(row['state'])})` : '';
  return `No bill of ${payWay} ${account}, ${date}${state}. Next: payctl bill fetch --pay-way ${payWay} --date ${date} --account ${account} --project ${project}`;
}

function shrunk(row: Row): string {
  const of = `${plain(row['billNo'])} of ${plain(row['payWay'])}, ${plain(row['day'])}`;
  return `Bill ${of}, has ${plain(row['lines'])} lines; an earlier reading had ${plain(row['mostLines'])}.`;
}

function pending(row: Row): string {
  const of = `${plain(row['billNo'])} of ${plain(row['payWay'])}, ${plain(row['day'])}`;
  const money = minorMoney(Number(row['amountMinor']), plain(row['currency']));
  const refunds = `${plain(row['refunds'])} refund(s) of ${money} as under way`;
  return row['end'] === 'failed'
    ? `Bill ${of}, has ${refunds}: they failed since, and are not counted.`
    : `Bill ${of}, has ${refunds}: they are counted, and their end is not known.`;
}

function unreadable(row: Row): string {
  const of = `${plain(row['billNo'])} of ${plain(row['payWay'])}, ${plain(row['day'])}`;
  const shortfall = row['shortfall'] ? ` ${plain(row['shortfall'])}` : '';
  return `Bill ${of}, is short of ${plain(row['lines'])} lines that could not be read.${shortfall}`;
}

function disagreement(row: Row): string {
  const { bill, lines } = row;
  const [what, currency] = [plain(row['what']), plain(row['currency'])];
  const isCount = what === 'payments' || what === 'refunds';
  const figure = (value: unknown) =>
    isCount ? `${plain(value)} ${what} in ${currency}` : `${what} of ${minorMoney(Number(value), currency)}`;
  const of = `${plain(row['billNo'])} of ${plain(row['payWay'])}, ${plain(row['day'])}`;
  return `Bill ${of}, states ${figure(bill)}; its lines add up to ${figure(lines)}.`;
}

function balance(row: Row): string {
  const money = (name: string) => minorMoney(Number(row[name]), plain(row['currency']));
  const [payWay, account, from, to] = ['payWay', 'account', 'from', 'to'].map((name) => plain(row[name]));
  const days = from === to ? from : `${from} to ${to}`;
  return `The balance of ${payWay} ${account}, ${days}, moved by ${money('balance')}; the lines of its bills add up to ${money('lines')}.`;
}

function unchecked(row: Row): string {
  return `Bill ${plain(row['billNo'])} of ${plain(row['payWay'])}, ${plain(row['day'])}, is not checked against the balances of its account.`;
}
