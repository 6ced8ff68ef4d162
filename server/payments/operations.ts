import type { OrderRow } from '../db/entities/orders.ts';
import { afterIntent } from './call-channel.ts';
import { type DisputeAnswer, disputeActions } from './disputes/answer.ts';
import type { ComplaintResult } from './channel.ts';
import { type ApprovalView, refundApprovals, viewApproval, type Waits } from './exceptions/approvals.ts';
import { capturePayment, closePayment, queryPayment, type ReadAhead, renewCredential } from './orders/order.ts';
import { takesMoney } from './core/transitions.ts';
import { addAuditEntry } from './side-effects.ts';
import type { KeyClaim } from './idempotency.ts';
import { majorNumber } from '../money.ts';
import { receiveNotification } from './notifications/receive.ts';
import { type ExceptionAction, operatorRepairs, type RefundAction } from './exceptions/operator.ts';
import { type PayRequest, type PayingApp, payeeOf, placePayment } from './orders/place.ts';
import type { Requester, Ports } from './ports.ts';
import {
  type OrderView,
  findOrder,
  orderTimeline,
  readPayments,
  viewDispute,
  viewException,
  viewRefund,
  viewRefundable,
} from './view.ts';
import { refundPayment, type RefundRequest } from './refunds/refund.ts';
import type { Pair } from './settle.ts';

/** A refund as the API returns it, with the refunded and refundable amounts of its order. */
async function placed({ store }: Pick<Ports, 'store'>, { order, refund }: Pair) {
  const { orderNo, currency } = order;
  const { refundNo } = refund;
  const blocking = { orderNo, state: 'open', blocksRefunds: true } as const;
  const exceptions = await afterIntent({ orderNo, refundNo }, () =>
    store.read((tx) => tx.exceptions.list(blocking, { orderBy: { createdAt: 'asc' } })),
  );
  return {
    ...viewRefund(refund),
    refundedAmount: majorNumber({ minor: order.refunded, currency }),
    ...viewRefundable(order, exceptions),
  };
}

function isWaiting(made: object): made is Waits {
  return 'waits' in made;
}

function doneOrWaiting<Row extends object, View>(
  made: Row | Waits,
  view: (row: Row) => View,
): { waits: ApprovalView } | { done: View } {
  return isWaiting(made) ? { waits: viewApproval(made.waits) } : { done: view(made) };
}

/** Payment operations for the routes: they take validated requests and return objects in the form of the API. */
export function paymentOperations(ports: Ports) {
  const place = placePayment(ports);
  const query = queryPayment(ports);
  const close = closePayment(ports);
  const refund = refundPayment(ports);
  const capture = capturePayment(ports);
  const renew = renewCredential(ports);
  const repairs = operatorRepairs(ports);
  const actions = disputeActions(ports);
  const reading = readPayments(ports);
  const timeline = orderTimeline(ports);
  /** If the order cannot be read after the operation has succeeded, the error contains the order number. */
  const show = (order: OrderRow) => afterIntent({ orderNo: order.orderNo }, () => reading.complete(order));

  return {
    async payAs(by: PayingApp, request: PayRequest, claim?: KeyClaim): Promise<OrderView> {
      return show(await place(await payeeOf(ports, by), request, { claim }));
    },
    readAhead: (orderNo: string): ReadAhead => ports.readShown(orderNo),
    async query(requester: Requester, orderNo: string, ahead?: ReadAhead): Promise<OrderView> {
      const { order, stale, around } = await query(requester, orderNo, ahead);
      if (around) return reading.show({ order, around, stale });
      // The order is read again: the query may have opened an exception (a case for an operator) without changing the
      // order's state.
      return { ...(await reading.order(requester, order.orderNo)), stale };
    },
    close: async (requester: Requester, orderNo: string, claim?: KeyClaim) =>
      show(await close(requester, orderNo, claim)),
    refund: async (requester: Requester, request: RefundRequest, claim?: KeyClaim) =>
      placed(ports, await refund(requester, request, { claim })),
    /** `order`: the order as it was read when the payer returned. */
    capture: (order: OrderRow, cause: string) => capture(order.orderNo, { cause, actor: 'payer' }, order),
    /** Captures a payment whose approval a shop reports (PayPal's buttons), unless the order has ended. */
    async captureNow(requester: Requester, orderNo: string): Promise<OrderView> {
      const via = { cause: 'capture', actor: requester.actor };
      const order = await ports.store.transaction(async (tx) => {
        const found = await findOrder(tx, orderNo, requester.owner);
        await addAuditEntry(ports, tx, requester, { action: 'order.capture', target: orderNo });
        return found;
      });
      if (!takesMoney(order.state)) return show(order);
      return show(await afterIntent({ orderNo }, () => capture(orderNo, via, order)));
    },
    renew: (order: OrderRow) => renew(order, { cause: 'query', actor: 'payer' }),
    receiveNotification: receiveNotification(ports),
    readOrder: reading.order,
    orders: reading.orders,
    readRefund: reading.refund,
    refunds: reading.refunds,
    timeline: async (requester: Requester, orderNo: string) =>
      (await timeline(requester, orderNo)).map(({ at, ...entry }) => ({ at: at.toISOString(), ...entry })),
    sync: async (requester: Requester, orderNo: string) =>
      reading.complete(await repairs.syncOrder(requester, orderNo)),
    async syncRefund(requester: Requester, refundNo: string) {
      await repairs.syncRefund(requester, refundNo);
      return reading.refund(requester, refundNo);
    },
    retryRefund: async (requester: Requester, refundNo: string) =>
      placed(ports, await repairs.retryRefund(requester, refundNo)),
    resolveRefund: async (requester: Requester, refundNo: string, action: RefundAction, reason: string) =>
      placed(ports, await repairs.resolveRefund(requester, refundNo, action, reason)),
    ...refundApprovals(ports, {
      dispute: actions.accept,
      exception: (requester, id, reason) => repairs.resolveException(requester, id, 'refund', reason),
    }),
    readDispute: reading.dispute,
    disputes: reading.disputes,
    answerDispute: async (requester: Requester, disputeNo: string, answer: DisputeAnswer, claim?: KeyClaim) =>
      viewDispute(await actions.answer(requester, disputeNo, answer, claim)),
    acceptDispute: async (requester: Requester, disputeNo: string, note: string, claim?: KeyClaim) =>
      doneOrWaiting(await actions.accept(requester, disputeNo, note, claim), viewDispute),
    finishDispute: async (requester: Requester, disputeNo: string, result: ComplaintResult, claim?: KeyClaim) =>
      viewDispute(await actions.finish(requester, disputeNo, result, claim)),
    readException: reading.exception,
    exceptions: reading.exceptions,
    resolveException: async (requester: Requester, id: string, action: ExceptionAction, reason: string) =>
      doneOrWaiting(await repairs.resolveException(requester, id, action, reason), viewException),
  };
}

export type PaymentOperations = ReturnType<typeof paymentOperations>;
