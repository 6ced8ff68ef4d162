import { z } from 'zod';
import { ORDER_STATUSES } from '../domain.ts';
import { InvalidRequest } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { EXPORT_FORMATS, type ExportOrders } from '../payments/export.ts';
import { type AmountBound, readBound } from '../money.ts';
import type { PaymentOperations } from '../payments/operations.ts';
import type { OrderFilter } from '../payments/view.ts';
import { requesterOf, forApplications } from './schemas/audience.ts';
import {
  CAPTURE_ERRORS,
  CLOSE_ERRORS,
  FIND_ORDERS_ERRORS,
  PAY_ERRORS,
  REFUND_BY_ADMIN_ERRORS,
  REFUND_ERRORS,
} from './schemas/errors.ts';
import {
  Amount,
  Bom,
  Code,
  Id,
  Paging,
  SafeText,
  TimeRange,
  Timestamp,
  UserId,
  exportReply,
  pageOf,
} from './schemas/fields.ts';
import {
  Order,
  OrderEntry,
  PayWayName,
  PlacePaymentRequest,
  Refund,
  RefundPlaced,
  RefundRequest,
} from './schemas/orders.ts';

const status = z.enum(ORDER_STATUSES).optional();

const OwnOrdersQuery = z.object({
  ...Paging,
  ...TimeRange,
  merchantOrderNo: Id.optional(),
  status,
  userId: UserId.optional(),
});

const OrdersQuery = z.object({
  ...Paging,
  ...TimeRange,
  orderNo: Id.optional(),
  merchantOrderNo: Id.optional(),
  channelTradeNo: z.string().min(1).max(128).optional(),
  status,
  exception: z
    .string()
    .regex(/^[a-z_]{1,32}$/)
    .optional(),
  payWay: PayWayName.optional(),
  mode: z.enum(['simulator', 'sandbox', 'live']).optional(),
  orderType: z.string().min(1).max(64).optional(),
  userId: UserId.optional(),
  project: Code.optional(),
  clientId: Id.optional(),
  amountMin: z.string().max(16).optional(),
  amountMax: z.string().max(16).optional(),
});

/** Converts a query of an administrator to an order filter; amounts are major units, in the currency of each order. */
function orderFilter(
  query: Partial<Omit<z.output<typeof OrdersQuery>, 'project'>> & Pick<OrderFilter, 'project'>,
): OrderFilter {
  const { limit: _limit, cursor: _cursor, amountMin, amountMax, ...rest } = query;
  return {
    ...rest,
    amountMin: amountMin === undefined ? undefined : bound(amountMin, '/amountMin'),
    amountMax: amountMax === undefined ? undefined : bound(amountMax, '/amountMax'),
  };
}

function bound(text: string, pointer: '/amountMin' | '/amountMax'): AmountBound {
  const read = readBound(text, pointer === '/amountMin');
  if (read) return read;
  const detail = 'must be a decimal number in major units, with at most two decimals';
  throw new InvalidRequest(`The amount ${detail}.`, [{ pointer, code: 'amount_invalid', detail }], 'amount_invalid');
}

const OrderParams = z.object({ orderNo: Id });

const TimelineEntry = z
  .object({
    at: Timestamp,
    kind: z.enum(['move', 'message', 'exception', 'event', 'delivery']),
    summary: z.string(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'TimelineEntry' });

const OrderRefundRequest = z
  .object({
    refundAmount: Amount.optional().describe('Amount in major units; if omitted, the full remaining amount.'),
    merchantRefundNo: Id.optional(),
    reason: SafeText(1, 80).optional(),
  })
  .meta({ id: 'OrderRefundRequest' });

/** Orders for administrators: list, read, timeline, sync, close, refund. No operation edits amounts. */
export function orderRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/orders:
   *   get:
   *     tags: [Orders]
   *     operationId: listOrders
   *     summary: List orders of all projects
   *     description: Newest first, without the refunds of the orders. `exception=any` returns every order with an open exception.
   */
  router.get(
    '/api/v1/orders',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'filter' },
        query: OrdersQuery,
        returns: OrderEntry,
        list: true,
        errors: FIND_ORDERS_ERRORS,
      },
      async ({ query }) => pageOf(await operations.orders(orderFilter(query), query.cursor, query.limit)),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}:
   *   get:
   *     tags: [Orders]
   *     operationId: getOrder
   *     summary: Get the stored state of an order
   */
  router.get(
    '/api/v1/orders/:orderNo',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'order' }, params: OrderParams, returns: Order },
      ({ params, caller, request }) => operations.readOrder(requesterOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/timeline:
   *   get:
   *     tags: [Orders]
   *     operationId: getOrderTimeline
   *     summary: Get the timeline of an order
   *     description: >-
   *       State changes, channel messages, exceptions, events and webhook deliveries, oldest first. If `detail.times` of a message is
   *       above 1, the same response was received that many times, the last time at `detail.lastAt`. If `detail.call` is `missing`, that
   *       many messages could not be stored.
   */
  router.get(
    '/api/v1/orders/:orderNo/timeline',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'order' }, params: OrderParams, returns: z.array(TimelineEntry) },
      ({ params, caller, request }) => operations.timeline(requesterOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/sync:
   *   post:
   *     tags: [Orders]
   *     operationId: syncOrder
   *     summary: Query the channel about an order and its refunds
   */
  router.post(
    '/api/v1/orders/:orderNo/sync',
    endpoint(
      { auth: { admin: 'operator', projectScope: 'order' }, params: OrderParams, returns: Order },
      ({ params, caller, request }) => operations.sync(requesterOf(caller, request), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/close:
   *   post:
   *     tags: [Orders]
   *     operationId: closeOrder
   *     summary: Close an order
   */
  router.post(
    '/api/v1/orders/:orderNo/close',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'order' },
        params: OrderParams,
        returns: Order,
        idempotent: true,
        errors: CLOSE_ERRORS,
      },
      ({ params, caller, request, claim }) => operations.close(requesterOf(caller, request), params.orderNo, claim),
    ),
  );

  /**
   * @openapi
   * /api/v1/orders/{orderNo}/refunds:
   *   post:
   *     tags: [Orders]
   *     operationId: refundOrder
   *     summary: Refund an order
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { refundAmount: 2.5, reason: Returned }
   */
  router.post(
    '/api/v1/orders/:orderNo/refunds',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'order' },
        params: OrderParams,
        body: OrderRefundRequest,
        returns: RefundPlaced,
        status: 201,
        idempotent: true,
        errors: REFUND_BY_ADMIN_ERRORS,
      },
      ({ params, body, caller, request, claim }) =>
        operations.refund(requesterOf(caller, request), { ...body, orderNo: params.orderNo }, claim),
    ),
  );
  return router;
}

const ConsolePayRequest = PlacePaymentRequest.extend({
  project: Code.optional().describe(
    'Code of the project whose console application places the order; by default `default`.',
  ),
}).meta({ id: 'ConsolePayRequest' });

type PaymentPorts = PaymentOperations & { consoleClientId: (project: string) => string };

const anyOrder = {
  prefix: '/api/v1/console/payment',
  place: { admin: 'operator', projectScope: 'body' },
  read: { admin: 'viewer', projectScope: 'order' },
  write: { admin: 'operator', projectScope: 'order' },
  request: ConsolePayRequest,
  refundErrors: REFUND_BY_ADMIN_ERRORS,
} as const;
const own = forApplications('/api/v2/payment', 'payment:read', 'payment:write');
const ownOrder = { ...own, place: own.write, request: PlacePaymentRequest, refundErrors: REFUND_ERRORS };

/**
 * Payment routes for administrators. A new order belongs to the project's `console` application; the other operations
 * act on any order.
 */
export function consolePaymentRoutes(ports: PaymentPorts): RouteGroup {
  return buildRoutes(ports, anyOrder);
}

/** Payments of the calling application: place, query, close, capture, refund, and list orders. */
export function paymentRoutes(ports: PaymentPorts): RouteGroup {
  const router = buildRoutes(ports, ownOrder);

  /**
   * @openapi
   * /api/v2/payment/orders:
   *   get:
   *     tags: [Payments]
   *     operationId: listPayments
   *     summary: List the orders of the application of the token
   *     description: Newest first, without the refunds of the orders.
   */
  router.get(
    '/orders',
    endpoint(
      { auth: ownOrder.read, query: OwnOrdersQuery, returns: OrderEntry, list: true },
      async ({ query: { limit, cursor, ...filter }, caller: { clientId } }) =>
        pageOf(await ports.orders({ ...filter, clientId }, cursor, limit)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/orders/{orderNo}/timeline:
   *   get:
   *     tags: [Payments]
   *     operationId: getOwnTimeline
   *     summary: Get the timeline of an order
   *     description: >-
   *       State changes of the order and its refunds, exceptions, events and webhook deliveries, oldest first. The messages of the
   *       channel are left out.
   *     parameters:
   *       - { name: orderNo, in: path, example: P20300131080000ABCDEFGHJK }
   */
  router.get(
    '/orders/:orderNo/timeline',
    endpoint(
      { auth: ownOrder.read, params: OrderParams, returns: z.array(TimelineEntry) },
      ({ params, caller, request: facts }) => ports.timeline(requesterOf(caller, facts), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/refunds/{refundNo}:
   *   get:
   *     tags: [Payments]
   *     operationId: getRefund
   *     summary: Get a refund
   */
  router.get(
    '/refunds/:refundNo',
    endpoint(
      { auth: ownOrder.read, params: z.object({ refundNo: Id }), returns: Refund },
      ({ params, caller, request: facts }) => ports.readRefund(requesterOf(caller, facts), params.refundNo),
    ),
  );
  return router;
}

function buildRoutes(
  { payAs, readAhead, query, close, captureNow, refund, consoleClientId }: PaymentPorts,
  { prefix, place, read, write, request, refundErrors }: typeof anyOrder | typeof ownOrder,
): RouteGroup {
  const router = routeGroup(prefix);

  /**
   * @openapi
   * /api/v1/console/payment/pay:
   *   post:
   *     tags: [Console payments]
   *     operationId: placeConsolePayment
   *     summary: Place a payment from the console
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { subject: Demonstration, amount: 0.01, payWay: alipay }
   * /api/v2/payment/pay:
   *   post:
   *     tags: [Payments]
   *     operationId: placePayment
   *     summary: Place a payment
   *     description: >-
   *       Creates an order and returns the data that the payer needs for the payment. Send an `Idempotency-Key` or a `merchantOrderNo`.
   *       Then a retry after a 504 (`channel_outcome_unknown`) continues the same order instead of creating a second one.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { subject: Two coffees, amount: 12.5, payWay: alipay, orderType: goods, userId: user-1001, extra: '{"table":7}' }
   *     responses:
   *       201:
   *         content:
   *           application/json:
   *             x-example:
   *               status: pending
   *               refundedAmount: 0
   *               refundableAmount: 0
   *               channelTradeNo: null
   *               paidAt: null
   *               refunds: []
   *               payment: { type: qr, qrCode: 'https://qr.alipay.com/bax00000000000000000', expiresAt: '2030-01-31T10:00:00.000Z' }
   *               payUrl: https://pay.example.com/pay/P20300131080000ABCDEFGHJK
   */
  router.post(
    '/pay',
    endpoint(
      { auth: place, body: request, returns: Order, status: 201, idempotent: true, errors: PAY_ERRORS },
      ({ body, caller, request: facts, claim }) => {
        const { project = 'default', ...payment }: z.output<typeof PlacePaymentRequest> & { project?: string } = body;
        const by = caller.kind === 'app' ? caller : { clientId: consoleClientId(project) };
        return payAs({ ...by, person: requesterOf(caller, facts).person }, payment, claim);
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/query/{orderNo}:
   *   get:
   *     tags: [Console payments]
   *     operationId: queryAnyPayment
   *     summary: Query any order
   * /api/v2/payment/query/{orderNo}:
   *   get:
   *     tags: [Payments]
   *     operationId: queryPayment
   *     summary: Query an order
   *     description: If the last response of the channel is older than 5 seconds, the service queries the channel about an open order.
   */
  router.get(
    '/query/:orderNo',
    endpoint(
      { auth: read, params: OrderParams, returns: Order },
      ({ params, caller, request: facts }, ahead) => query(requesterOf(caller, facts), params.orderNo, ahead),
      (sent: { orderNo: string }) => readAhead(sent.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/close/{orderNo}:
   *   post:
   *     tags: [Console payments]
   *     operationId: closeAnyPayment
   *     summary: Close any order
   * /api/v2/payment/close/{orderNo}:
   *   post:
   *     tags: [Payments]
   *     operationId: closePayment
   *     summary: Close an order
   *     description: >-
   *       Returns the status `closed`, or `closing` until the channel confirms it. Closing an order twice is allowed; a paid order
   *       returns 409. The payer may pay an order of the scene `code` while it is being closed. Then the channel refunds the payment,
   *       and the status is `refunded`.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             x-example:
   *               status: closed
   *               closeReason: merchant
   *               closedAt: '2030-01-31T08:05:00.000Z'
   *               refundedAmount: 0
   *               refundableAmount: 0
   *               channelTradeNo: null
   *               paidAt: null
   *               refunds: []
   */
  router.post(
    '/close/:orderNo',
    endpoint(
      { auth: write, params: OrderParams, returns: Order, idempotent: true, errors: CLOSE_ERRORS },
      ({ params, caller, request: facts, claim }) => close(requesterOf(caller, facts), params.orderNo, claim),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/capture/{orderNo}:
   *   post:
   *     tags: [Console payments]
   *     operationId: captureAnyPayment
   *     summary: Capture any approved order
   * /api/v2/payment/capture/{orderNo}:
   *   post:
   *     tags: [Payments]
   *     operationId: capturePayment
   *     summary: Capture an approved order
   *     description: >-
   *       For PayPal, after the payer has approved the payment on a page of the shop (`onApprove` of PayPal's buttons). The payment is
   *       captured immediately instead of after PayPal's notification. PayPal is queried first, so the call is safe at any time. Returns
   *       the order.
   */
  router.post(
    '/capture/:orderNo',
    endpoint(
      { auth: write, params: OrderParams, returns: Order, errors: CAPTURE_ERRORS },
      ({ params, caller, request: facts }) => captureNow(requesterOf(caller, facts), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/refund:
   *   post:
   *     tags: [Console payments]
   *     operationId: refundAnyPayment
   *     summary: Refund any paid order
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { orderNo: P20300101000000ABCDEFGHJK, refundAmount: 0.01 }
   * /api/v2/payment/refund:
   *   post:
   *     tags: [Payments]
   *     operationId: refundPayment
   *     summary: Refund a paid order, in part or in full
   *     description: >-
   *       Returns 200 with `pending`, `processing` or `succeeded` once the refund is accepted, even if the channel does not respond. The
   *       service completes the refund on its own.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { orderNo: P20300101000000ABCDEFGHJK, refundAmount: 2.5, merchantRefundNo: refund-1, reason: One coffee was cold }
   */
  router.post(
    '/refund',
    endpoint(
      { auth: write, body: RefundRequest, returns: RefundPlaced, idempotent: true, errors: refundErrors },
      ({ body, caller, request: facts, claim }) => refund(requesterOf(caller, facts), body, claim),
    ),
  );
  return router;
}

const { limit: _limit, cursor: _cursor, ...filters } = OrdersQuery.shape;
const ExportQuery = z.object({ ...filters, format: z.enum(EXPORT_FORMATS).default('csv'), bom: Bom });

const FILES = { 'text/csv': 'text', 'application/x-ndjson': 'text' } as const;

/** Exports all matching orders as a streamed file. */
export function orderExportRoutes({ exportOrders }: { exportOrders: ExportOrders }): RouteGroup {
  const router = routeGroup('/api/v1/orders');

  /**
   * @openapi
   * /api/v1/orders/export:
   *   get:
   *     tags: [Orders]
   *     operationId: exportOrders
   *     summary: Export orders as CSV or NDJSON
   *     description: >-
   *       Accepts the same filters as the list. Newest first. The response is streamed and may be large. In CSV, text that a spreadsheet
   *       would interpret as a formula is prefixed with an apostrophe. If the connection breaks, the file is incomplete.
   */
  router.get(
    '/export',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'filter' },
        query: ExportQuery,
        raw: 'stream',
        answers: { 200: FILES },
        errors: FIND_ORDERS_ERRORS,
      },
      async ({ query: { format, bom, ...query }, caller, request }) => {
        const body = await exportOrders(requesterOf(caller, request), orderFilter(query), format);
        return exportReply('orders', { format, bom }, body);
      },
    ),
  );
  return router;
}
