import type { Look } from '../../terminal-text.ts';
import { type Column, type Row, lookOf, money, plain, valueOf } from '../../values.ts';
import { type Board, listIn, rowIn } from './live-feed.ts';

/** Formats a count with thousands separators. A `+` means that the true count is higher. */
export function countText(count: unknown, more?: unknown): string {
  return `${grouped(String(Number(count ?? 0)))}${more === true ? '+' : ''}`;
}

/** Adds thousands separators to the digits before the decimal point. */
export function grouped(text: string): string {
  return text.replace(/^-?\d+/, (digits) => digits.replaceAll(/\B(?=(\d{3})+$)/g, ','));
}

const text = (field: string) => (row: Row) => plain(row[field]) || ' ';

const lookOfTally = (field: 'open' | 'past') => (row: Row) =>
  plain(row[`${field}Count`]) === '0' ? 'dim' : lookOf(plain(row[field]));

/** Columns of the orders: open orders on the left, orders of the last hour by final state on the right. */
const ORDERS: readonly Column[] = [
  { field: 'open', title: 'ORDERS', kind: 'id', read: text('open'), look: lookOfTally('open'), width: 8 },
  { field: 'openCount', title: 'NOW', kind: 'money', read: text('openCount'), width: 6 },
  { field: 'openMoney', title: 'MONEY', kind: 'money', read: text('openMoney'), width: 13 },
  { field: 'past', title: 'LAST HOUR', kind: 'id', read: text('past'), look: lookOfTally('past'), width: 9 },
  { field: 'pastCount', title: '', kind: 'money', read: text('pastCount'), width: 6 },
  { field: 'pastMoney', title: 'MONEY', kind: 'money', read: text('pastMoney'), width: 13 },
];

const lookAbove = (value: unknown, warn: number, bad: number): Look | undefined =>
  Number(value ?? 0) >= bad ? 'red' : Number(value ?? 0) >= warn ? 'yellow' : undefined;

const CHANNELS: readonly Column[] = [
  { field: 'payWay', title: 'CHANNELS', kind: 'id', width: 8 },
  {
    field: 'callsPerSecond',
    title: 'CALLS/S',
    kind: 'money',
    read: (row) => Number(row['callsPerSecond']).toFixed(1),
    width: 7,
  },
  { field: 'p99Ms', title: 'P99', kind: 'money', read: (row) => milliseconds(row['p99Ms']), width: 8 },
  {
    field: 'unknownPercent',
    title: 'UNKNOWN',
    kind: 'money',
    read: ({ unknownPercent }) => (typeof unknownPercent === 'number' ? `${unknownPercent.toFixed(1)} %` : '-'),
    look: ({ unknownPercent }) => lookAbove(unknownPercent, 1, 10),
    width: 7,
  },
  { field: 'noticedAt', title: 'NOTICE', kind: 'time', width: 8 },
  { field: 'silentSince', title: 'LAST HEARD', kind: 'time', width: 8 },
];

/** The age of the oldest work is coloured as a warning after one minute, and as an error after five minutes. */
function dueColumns(now: Date): readonly Column[] {
  const lag = ({ oldestAt }: Row) => (typeof oldestAt === 'string' ? (now.getTime() - Date.parse(oldestAt)) / 1000 : 0);
  return [
    { field: 'kind', title: 'DUE WORK', kind: 'id', width: 8 },
    { field: 'count', title: 'DUE', kind: 'money', read: (row) => countText(row['count'], row['more']), width: 7 },
    { field: 'underWay', title: 'RUNNING', kind: 'money', read: (row) => countText(row['underWay']), width: 8 },
    { field: 'oldestAt', title: 'OLDEST', kind: 'time', look: (row) => lookAbove(lag(row), 60, 300), width: 8 },
  ];
}

const WEBHOOKS: readonly Column[] = [
  { field: 'name', title: 'WEBHOOKS', read: (row) => plain(row['name']) || plain(row['clientId']), width: 8 },
  { field: 'count', title: 'WAITING', kind: 'money', read: (row) => countText(row['count'], row['more']), width: 7 },
  {
    field: 'failing',
    title: 'FAILING',
    kind: 'money',
    read: (row) => countText(row['failing']),
    look: ({ failing }) => lookAbove(failing, 1, 10),
    width: 8,
  },
  { field: 'oldestAt', title: 'OLDEST', kind: 'time', width: 8 },
  { field: 'clientId', title: 'APP', kind: 'id' },
];

const EXCEPTIONS: readonly Column[] = [
  { field: 'kind', title: 'EXCEPTIONS', kind: 'id', look: () => 'yellow', width: 16 },
  { field: 'createdAt', title: 'SINCE', kind: 'time', width: 8 },
  { field: 'orderNo', title: 'ORDER', kind: 'id', width: 25 },
  { field: 'refundNo', title: 'REFUND', kind: 'id' },
];

const REPLICAS: readonly Column[] = [
  { field: 'host', title: 'REPLICAS', width: 8 },
  {
    field: 'worker',
    title: 'PROCESS',
    kind: 'money',
    read: ({ worker, pid }) => (worker === null ? plain(pid) : `${plain(worker)}/${plain(pid)}`),
    width: 7,
  },
  {
    field: 'loopDelayMs.p99',
    title: 'LOOP P99',
    kind: 'money',
    read: (row) => milliseconds(valueOf(row, 'loopDelayMs.p99')),
    look: (row) => lookAbove(valueOf(row, 'loopDelayMs.p99'), 50, 250),
    width: 8,
  },
  {
    field: 'loopDelayMs.max',
    title: 'MAX',
    kind: 'money',
    read: (row) => milliseconds(valueOf(row, 'loopDelayMs.max')),
    width: 8,
  },
  { field: 'cpu', title: 'CPU', kind: 'money', read: (row) => `${Math.round(Number(row['cpu']) * 100)} %`, width: 5 },
  {
    field: 'memoryBytes',
    title: 'MEMORY',
    kind: 'money',
    read: (row) => `${Math.round(Number(row['memoryBytes']) / 1e6)} MB`,
    width: 7,
  },
  { field: 'version', kind: 'id' },
  { field: 'startedAt', title: 'STARTED', kind: 'time', width: 7 },
  {
    field: 'silent',
    title: '',
    kind: 'status',
    read: (row) => (row['silent'] === true ? 'silent' : ' '),
    look: () => 'red',
  },
];

const EVENTS: readonly Column[] = [
  { field: 'at', title: 'EVENTS', kind: 'id', read: (row) => clock(row['at']), width: 8 },
  { field: 'type', kind: 'id', look: ({ type }) => lookOfEvent(plain(type)), width: 17 },
  { field: 'objectNo', title: 'ABOUT', kind: 'id', width: 25 },
  { field: 'amount', kind: 'money', width: 12 },
  { field: 'payWay', title: 'CHANNEL', kind: 'id', read: text('payWay'), width: 7 },
  { field: 'subject', read: text('subject') },
  { field: 'clientId', title: 'APP' },
];

function lookOfEvent(type: string): Look | undefined {
  if (/\.(failed|abnormal|exception)$|^dispute\./.test(type)) return 'red';
  return /\.(paid|succeeded|fulfilled|credited)$/.test(type) ? 'green' : undefined;
}

/** The time of day in the local time zone. */
export function clock(at: unknown): string {
  const date = new Date(plain(at));
  if (Number.isNaN(date.getTime())) return '-';
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

function milliseconds(value: unknown): string {
  if (typeof value !== 'number') return '-';
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value < 10 ? value : Math.round(value)} ms`;
}

export interface Section {
  name: SectionName;
  columns: readonly Column[];
  rows: readonly Row[];
  /** The field that identifies a row. */
  id: string;
  /** The text next to the heading if the section is empty. */
  empty: string;
  /** Minimum number of visible rows. */
  least: number;
}

/** The sections (tables on the screen), in the order in which the Tab key selects them. */
export const SECTIONS = ['orders', 'channels', 'due', 'webhooks', 'exceptions', 'replicas', 'events'] as const;
export type SectionName = (typeof SECTIONS)[number];

/** On a screen of this width, a cell has room for amounts in two currencies. */
const ROOM_FOR_TWO = 110;

/** Converts the state of the service to the sections (tables on the screen) for a screen width. */
export function sectionsOf(board: Board, now: Date, columns: number): Section[] {
  return [
    {
      name: 'orders',
      id: 'open',
      columns: ORDERS,
      rows: orderRows(board, columns),
      empty: '',
      least: 4,
    },
    { name: 'channels', id: 'payWay', columns: CHANNELS, rows: board.channels, empty: '', least: 3 },
    {
      name: 'due',
      id: 'kind',
      columns: dueColumns(now),
      rows: board.due.filter(hasWork),
      empty: 'nothing is due',
      least: 1,
    },
    { name: 'webhooks', id: 'clientId', columns: WEBHOOKS, rows: board.webhooks, empty: 'nothing waits', least: 1 },
    { name: 'exceptions', id: 'id', columns: EXCEPTIONS, rows: exceptionRows(board), empty: 'none are open', least: 1 },
    { name: 'replicas', id: 'id', columns: REPLICAS, rows: board.replicas, empty: 'none has reported yet', least: 1 },
    { name: 'events', id: 'sequence', columns: EVENTS, rows: board.rows.toReversed(), empty: 'none yet', least: 2 },
  ];
}

/** The order number of a row; undefined if the row has none. */
export function orderOf(row: Row | undefined): string | undefined {
  const orderNo = row?.['orderNo'];
  return typeof orderNo === 'string' && orderNo !== '' ? orderNo : undefined;
}

/** The largest amounts, and `+2` if two more currencies are left out. */
function amounts(tally: Row, most: number): string {
  const sums = (listIn(tally, 'amounts') ?? []).toSorted((a, b) => Number(b['amount']) - Number(a['amount']));
  const shown = sums.slice(0, most).map((sum) => grouped(money(sum['amount'], sum['currency'])));
  return [...shown, ...(sums.length > most ? [`+${sums.length - most}`] : [])].join('  ');
}

function orderRows({ orders }: Board, columns: number): Row[] {
  const most = columns < ROOM_FOR_TWO ? 1 : 2;
  const open = listIn(orders, 'open') ?? [];
  const past = listIn(rowIn(orders, 'past'), 'statuses') ?? [];
  return Array.from({ length: Math.max(open.length, past.length) }, (_, at) => ({
    open: plain(open[at]?.['status']),
    openCount: open[at] ? countText(open[at]['count'], open[at]['more']) : '',
    openMoney: open[at] ? amounts(open[at], most) : '',
    past: plain(past[at]?.['status']),
    pastCount: past[at] ? countText(past[at]['count']) : '',
    pastMoney: past[at] ? amounts(past[at], most) : '',
  }));
}

function hasWork({ count, underWay }: Row): boolean {
  return Number(count) > 0 || Number(underWay) > 0;
}

function exceptionRows({ exceptions }: Board): readonly Row[] {
  return listIn(exceptions, 'newest') ?? [];
}
