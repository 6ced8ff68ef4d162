import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../index.ts';
import { claimOf } from '../wire/claim.ts';
import { consoleAsker } from '../wire/console-asker.ts';
import { Code, Id } from '../wire/fields.ts';
import { Order, PlacePaymentRequest, RefundPlaced, RefundRequest } from '../wire/orders.ts';

const OrderParams = z.object({ orderNo: Id });
const ConsolePayRequest = PlacePaymentRequest.extend({
  project: Code.default('default').describe('Whose console app places the order.'),
}).meta({ id: 'ConsolePayRequest' });

/** The console's twins of the merchant's payment operations: pay uses the project's `console` app, the others act on any order. */
export function consolePaymentRoutes(
  operations: PaymentOperations & { consoleClientId: (project: string) => string },
): RouteGroup {
  const router = routeGroup('/api/v1/console/payment');

  /**
   * @openapi
   * /api/v1/console/payment/pay:
   *   post:
   *     tags: [Console payments]
   *     summary: Place a payment as the console
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { subject: Demonstration, amount: 0.01, payWay: alipay }
   */
  router.post(
    '/pay',
    endpoint(
      {
        auth: { admin: 'admin' },
        body: ConsolePayRequest,
        returns: Order,
        status: 201,
        idempotent: true,
        errors: [
          'amount_invalid',
          'channel_disabled',
          'channel_not_configured',
          'channel_refused',
          'channel_outcome_unknown',
        ],
      },
      ({ body: { project, ...request }, idempotent }) =>
        operations.payAs(operations.consoleClientId(project), request, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/query/{orderNo}:
   *   get:
   *     tags: [Console payments]
   *     summary: Query any order
   */
  router.get(
    '/query/:orderNo',
    endpoint({ auth: { admin: 'viewer' }, params: OrderParams, returns: Order }, ({ params, caller }) =>
      operations.query(consoleAsker(caller), params.orderNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/close/{orderNo}:
   *   post:
   *     tags: [Console payments]
   *     summary: Close any order
   */
  router.post(
    '/close/:orderNo',
    endpoint(
      {
        auth: { admin: 'admin' },
        params: OrderParams,
        returns: Order,
        idempotent: true,
        errors: ['order_already_paid'],
      },
      ({ params, caller, idempotent }) => operations.close(consoleAsker(caller), params.orderNo, claimOf(idempotent)),
    ),
  );

  /**
   * @openapi
   * /api/v1/console/payment/refund:
   *   post:
   *     tags: [Console payments]
   *     summary: Refund any paid order
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { orderNo: P20300101000000ABCDEFGHJK, refundAmount: 0.01 }
   */
  router.post(
    '/refund',
    endpoint(
      {
        auth: { admin: 'admin' },
        body: RefundRequest,
        returns: RefundPlaced,
        idempotent: true,
        errors: ['order_not_paid', 'refund_exceeds_refundable', 'refund_in_progress', 'refunds_blocked'],
      },
      ({ body, caller, idempotent }) => operations.refund(consoleAsker(caller), body, claimOf(idempotent)),
    ),
  );
  return router;
}
