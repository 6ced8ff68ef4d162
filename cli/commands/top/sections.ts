import { type Column, money, plain, type Row } from '../../values.ts';
import { listIn, rowIn, type Board } from './board.ts';
import { CHANNELS, countText, dueColumns, EVENTS, EXCEPTIONS, grouped, ORDERS, REPLICAS, WEBHOOKS } from './columns.ts';

/** One part of the screen, as a table. */
export interface Section {
  name: SectionName;
  columns: readonly Column[];
  rows: readonly Row[];
  /** Which field names a row. */
  id: string;
  /** What stands beside its heading when it has no rows. */
  empty: string;
  /** The fewest rows that are worth showing, as long as there are so many. */
  least: number;
}

/** The sections, in the order of Tab. */
export const SECTIONS = ['orders', 'channels', 'due', 'webhooks', 'exceptions', 'replicas', 'events'] as const;
/** One of them. */
export type SectionName = (typeof SECTIONS)[number];

/** From this width on money in two currencies has room in a cell. */
const ROOM_FOR_TWO = 110;

/** What is told of a board, section by section, for a screen of a width. */
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

/** The order that a row is about. */
export function orderOf(row: Row | undefined): string | undefined {
  const orderNo = row?.['orderNo'];
  return typeof orderNo === 'string' && orderNo !== '' ? orderNo : undefined;
}

/** The largest sums of a tally, and how many currencies there are besides. */
function amounts(tally: Row, most: number): string {
  const sums = (listIn(tally, 'amounts') ?? []).toSorted((a, b) => Number(b['amount']) - Number(a['amount']));
  const shown = sums.slice(0, most).map((sum) => grouped(money(sum['amount'], sum['currency'])));
  return [...shown, ...(sums.length > most ? [`+${sums.length - most}`] : [])].join('  ');
}

/** Open orders on the left, what became of orders in the last hour on the right. */
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
