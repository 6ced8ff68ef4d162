import { z } from 'zod';
import { endpoint } from '../../http/endpoint.ts';
import { EXPORT_FORMATS, type ExportOrders } from '../../payments/export.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { askerOf } from '../wire/audience.ts';
import { Bom, exportReply } from '../wire/export.ts';
import { FIND_ORDERS_ERRORS } from '../wire/errors.ts';
import { orderFilter, OrdersQuery } from '../wire/order-filters.ts';

const { limit: _limit, cursor: _cursor, ...filters } = OrdersQuery.shape;
const ExportQuery = z.object({ ...filters, format: z.enum(EXPORT_FORMATS).default('csv'), bom: Bom });

const FILES = { 'text/csv': 'text', 'application/x-ndjson': 'text' } as const;

/** All orders that match, as a file that is streamed. */
export function orderExportRoutes({ exportOrders }: { exportOrders: ExportOrders }): RouteGroup {
  const router = routeGroup('/api/v1/orders');

  /**
   * @openapi
   * /api/v1/orders/export:
   *   get:
   *     tags: [Orders]
   *     operationId: exportOrders
   *     summary: Export orders as CSV or NDJSON
   *     description: >
   *       Takes the filters of the list; newest first; streamed, so it may be long. In CSV, text that a spreadsheet would interpret
   *       as a formula is prefixed with an apostrophe. An interrupted export is incomplete.
   */
  router.get(
    '/export',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'filter' },
        query: ExportQuery,
        raw: 'stream',
        answers: { 200: FILES },
        errors: FIND_ORDERS_ERRORS,
      },
      async ({ query: { format, bom, ...query }, caller, request }) => {
        const body = await exportOrders(askerOf(caller, request), orderFilter(query), format);
        return exportReply('orders', { format, bom }, body);
      },
    ),
  );
  return router;
}
