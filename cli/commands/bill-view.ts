import { BILL_STATES, MODES } from '../../server/domain.ts';
import type { Context } from '../context.ts';
import { day } from '../options.ts';
import type { Resource } from '../resource.ts';
import { type Row, type View, minorMoney, plain } from '../values.ts';
import { BY } from './views.ts';

/** A bill number for examples. */
export const BILL_NO = 'B20261121023000D4N8ZR3VHC';

/** The bills of the channels. */
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
      { field: 'payWay', title: 'CHANNEL', kind: 'id' },
      { field: 'state', kind: 'status' },
      { field: 'lines', kind: 'id' },
      { field: 'open', kind: 'id', read: (row) => countOf(row, 'open') },
      { field: 'listed', kind: 'id', read: (row) => countOf(row, 'listed') },
      { field: 'fault.code', title: 'FAULT' },
      { field: 'nextCheckAt', title: 'NEXT CHECK', kind: 'time' },
      { field: 'account' },
      { field: 'project' },
      { field: 'mode' },
    ],
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

/** How many differences of a bill are in a state. */
export function countOf(row: Row, state: string): number {
  const counts = (row['differences'] ?? []) as { state?: unknown; count?: unknown }[];
  return counts.reduce((sum, one) => (one.state === state ? sum + Number(one.count) : sum), 0);
}

/** The sums of a bill or of its lines. */
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

/** How many differences of each kind a bill has. */
const COUNTS: View = {
  noun: 'difference',
  id: 'kind',
  columns: [
    { field: 'kind', title: 'DIFFERENCE', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'count', kind: 'id' },
  ],
};

const FACTS = bill.view.columns.filter(({ field }) => !['open', 'listed', 'fault.code'].includes(field));

/** Prints one bill; on a terminal its sums and differences as tables. */
export async function showBill({ print, terminal }: Pick<Context, 'print' | 'terminal'>, row: Row): Promise<void> {
  if (print.format !== 'table' || print.fields || print.linewise) return print.item(row, bill.view);
  const { totals, sums, differences, fault, quiet, ...facts } = row;
  const stated = (totals ?? []) as Row[];
  const more = {
    ...balanceLine(stated),
    ...faultLine(fault as Row | null | undefined),
    ...quietLine(quiet as Row | null | undefined),
  };
  await print.item({ ...facts, ...more }, { ...bill.view, columns: FACTS });
  const sumRows = [
    ...named(
      stated.filter((one) => one['payments'] !== null),
      () => 'the bill itself',
    ),
    ...named(sums, ownerOfLines),
  ];
  for (const [rows, view] of [
    [sumRows, SUMS],
    [(differences ?? []) as Row[], COUNTS],
  ] as const) {
    if (rows.length === 0) continue;
    await terminal.out.write('\n');
    await print.list(rows, view);
  }
}

/** The balances of the account before and after the day, of channels that tell them. */
function balanceLine(totals: readonly Row[]): Row {
  const texts = totals
    .filter((one) => typeof one['openingMinor'] === 'number')
    .map((one) =>
      ['openingMinor', 'closingMinor'].map((name) => minorMoney(Number(one[name]), plain(one['currency']))).join(' → '),
    );
  return texts.length === 0 ? {} : { balance: texts.join(', ') };
}

function faultLine(fault: Row | null | undefined): Row {
  if (!fault) return {};
  const place = (['line', 'column'] as const).filter((name) => typeof fault[name] === 'number');
  const words = [plain(fault['code']), ...place.map((name) => `${name} ${plain(fault[name])}`)];
  return { fault: `${words.join(', ')}: ${plain(fault['detail'])}` };
}

function quietLine(quiet: Row | null | undefined): Row {
  if (!quiet) return {};
  return { quiet: `since ${plain(quiet['since'])}, by ${plain(quiet['by'])}: ${plain(quiet['reason'])}` };
}

function named(rows: unknown, name: (row: Row) => string): Row[] {
  return ((rows ?? []) as Row[]).map((row) => ({ of: name(row), ...row }));
}

function ownerOfLines({ project }: Row): string {
  return project === null ? 'lines, not ours' : `lines, ${plain(project)}`;
}
