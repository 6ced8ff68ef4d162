import type { OrderFeeRow } from '../db/entities/bills.ts';
import type { OrderExceptionRow, OrderRow, StoredMoney, TransitionRow } from '../db/entities/orders.ts';
import type { DisputeRow, RefundRow } from '../db/entities/refunds.ts';
import { type DisputeFilter, type ExceptionFilter, listDisputes, listExceptions } from '../db/queries/exceptions.ts';
import type { Position } from '../db/queries/lists.ts';
import { MISSING, type ReadMessage, listMessages } from '../db/queries/messages.ts';
import {
  type Around,
  type OrderFilter,
  type RefundFilter,
  feesOf,
  listOrders,
  listRefunds,
  openExceptions,
  type ShownOrder,
} from '../db/queries/orders.ts';
import type { ReadTx } from '../db/store.ts';
import type { ExceptionKind, OrderStatus, RefundStatus } from '../domain.ts';
import { NotFound } from '../errors.ts';
import { type Money, majorNumber } from '../money.ts';
import { noteOrder, noteWork } from '../work.ts';
import type { PayHint } from './channel.ts';
import { hasCredential, refundableOf } from './core/transitions.ts';
import type { Requester, Owner, Ports } from './ports.ts';

/** The API status of an order: its state, or `partially_refunded` or `refunded`, depending on the refunded amount. */
export function statusOf(order: Pick<OrderRow, 'state' | 'paid' | 'refunded'>): OrderStatus {
  if (order.paid > 0n && order.refunded >= order.paid) return 'refunded';
  if (order.state === 'paid' && order.refunded > 0n) return 'partially_refunded';
  return order.state;
}

/** The API status of a refund: the state, or `waiting_for_approval`. */
export function refundStatusOf({ state, approval }: Pick<RefundRow, 'state' | 'approval'>): RefundStatus {
  return state === 'pending' && approval === 'waiting' ? 'waiting_for_approval' : state;
}

/** Converts a refund to the form in which the API returns it; `fee` is shown only for a succeeded refund. */
export function viewRefund(refund: RefundRow, fee?: OrderFeeRow) {
  return {
    refundNo: refund.refundNo,
    orderNo: refund.orderNo,
    merchantRefundNo: refund.merchantRefundNo,
    origin: refund.origin,
    refundAmount: majorNumber({ minor: refund.amount, currency: refund.currency }),
    refundAmountMinor: Number(refund.amount),
    currency: refund.currency,
    reason: refund.reason,
    status: refundStatusOf(refund),
    elsewhere: refund.elsewhere,
    failure: refund.failureCode ? { code: refund.failureCode, message: refund.failureMessage ?? '' } : null,
    channelRefundNo: refund.channelRefundNo,
    fee: fee && refund.state === 'succeeded' ? viewMoney({ minor: fee.fee, currency: fee.currency }) : null,
    nextCheckAt: refund.approval === 'waiting' ? null : iso(refund.nextCheckAt),
    createdAt: refund.createdAt.toISOString(),
    finishedAt: iso(refund.finishedAt),
  };
}

/** A dispute as the API returns it. */
export function viewDispute(dispute: DisputeRow) {
  const { payWay, currency } = dispute;
  const major = (minor: bigint) => majorNumber({ minor, currency });
  return {
    disputeNo: dispute.disputeNo,
    orderNo: dispute.orderNo,
    clientId: dispute.clientId,
    project: dispute.project,
    payWay,
    channelDisputeNo: dispute.channelDisputeNo,
    reason: dispute.reason,
    amount: major(dispute.amount),
    amountMinor: Number(dispute.amount),
    currency,
    status: dispute.state,
    dueAt: iso(dispute.dueAt),
    lostAmount: major(dispute.amountLost),
    refundNo: dispute.refundNo,
    answeredAt: iso(dispute.answeredAt),
    acceptedAt: iso(dispute.acceptedAt),
    nextCheckAt: iso(dispute.nextCheckAt),
    openedAt: dispute.openedAt.toISOString(),
    updatedAt: dispute.updatedAt.toISOString(),
    closedAt: iso(dispute.closedAt),
  };
}

/** An order as it appears in lists and events: without refunds and payment link. */
export function viewOrder(
  order: OrderRow,
  also: {
    /** The open exceptions, the oldest first. */
    exceptions?: readonly OrderExceptionRow[] | undefined;
    stale?: boolean;
    /** The fees by refund number. The key '' has the fee of the payment. */
    fees?: ReadonlyMap<string, OrderFeeRow> | undefined;
  } = {},
) {
  const { payWay, currency } = order;
  const major = (minor: bigint) => majorNumber({ minor, currency });
  const { exceptions = [] } = also;
  return {
    orderNo: order.orderNo,
    kind: order.kind,
    merchantOrderNo: order.merchantOrderNo,
    project: order.project,
    clientId: order.clientId,
    mode: order.mode,
    subject: order.subject,
    orderType: order.orderType,
    userId: order.userId,
    extra: order.extra,
    payWay,
    scene: order.scene,
    amount: major(order.amount),
    amountMinor: Number(order.amount),
    currency,
    status: statusOf(order),
    exception: kindOf(exceptions.at(-1)),
    closeReason: order.closeReason,
    failure: order.failureCode ? { code: order.failureCode, message: order.failureMessage ?? '' } : null,
    payer: order.payer,
    product: order.productCode,
    refundedAmount: major(order.refunded),
    ...viewRefundable(order, exceptions),
    channelOrderId: order.channelOrderId,
    channelTradeNo: order.channelTradeNo,
    captureReason: order.captureReason,
    settlement: viewSettlement(order, also.fees?.get('')),
    createdAt: order.createdAt.toISOString(),
    paidAt: iso(order.paidAt),
    closedAt: iso(order.closedAt),
    expiresAt: order.expiresAt.toISOString(),
    stale: also.stale ?? false,
  };
}

type NotExported = 'failure' | 'channelOrderId' | 'captureReason' | 'settlement' | 'stale';

export const EXPORTED = Object.keys({
  orderNo: true,
  merchantOrderNo: true,
  project: true,
  clientId: true,
  mode: true,
  kind: true,
  payWay: true,
  scene: true,
  subject: true,
  orderType: true,
  userId: true,
  extra: true,
  amount: true,
  amountMinor: true,
  currency: true,
  status: true,
  exception: true,
  closeReason: true,
  refundedAmount: true,
  refundableAmount: true,
  refundsBlockedBy: true,
  channelTradeNo: true,
  payer: true,
  product: true,
  createdAt: true,
  paidAt: true,
  closedAt: true,
  expiresAt: true,
} satisfies Record<Exclude<keyof OrderEntryView, NotExported>, true>) as Exclude<keyof OrderEntryView, NotExported>[];

/**
 * The refundable amount in major units; 0 while an open exception blocks refunds. `refundsBlockedBy`: the kind of the
 * exception; null = no exception blocks refunds.
 */
export function viewRefundable(
  order: Pick<OrderRow, 'paid' | 'refunded' | 'refunding' | 'currency'>,
  exceptions: readonly OrderExceptionRow[],
) {
  const blocking = exceptions.find(({ blocksRefunds }) => blocksRefunds);
  const { currency } = order;
  return {
    refundableAmount: majorNumber({ minor: blocking ? 0n : refundableOf(order), currency }),
    refundsBlockedBy: kindOf(blocking),
  };
}

function kindOf(exception: OrderExceptionRow | undefined): ExceptionKind | null {
  return (exception?.kind as ExceptionKind | undefined) ?? null;
}

function viewRefunds(refunds: readonly RefundRow[], fees: ReadonlyMap<string, OrderFeeRow> | undefined): RefundView[] {
  return refunds.map((refund) => viewRefund(refund, fees?.get(refund.refundNo)));
}

/**
 * Fee, net and received amounts of the payment, in major units. The channel's report is used if there is one, otherwise
 * the bill; null while both are missing.
 */
function viewSettlement({ settlement, paid, currency }: OrderRow, billed: OrderFeeRow | undefined) {
  if (settlement === null && !billed) return null;
  const { fee = billed && { minor: billed.fee, currency: billed.currency }, net, received } = settlement ?? {};
  const left = !settlement && fee?.currency === currency ? { minor: paid - BigInt(fee.minor), currency } : net;
  return { fee: viewMoney(fee), net: viewMoney(left), received: viewMoney(received) };
}

function viewMoney(kept: StoredMoney | Money | undefined) {
  if (kept === undefined) return null;
  const money = { minor: BigInt(kept.minor), currency: kept.currency };
  return { amount: majorNumber(money), amountMinor: Number(money.minor), currency: money.currency };
}

interface Credential {
  payment?: PayHint & { expiresAt: string };
  payUrl: string;
}

export type OrderEntryView = ReturnType<typeof viewOrder>;
export type OrderView = OrderEntryView & { refunds: RefundView[] } & Partial<Credential>;
type RefundView = ReturnType<typeof viewRefund>;
type DisputeView = ReturnType<typeof viewDispute>;

/**
 * The payment link or code while the order can be paid. If the link has expired, only the address of the payer's page
 * at this service is returned. That page renews the link.
 */
export function viewCredential(order: OrderRow, publicUrl: string, now: Date): Credential {
  const payUrl = `${publicUrl}/pay/${order.orderNo}`;
  const { credential, credentialUntil, expiresAt } = order;
  const isOpen = order.state === 'pending' || order.state === 'created';
  if (credential === null || !isOpen || !hasCredential(order, now)) return { payUrl };
  const until = credentialUntil !== null && credentialUntil < expiresAt ? credentialUntil : expiresAt;
  return { payment: { ...credential, expiresAt: until.toISOString() }, payUrl: credential.url ?? payUrl };
}

/** An exception as the API returns it. */
export function viewException(row: OrderExceptionRow) {
  return {
    id: row.id,
    // An exception about an unknown order has no application. If the unknown number is not in the format of this
    // service, the order number is empty too.
    orderNo: row.orderNo || null,
    refundNo: row.refundNo,
    clientId: row.clientId || null,
    project: row.project,
    kind: row.kind,
    state: row.state,
    receivedMinor: row.receivedMinor === null ? null : Number(row.receivedMinor),
    receivedCurrency: row.receivedCurrency,
    blocksRefunds: row.blocksRefunds,
    detail: row.detail,
    resolution: row.resolution,
    reason: row.reason,
    resolvedBy: row.resolvedBy,
    createdAt: row.createdAt.toISOString(),
    resolvedAt: iso(row.resolvedAt),
  };
}

function iso(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}

/** One page of a list, newest first; `next`: the position of the following page. */
export interface PageOf<Item> {
  items: Item[];
  next: Position | null;
}

/** Reads orders, refunds, disputes and exceptions as the API returns them. */
export function readPayments({
  store,
  reports,
  readShown,
  publicUrl,
  now,
}: Pick<Ports, 'store' | 'reports' | 'readShown' | 'publicUrl' | 'now'>) {
  return {
    /** One order with its refunds, its newest open exception and, while it can be paid, its payment link or code. */
    order: (requester: Requester, orderNo: string) => findShown(readShown(orderNo), requester.owner).then(show),
    /** Like `order`, but for an order row that the caller has just written. */
    complete,
    /** Like `order`, but the caller has just read the order with its refunds, exceptions and fees. */
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
    refund: (requester: Requester, refundNo: string) =>
      store.read(async (tx) => {
        const refund = await findRefund(tx, refundNo, requester.owner);
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
    dispute: (requester: Requester, disputeNo: string) =>
      store.read(async (tx) => {
        const dispute = await tx.disputes.find({ disputeNo, ...(requester.owner === 'any' ? {} : requester.owner) });
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
    // A new order has no refunds or fees. It can have an exception only if it waits for a capture, is no longer queried
    // or has expired. In all other cases the database is not read again.
    const waits = order.captureState === 'pending' || order.nextCheckAt === null || order.expiresAt <= now();
    if (order.sequence <= 2 && order.paid === 0n && !waits) return show({ order });
    return show(await findShown(readShown(order.orderNo), 'any'));
  }

  function show({ order, around, stale = false }: Shown): OrderView {
    return {
      ...viewOrder(order, { ...around, stale }),
      refunds: viewRefunds(around?.refunds ?? [], around?.fees),
      ...viewCredential(order, publicUrl, now()),
    };
  }
}

interface Shown {
  order: OrderRow;
  around?: Around | undefined;
  /** True = the channel did not answer the query, so the order may be outdated. */
  stale?: boolean;
}

function nextOf<Row extends { createdAt: Date }>(
  more: boolean,
  last: Row | undefined,
  id: (row: Row) => string,
): Position | null {
  return more && last ? { createdAt: last.createdAt, id: id(last) } : null;
}

/** The order with its refunds, exceptions and fees; throws 404 if it does not exist or belongs to another owner. */
export async function findShown(reading: Promise<ShownOrder | undefined>, owner: Owner): Promise<ShownOrder> {
  const shown = await reading;
  // The statement reads the orders of several applications, so the owner is compared here.
  const isVisible = shown && (owner === 'any' || shown.order.clientId === owner.clientId);
  if (!isVisible) throw new NotFound('order');
  noteOrder(shown.order);
  return shown;
}

/** The order; throws 404 if it does not exist or belongs to another owner. */
export async function findOrder(tx: ReadTx, orderNo: string, owner: Owner): Promise<OrderRow> {
  const order = await tx.orders.find({ orderNo, ...(owner === 'any' ? {} : owner) });
  if (!order) throw new NotFound('order');
  noteOrder(order);
  return order;
}

/** The refund; throws 404 if it does not exist or belongs to another owner. */
export async function findRefund(tx: ReadTx, refundNo: string, owner: Owner): Promise<RefundRow> {
  const refund = await tx.refunds.find({ refundNo, ...(owner === 'any' ? {} : owner) });
  if (!refund) throw new NotFound('refund');
  noteWork({ refundNo });
  return refund;
}

interface TimelineEntry {
  at: Date;
  kind: 'move' | 'message' | 'exception' | 'event' | 'delivery';
  summary: string;
  detail: Record<string, unknown>;
}

/**
 * The details that an application sees. Messages of the channel, names and words of administrators, and addresses are
 * left out.
 */
const OWN_DETAILS: Readonly<Record<TimelineEntry['kind'], readonly string[]>> = {
  move: ['refundNo', 'fromState', 'toState', 'cause'],
  message: [],
  exception: ['kind', 'state', 'refundNo'],
  event: ['id', 'type', 'sequence'],
  delivery: ['id', 'eventId', 'state', 'attempts', 'lastStatus', 'nextAttemptAt'],
};

function ownEntry({ at, kind, summary, detail }: TimelineEntry): TimelineEntry {
  const shown = Object.fromEntries(OWN_DETAILS[kind].map((name) => [name, detail[name] ?? null]));
  return { at, kind, summary: kind === 'delivery' ? `delivery ${String(detail['state'])}` : summary, detail: shown };
}

/** Returns the timeline of an order, oldest first. An application gets only what it may know. */
export function orderTimeline({ store }: Pick<Ports, 'store'>) {
  return async (requester: Requester, orderNo: string): Promise<TimelineEntry[]> =>
    store.read(async (tx) => {
      await findOrder(tx, orderNo, requester.owner);
      const transitions = await tx.transitions.list({ orderNo }, { orderBy: { sequence: 'asc' } });
      const isOwn = requester.owner !== 'any';
      const messages = isOwn ? [] : await listMessages(tx, orderNo, 1000);
      const exceptions = await tx.exceptions.list({ orderNo });
      const refunds = await tx.refunds.list({ orderNo });
      const disputes = await tx.disputes.list({ orderNo });
      const failureOf = ({ id, refundNo }: Pick<TransitionRow, 'id' | 'refundNo'>): string | null => {
        const isLast = transitions.findLast((one) => one.refundNo === refundNo)?.id === id;
        const refund = isLast ? refunds.find((one) => one.refundNo === refundNo) : undefined;
        return refund?.failureCode ?? null;
      };
      const numbers = [
        orderNo,
        ...refunds.map(({ refundNo }) => refundNo),
        ...disputes.map(({ disputeNo }) => disputeNo),
      ];
      const events = await tx.events.list({ objectNo: numbers }, { orderBy: { sequence: 'asc' } });
      const deliveries = events.length === 0 ? [] : await tx.deliveries.list({ eventId: events.map(({ id }) => id) });
      const entries: TimelineEntry[] = [
        ...transitions.map(({ at, ...transition }) => ({
          at,
          kind: 'move' as const,
          summary: moveWords(transition, failureOf(transition)),
          detail: { ...transition, id: Number(transition.id) },
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
      const sorted = entries.toSorted((a, b) => a.at.getTime() - b.at.getTime());
      return isOwn ? sorted.map(ownEntry) : sorted;
    });
}

/** `failureCode` is that of the refund, if this is its last move; it may come from an earlier answer of the channel. */
function moveWords(move: Omit<TransitionRow, 'at'>, failureCode: string | null): string {
  const { refundNo, fromState, toState, cause, outcome } = move;
  const code = typeof outcome?.['code'] === 'string' ? outcome['code'] : toState === 'failed' ? failureCode : null;
  const states = `${fromState ?? '–'} → ${toState} (${cause})${code === null ? '' : `: ${code}`}`;
  return refundNo ? `refund ${refundNo} ${states}` : states;
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
