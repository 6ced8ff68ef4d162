import type { EventRow } from '../../../server/db/entities/events.ts';
import type { TransitionRow, OrderExceptionRow, OrderRow } from '../../../server/db/entities/orders.ts';
import type { DisputeRow, RefundRow } from '../../../server/db/entities/refunds.ts';
import { AppError } from '../../../server/errors.ts';
import {
  ANSWER_INVARIANTS,
  type LedgerView,
  type Broken,
  brokenOf,
  CHANNEL_INVARIANTS,
  type ChannelLedgerView,
  END_INVARIANTS,
  ORDER_INVARIANTS,
  STEP_INVARIANTS,
  type Reported,
} from '../../../server/payments/core/invariants.ts';
import { readNumberAtChannel } from '../../../server/payments/numbers.ts';
import type { Snapshot } from '../memory/tables.ts';
import type { Ended } from './driver.ts';
import type { Action } from './state.ts';
import { type Trade, tradeOf, type Truth } from './truth.ts';

/** The faults in words; empty if there is none. */
export type Wrong = readonly string[];

/** Every order with its related rows. */
export function booksOf({ orders, refunds, transitions, events, exceptions, disputes }: Snapshot): LedgerView[] {
  return (orders as unknown as OrderRow[]).map((order) => {
    const own = (row: { orderNo?: unknown }) => row.orderNo === order.orderNo;
    const ownRefunds = refunds.filter(own) as unknown as RefundRow[];
    const numbers = new Set([order.orderNo, ...ownRefunds.map(({ refundNo }) => refundNo)]);
    return {
      order,
      refunds: ownRefunds,
      transitions: transitions.filter(own) as unknown as TransitionRow[],
      events: (events as unknown as EventRow[]).filter(({ objectNo }) => numbers.has(objectNo)),
      exceptions: exceptions.filter(own) as unknown as OrderExceptionRow[],
      disputes: disputes.filter(own) as unknown as DisputeRow[],
    };
  });
}

/** The channel's view of an order: only completed payments and refunds. */
function channelBookOf(trade: Trade | undefined): ChannelLedgerView {
  return {
    received: trade?.state === 'paid' ? trade.amount : 0n,
    refunds: (trade?.refunds ?? [])
      .filter(({ state, wasDone }) => state === 'succeeded' || wasDone)
      .map(({ number, amount, state, isExternal }) => ({
        intent: isExternal ? null : readNumberAtChannel(number).refundNo,
        amount,
        reversed: state !== 'succeeded',
      })),
  };
}

const inWords =
  (orderNo: string) =>
  ({ promise, detail }: Broken): string =>
    `${orderNo}: ${detail} (${promise})`;

/** Checks the invariants of a committed database. */
export function wrongIn(snapshot: Snapshot): Wrong {
  return booksOf(snapshot).flatMap((book) => brokenOf(ORDER_INVARIANTS, book).map(inWords(book.order.orderNo)));
}

/** Checks a commit against the database before it. */
export function wrongStep(before: Snapshot, after: Snapshot): Wrong {
  const orders = after.orders as unknown as OrderRow[];
  return (before.orders as unknown as OrderRow[]).flatMap((old) =>
    wrongSince(
      old,
      orders.find(({ orderNo }) => orderNo === old.orderNo),
    ),
  );
}

/** Checks a commit against one earlier order; `now` is undefined if the order is gone. */
export function wrongSince(old: OrderRow, now: OrderRow | undefined): Wrong {
  return brokenOf(STEP_INVARIANTS, old, now).map(inWords(old.orderNo));
}

/** Checks the stored rows against the channel's state at any moment. */
export function wrongBetween(snapshot: Snapshot, truth: Truth): Wrong {
  return booksOf(snapshot).flatMap((book) => {
    const { orderNo } = book.order;
    return brokenOf(CHANNEL_INVARIANTS, book, channelBookOf(tradeOf(truth, orderNo))).map(inWords(orderNo));
  });
}

/** Runs `wrongIn` and `wrongBetween`, collecting the rows of each order once. */
export function wrongNow(snapshot: Snapshot, truth: Truth): Wrong {
  return booksOf(snapshot).flatMap((book) => wrongInBook(book, tradeOf(truth, book.order.orderNo)));
}

/** Checks the rows of one order, and the order against the channel. */
export function wrongInBook(book: LedgerView, trade: Trade | undefined): Wrong {
  const broken = [...brokenOf(ORDER_INVARIANTS, book), ...brokenOf(CHANNEL_INVARIANTS, book, channelBookOf(trade))];
  return broken.map(inWords(book.order.orderNo));
}

/** The facts that a caller may rely on from now on, and the faults of its answer. */
export function toldBy({ name, about }: Action, ended: Ended): { told: readonly string[]; wrong: Wrong } {
  if ('error' in ended) {
    const { error } = ended;
    if (!(error instanceof AppError)) return { told: [], wrong: [`${name} ends with ${String(error)}`] };
    if (error.code === 'order_already_paid' && name === 'close') return { told: [`paid ${about[0]}`], wrong: [] };
    return { told: [], wrong: [] };
  }
  const order = orderIn(ended.result);
  if (!order) return { told: [], wrong: [] };
  if (name === 'refund') {
    const { refund } = ended.result as { refund: RefundRow };
    return { told: [`refund ${refund.refundNo} ${refund.orderNo}`], wrong: [] };
  }
  if (order.state === 'paid' && order.paid > 0n) return { told: [`paid ${order.orderNo}`], wrong: [] };
  if (name === 'close') return { told: [`closed ${order.orderNo}`], wrong: [] };
  return { told: [], wrong: [] };
}

function orderIn(result: unknown): OrderRow | undefined {
  const found = result as { orderNo?: string; order?: OrderRow } | undefined;
  return found?.order ?? (found?.orderNo === undefined ? undefined : (found as OrderRow));
}

/** The facts reported to callers about one order. */
function toldOf(told: readonly string[], orderNo: string): Reported {
  const refunds = told.map((one) => one.split(' ')).filter(([what, , of]) => what === 'refund' && of === orderNo);
  return {
    paid: told.includes(`paid ${orderNo}`),
    closed: told.includes(`closed ${orderNo}`),
    refunds: refunds.map(([, number]) => number!),
  };
}

/** Checks the final state, when nothing is due and no action is running. */
export function wrongAtTheEnd(snapshot: Snapshot, truth: Truth, told: readonly string[]): Wrong {
  return booksOf(snapshot).flatMap((book) => {
    const { orderNo } = book.order;
    if (book.exceptions.some((one) => one.state === 'open')) return [];
    const channel = channelBookOf(tradeOf(truth, orderNo));
    return [
      ...brokenOf(END_INVARIANTS, book, channel),
      ...brokenOf(ANSWER_INVARIANTS, book, toldOf(told, orderNo), channel),
    ].map((one) => `at the end ${inWords(orderNo)(one)}`);
  });
}
