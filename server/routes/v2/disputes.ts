import { endpoint } from '../../http/endpoint.ts';
import type { PaymentOperations } from '../../payments/operations.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { askerOf, forApplications } from '../wire/audience.ts';
import { Dispute, DisputeParams, OwnDisputesQuery } from '../wire/disputes.ts';
import { pageOf } from '../wire/order-page.ts';

const own = forApplications('/api/v2/payment/disputes', 'payment:read');

/** Disputes about the orders of the calling app. */
export function ownDisputeRoutes(operations: PaymentOperations): RouteGroup {
  const router = routeGroup(own.prefix);

  /**
   * @openapi
   * /api/v2/payment/disputes:
   *   get:
   *     tags: [Payments]
   *     operationId: listOwnDisputes
   *     summary: List own disputes
   *     description: Newest first. Administrators answer and accept them.
   */
  router.get(
    '/',
    endpoint(
      { auth: own.read, query: OwnDisputesQuery, returns: Dispute, list: true },
      async ({ query: { limit, cursor, ...filter }, caller: { clientId } }) =>
        pageOf(await operations.disputes({ ...filter, clientId }, cursor, limit)),
    ),
  );

  /**
   * @openapi
   * /api/v2/payment/disputes/{disputeNo}:
   *   get:
   *     tags: [Payments]
   *     operationId: getOwnDispute
   *     summary: Get a dispute
   */
  router.get(
    '/:disputeNo',
    endpoint({ auth: own.read, params: DisputeParams, returns: Dispute }, ({ params, caller, request }) =>
      operations.readDispute(askerOf(caller, request), params.disputeNo),
    ),
  );
  return router;
}
