import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import { type DisputeFilter, type ExceptionFilter, listDisputes, listExceptions } from '../db/queries/exceptions.ts';
import { type Position } from '../db/queries/lists.ts';
import {
  type Around,
  type OrderFilter,
  type RefundFilter,
  feesOf,
  listOrders,
  listRefunds,
  openExceptions,
  orderShown,
} from '../db/queries/orders.ts';
import { MISSING, type ReadMessage, listMessages } from '../db/queries/messages.ts';
import type { ReadTx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { noteOrder, noteWork } from '../work.ts';
import type { Asker, Owner, Ports } from './ports.ts';
import {
  type DisputeView,
  type OrderEntryView,
  type OrderView,
  type RefundView,
  viewCredential,
  viewDispute,
  viewException,
  viewOrder,
  viewRefund,
  viewRefunds,
} from './view.ts';

/** One page of a list, newest first; `next` is where the following page begins. */
export interface PageOf<Item> {
  items: Item[];
  next: Position | null;
}

/** Reading: orders and refunds as they appear on the wire. */
export function readPayments({
  store,
  reports,
  publicUrl,
  now,
}: Pick<Ports, 'store' | 'reports' | 'publicUrl' | 'now'>) {
  return {
    /** One order with its refunds, its newest open exception and, while it can be paid, its credential. */
    order: (asker: Asker, orderNo: string) => store.read(async (tx) => show(await findShown(tx, orderNo, asker.owner))),
    /** The same for a row that was just settled. */
    complete,
    /** The same for one that was just read with what is around it. */
    show,
    orders: (filter: OrderFilter, after: Position | undefined, limit: number) =>
      reports.read(async (tx): Promise<PageOf<OrderEntryView>> => {
        const rows = await listOrders(tx, filter, after, limit);
        const page = rows.slice(0, limit);
        const exceptions = await openExceptions(
          tx,
          page.map(({ orderNo }) => orderNo),
        );
        const fees = await feesOf(tx, page, now());
        const items = page.map((order) =>
          viewOrder(order, { exceptions: exceptions.get(order.orderNo), fees: fees.get(order.orderNo) }),
        );
        return { items, next: nextOf(rows.length > limit, page.at(-1), (row) => row.orderNo) };
      }),
    refund: (asker: Asker, refundNo: string) =>
      store.read(async (tx) => {
        const refund = await findRefund(tx, refundNo, asker.owner);
        const order = await findOrder(tx, refund.orderNo, 'any');
        const fees = await feesOf(tx, [order], now());
        return viewRefund(refund, fees.get(order.orderNo)?.get(refundNo));
      }),
    refunds: (filter: RefundFilter, after: Position | undefined, limit: number) =>
      reports.read(async (tx): Promise<PageOf<RefundView>> => {
        const rows = await listRefunds(tx, filter, after, limit);
        const page = rows.slice(0, limit);
        const orders = page.length === 0 ? [] : await tx.orders.list({ orderNo: page.map(({ orderNo }) => orderNo) });
        const fees = await feesOf(tx, orders, now());
        const items = page.map((refund) => viewRefund(refund, fees.get(refund.orderNo)?.get(refund.refundNo)));
        return { items, next: nextOf(rows.length > limit, page.at(-1), (row) => row.refundNo) };
      }),
    dispute: (asker: Asker, disputeNo: string) =>
      store.read(async (tx) => {
        const dispute = await tx.disputes.find({ disputeNo, ...(asker.owner === 'any' ? {} : asker.owner) });
        if (!dispute) throw new NotFound('dispute');
        return viewDispute(dispute);
      }),
    disputes: (filter: DisputeFilter, after: Position | undefined, limit: number) =>
      reports.read(async (tx): Promise<PageOf<DisputeView>> => {
        const rows = await listDisputes(tx, filter, after, limit);
        const page = rows.slice(0, limit);
        return { items: page.map(viewDispute), next: nextOf(rows.length > limit, page.at(-1), (row) => row.disputeNo) };
      }),
    exception: (id: string) =>
      store.read(async (tx) => {
        const row = await tx.exceptions.find({ id });
        if (!row) throw new NotFound('exception');
        return viewException(row);
      }),
    exceptions: (filter: ExceptionFilter, after: Position | undefined, limit: number) =>
      store.read(async (tx): Promise<PageOf<ReturnType<typeof viewException>>> => {
        const rows = await listExceptions(tx, filter, after, limit);
        const page = rows.slice(0, limit);
        return { items: page.map(viewException), next: nextOf(rows.length > limit, page.at(-1), (row) => row.id) };
      }),
  };

  async function complete(order: OrderRow): Promise<OrderView> {
    // Of an order that was only placed there is nothing to read; what is listed without a move stops its questions or holds its capture.
    const waits = order.captureState === 'pending' || order.nextCheckAt === null || order.expiresAt <= now();
    if (order.sequence <= 2 && order.paid === 0n && !waits) return show({ order });
    return show(await store.read((tx) => findShown(tx, order.orderNo, 'any')));
  }

  function show({ order, around, stale = false }: Shown): OrderView {
    return {
      ...viewOrder(order, { ...around, stale }),
      refunds: viewRefunds(around?.refunds ?? [], around?.fees),
      ...viewCredential(order, publicUrl, now()),
    };
  }
}

/** An order on its way to the wire. */
interface Shown {
  order: OrderRow;
  around?: Around | undefined;
  /** Its channel could not be asked. */
  stale?: boolean;
}

function nextOf<Row extends { createdAt: Date }>(
  more: boolean,
  last: Row | undefined,
  id: (row: Row) => string,
): Position | null {
  return more && last ? { createdAt: last.createdAt, id: id(last) } : null;
}

/** The order with what is shown with it, or the 404 of nothing when it is another's. */
export async function findShown(tx: ReadTx, orderNo: string, owner: Owner) {
  const shown = await orderShown(tx, { orderNo, ...(owner === 'any' ? {} : owner) });
  if (!shown) throw new NotFound('order');
  noteOrder(shown.order);
  return shown;
}

/** The order, or the 404 of nothing when it is another's. */
export async function findOrder(tx: ReadTx, orderNo: string, owner: Owner): Promise<OrderRow> {
  const order = await tx.orders.find({ orderNo, ...(owner === 'any' ? {} : owner) });
  if (!order) throw new NotFound('order');
  noteOrder(order);
  return order;
}

/** The refund, or the 404 of nothing when it is another's. */
export async function findRefund(tx: ReadTx, refundNo: string, owner: Owner): Promise<RefundRow> {
  const refund = await tx.refunds.find({ refundNo, ...(owner === 'any' ? {} : owner) });
  if (!refund) throw new NotFound('refund');
  noteWork({ refundNo });
  return refund;
}

/** One line of an order's story. */
interface TimelineEntry {
  at: Date;
  kind: 'move' | 'message' | 'exception' | 'event' | 'delivery';
  /** What happened, in a few words. */
  summary: string;
  detail: Record<string, unknown>;
}

/** Everything that happened to an order, oldest first: moves with their rule, channel messages, exceptions, events and deliveries. */
export function orderTimeline({ store }: Pick<Ports, 'store'>) {
  return async (asker: Asker, orderNo: string): Promise<TimelineEntry[]> =>
    store.read(async (tx) => {
      await findOrder(tx, orderNo, asker.owner);
      const moves = await tx.moves.list({ orderNo }, { orderBy: { sequence: 'asc' } });
      const messages = await listMessages(tx, orderNo, 1000);
      const exceptions = await tx.exceptions.list({ orderNo });
      const refunds = await tx.refunds.list({ orderNo });
      const disputes = await tx.disputes.list({ orderNo });
      const numbers = [
        orderNo,
        ...refunds.map(({ refundNo }) => refundNo),
        ...disputes.map(({ disputeNo }) => disputeNo),
      ];
      const events = await tx.events.list({ objectNo: numbers }, { orderBy: { sequence: 'asc' } });
      const deliveries = events.length === 0 ? [] : await tx.deliveries.list({ eventId: events.map(({ id }) => id) });
      const entries: TimelineEntry[] = [
        ...moves.map(({ at, ...move }) => ({
          at,
          kind: 'move' as const,
          summary: `${move.refundNo ? `refund ${move.refundNo} ` : ''}${move.fromState ?? '–'} → ${move.toState} (${move.cause})`,
          detail: { ...move, id: Number(move.id) },
        })),
        ...messages.map(({ at, ...message }) => ({
          at,
          kind: 'message' as const,
          summary: messageWords(message),
          detail: { ...message, id: Number(message.id) },
        })),
        ...exceptions.map((exception) => ({
          at: exception.createdAt,
          kind: 'exception' as const,
          summary: `exception ${exception.kind} (${exception.state})`,
          detail: {
            id: exception.id,
            kind: exception.kind,
            state: exception.state,
            refundNo: exception.refundNo,
            resolution: exception.resolution,
            reason: exception.reason,
            detail: exception.detail,
          },
        })),
        ...events.map((event) => ({
          at: event.createdAt,
          kind: 'event' as const,
          summary: `event ${event.type}`,
          detail: { id: event.id, type: event.type, sequence: Number(event.sequence) },
        })),
        ...deliveries.map((delivery) => ({
          at: delivery.createdAt,
          kind: 'delivery' as const,
          summary: `delivery to ${delivery.url} ${delivery.state}`,
          detail: {
            id: delivery.id,
            eventId: delivery.eventId,
            state: delivery.state,
            attempts: delivery.attempts,
            lastStatus: delivery.lastStatus,
            lastError: delivery.lastError,
            nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
          },
        })),
      ];
      return entries.toSorted((a, b) => a.at.getTime() - b.at.getTime());
    });
}

function messageWords({ direction, payWay, call, status, note, times, lastAt }: Omit<ReadMessage, 'at'>): string {
  if (call === MISSING) return `${times === 1 ? 'a message is' : `${times} messages are`} missing here${until(lastAt)}`;
  const words = `${direction === 'out' ? '→' : '←'} ${payWay} ${call} ${status ?? note ?? ''}`.trim();
  return times === 1 ? words : `${words}, ${times} times${until(lastAt)}`;
}

function until(lastAt: Date | null): string {
  return lastAt === null ? '' : ` until ${lastAt.toISOString()}`;
}

export type { Position } from '../db/queries/lists.ts';
export type { OrderFilter, RefundFilter } from '../db/queries/orders.ts';
