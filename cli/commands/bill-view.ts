import { BILL_STATES, MODES, PAY_WAYS } from '../../server/domain.ts';
import type { Context } from '../context.ts';
import { day } from '../options.ts';
import type { Field } from '../resource.ts';
import { type Column, type Row, type View, minorDigits, minorMoney, plain, valueOf } from '../values.ts';

/** A bill number for examples. */
export const BILL_NO = 'B20261121023000D4N8ZR3VHC';

/** The console's path of bills. */
export const BILLS = '/api/v1/bills';

/** How bills are shown. */
export const BILL_VIEW: View = {
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
};

/** How many differences of a bill are in a state. */
export function countOf(bill: Row, state: string): number {
  const counts = (bill['differences'] ?? []) as { state?: unknown; count?: unknown }[];
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

/** How the differences of a bill are shown. */
export const DIFFERENCES: View = {
  noun: 'difference',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'kind', kind: 'id' },
    side('ours'),
    side('theirs'),
    { field: 'state', kind: 'status' },
    { field: 'theirs.currency', title: 'CUR', kind: 'id' },
    { field: 'theirs.line', title: 'LINE', kind: 'id' },
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'nextCheckAt', title: 'NEXT CHECK', kind: 'time' },
    { field: 'fix', kind: 'id' },
  ],
};

/** What one of the two says: its fee where fees differ, else its amount, else its state. */
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

/** How the lines of a bill are shown. */
export const LINES: View = {
  noun: 'line',
  id: 'line',
  columns: [
    { field: 'line', kind: 'id' },
    { field: 'kind', kind: 'id' },
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

/** What bills can be found by. */
export const BILL_FILTERS: readonly Field[] = [
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: PAY_WAYS },
  { name: 'state', value: 'state', help: 'filter by state', choices: BILL_STATES },
  { name: 'from', value: 'day', help: 'first day, e.g. 2026-11-01', read: day },
  { name: 'to', value: 'day', help: 'last day (inclusive)', read: day },
  { name: 'account', value: 'account', help: "filter by the account's number at the channel" },
  { name: 'mode', value: 'mode', help: 'filter by mode', choices: MODES },
  { name: 'project', value: 'code', help: 'filter by project' },
];

/** Whose bill of which day is meant. */
export const WHICH: readonly Field[] = [
  { name: 'payWay', value: 'channel', help: 'channel', choices: PAY_WAYS, required: true },
  { name: 'day', flag: 'date', value: 'day', help: 'day of the bill, e.g. 2026-11-20', read: day, required: true },
  {
    name: 'account',
    value: 'account',
    help: "the account's number at the channel; by default the one used for new orders",
  },
  { name: 'project', value: 'code', help: 'project code, by default "default"' },
];

/** A bill in words: its number, channel and day. */
export function nameOf(bill: Row): string {
  return `Bill ${String(bill['billNo'])} of ${String(bill['payWay'])}, ${String(bill['day'])}`;
}

const FACTS = BILL_VIEW.columns.filter(({ field }) => !['open', 'listed', 'fault.code'].includes(field));

/** Prints one bill; on a terminal its sums and differences as tables. */
export async function showBill({ print, terminal }: Pick<Context, 'print' | 'terminal'>, bill: Row): Promise<void> {
  if (print.format !== 'table' || print.fields || print.linewise) return print.item(bill, BILL_VIEW);
  const { totals, sums, differences, fault, quiet, ...facts } = bill;
  const stated = (totals ?? []) as Row[];
  const more = {
    ...balanceLine(stated),
    ...faultLine(fault as Row | null | undefined),
    ...quietLine(quiet as Row | null | undefined),
  };
  await print.item({ ...facts, ...more }, { ...BILL_VIEW, columns: FACTS });
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
