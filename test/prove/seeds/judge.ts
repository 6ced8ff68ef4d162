import type { EventRow } from '../../../server/db/entities/events.ts';
import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import type { LedgerView } from '../../../server/payments/core/invariants.ts';
import type { Trade as ChannelTrade } from '../../../server/simulator/trade.ts';
import { paymentOf } from '../../../server/simulator/trade.ts';
import { checkHistory, type Line } from '../check-history.ts';
import { wrongAtTheEnd, wrongInBook, wrongNow, wrongSince } from '../explore/rules.ts';
import { type ChannelRefund, emptyTruth, type Trade, type Truth } from '../explore/truth.ts';
import type { IndexedStore, Written } from '../memory/indexed-store.ts';
import type { AnyRow, Snapshot } from '../memory/tables.ts';
import type { World } from './world.ts';

/** Checks every commit against the rules of `explore/rules.ts`, for the orders that it touched. */
export function judgeCommit(world: World, store: IndexedStore, changes: readonly Written[]): void {
  /** Each order with its state before the commit, if it existed and changed. */
  const touched = new Map<string, OrderRow | undefined>();
  for (const { name, before, after } of changes) {
    const orderNo = (after ?? before)?.['orderNo'];
    if (typeof orderNo !== 'string') continue;
    touched.set(orderNo, touched.get(orderNo) ?? (name === 'orders' ? (before as unknown as OrderRow) : undefined));
  }
  for (const [orderNo, before] of touched) {
    const book = bookOf(store, orderNo);
    if (book) world.wrong.push(...wrongInBook(book, tradeAtChannel(world, orderNo)));
    if (before) world.wrong.push(...wrongSince(before, book?.order));
  }
}

/** The rows of one order, if it exists. */
function bookOf(store: IndexedStore, orderNo: string): LedgerView | undefined {
  const by = <Row>(name: 'orders' | 'refunds' | 'transitions' | 'exceptions' | 'disputes') =>
    store.rowsBy(name, 'orderNo', orderNo) as unknown as readonly Row[];
  const [order] = by<OrderRow>('orders');
  if (!order) return undefined;
  const refunds = by<RefundRow>('refunds');
  const events = [orderNo, ...refunds.map(({ refundNo }) => refundNo)].flatMap(
    (number) => store.rowsBy('events', 'objectNo', number) as unknown as readonly EventRow[],
  );
  return {
    order,
    refunds,
    transitions: by('transitions'),
    exceptions: by('exceptions'),
    events,
    disputes: by('disputes'),
  };
}

/** The simulator's state in the form of the rules. */
function truthOf(world: World, orderNos: readonly string[]): Truth {
  const trades = orderNos.flatMap((orderNo) => tradeAtChannel(world, orderNo) ?? []);
  return { ...emptyTruth('opened'), trades };
}

function tradeAtChannel({ core }: World, orderNo: string): Trade | undefined {
  const all = core.trades.ofOrder(orderNo);
  const trade = all.find((one) => paymentOf(one)) ?? all.at(-1);
  return trade && tradeOf(trade, core.ledger.entries);
}

function tradeOf(trade: ChannelTrade, entries: World['core']['ledger']['entries']): Trade {
  const payment = paymentOf(trade);
  const { orderNo, expiresAt } = trade;
  const refunds = trade.refunds.map(({ refundNo, minor, state, origin, at, number }): ChannelRefund => {
    const wasDone =
      state !== 'succeeded' && entries.some((entry) => entry.type === 'refunded' && entry.number === number);
    return {
      number: refundNo,
      amount: BigInt(minor),
      state: state === 'processing' ? 'pending' : state,
      ...(wasDone ? { wasDone } : {}),
      isExternal: origin !== 'merchant' || /^(cancel_|reverse)/.test(refundNo),
      at,
    };
  });
  const state = payment ? 'paid' : trade.state === 'closed' ? 'closed' : trade.state === 'paid' ? 'held' : 'open';
  const amount = BigInt(payment?.minor ?? trade.minor);
  return { orderNo, amount, state, expiresAt: expiresAt ?? 0, paidAt: payment?.at ?? 0, refunds, dispute: null };
}

/** Checks the final state: rows against the channel, and the answers by `check-history.ts`. */
export function judgeEnd(world: World, snapshot: Snapshot, lines: readonly Line[]): string[] {
  const truth = truthOf(
    world,
    snapshot.orders.map((row) => String(row['orderNo'])),
  );
  const wrong = [...wrongNow(snapshot, truth), ...wrongAtTheEnd(snapshot, truth, toldIn(lines))];
  const listed = listedIn(snapshot);
  for (const { rule, words, events } of checkHistory(lines)) {
    const named = numbersIn(words, snapshot);
    const shown = lines.filter(({ index }) => events.includes(index)).map(({ value }) => String(value.orderNo));
    // A violation counts as listed if the named order, or one of several conflicting ones, has an exception.
    const isListed = named.length > 0 ? named.every((one) => listed.has(one)) : shown.some((one) => listed.has(one));
    // The rule that a paid order stays paid holds for every order.
    if (rule === 'paidStaysPaid' || !isListed) wrong.push(`${rule}: ${words}`);
  }
  for (const orderNo of new Set([...world.core.ledger.trades.values()].map((trade) => trade.orderNo)))
    if (!snapshot.orders.some((row) => row['orderNo'] === orderNo))
      wrong.push(`the channel has ${orderNo}, and we do not`);
  return wrong;
}

/** The open work after an operator resolved every exception. */
export function judgeOver({ orders, refunds, exceptions }: Snapshot): string[] {
  const isOpen = (states: readonly string[]) => (row: AnyRow) => !states.includes(String(row['state']));
  return [
    ...orders
      .filter(isOpen(['paid', 'closed', 'failed']))
      .map((row) => `${row['orderNo']} is ${row['state']} for ever`),
    ...refunds.filter(isOpen(['succeeded', 'failed'])).map((row) => `${row['refundNo']} is ${row['state']} for ever`),
    ...exceptions.filter(isOpen(['resolved'])).map((row) => `nothing ends ${row['kind']} of ${row['orderNo']}`),
  ];
}

function listedIn({ exceptions }: Snapshot): ReadonlySet<string> {
  return new Set(exceptions.filter(({ state }) => state === 'open').map((row) => String(row['orderNo'])));
}

/** The order numbers in a sentence. */
function numbersIn(words: string, { refunds }: Snapshot): string[] {
  const orders = words.match(/\bP\d{14}\w{10}\b/g) ?? [];
  const ofRefunds = (words.match(/\bR\d{14}\w{10}\b/g) ?? []).flatMap((number) =>
    refunds.filter(({ refundNo }) => refundNo === number).map((row) => String(row['orderNo'])),
  );
  return [...orders, ...ofRefunds];
}

const PAID = ['paid', 'partially_refunded', 'refunded'];

/** The facts that callers may rely on. */
function toldIn(lines: readonly Line[]): string[] {
  const told = new Set<string>();
  for (const { type, f, value } of lines) {
    const { orderNo, status, code, refundNo } = value;
    if (type === 'fail' && code === 'order_already_paid' && f === 'close') told.add(`paid ${orderNo}`);
    if (type !== 'ok') continue;
    if (refundNo) told.add(`refund ${refundNo} ${orderNo}`);
    if (PAID.includes(status)) told.add(`paid ${orderNo}`);
    else if (f === 'close' && (status === 'closed' || status === 'closing')) told.add(`closed ${orderNo}`);
  }
  return [...told];
}
