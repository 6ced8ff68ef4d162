import { z } from 'zod';
import { StreamedBody } from '../../http/body-stream.ts';
import { endpoint } from '../../http/endpoint.ts';
import type { BillOperations } from '../../payments/bills/read.ts';
import { type RouteGroup, routeGroup } from '../../http/router.ts';
import { askerOf } from '../wire/audience.ts';
import { exportReply } from '../wire/export.ts';
import {
  Bill,
  BillsQuery,
  Difference,
  DifferencesQuery,
  FetchBill,
  ImportQuery,
  LinesQuery,
  QuietAccount,
  SettlementQuery,
  SettlementReport,
} from '../wire/bills.ts';
import { FETCH_BILL_ERRORS, IMPORT_BILL_ERRORS, RERUN_BILL_ERRORS } from '../wire/errors.ts';
import { Id } from '../wire/fields.ts';
import { pageOf } from '../wire/order-page.ts';

const BillParams = z.object({ billNo: Id });
const FILES = { 'text/csv': 'text', 'application/x-ndjson': 'text' } as const;

/** Bills of channels: have them asked for or bring them, see where they and the orders differ, and what they settle. */
export function billRoutes(operations: BillOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/bills:
   *   get:
   *     tags: [Bills]
   *     operationId: listBills
   *     summary: List the bills of the channels
   *     description: One for each account and day; the newest day first.
   */
  router.get(
    '/api/v1/bills',
    endpoint(
      { auth: { admin: 'viewer', reach: 'filter' }, query: BillsQuery, returns: Bill, list: true },
      async ({ query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.bills(filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/bills:
   *   post:
   *     tags: [Bills]
   *     operationId: fetchBill
   *     summary: Ask a channel for the bill of a day
   *     description: The answer comes before the bill does; get it until its state is `done`, `refused` or `missing`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat, day: 2026-11-20 }
   */
  router.post(
    '/api/v1/bills',
    endpoint(
      { auth: { admin: 'operator', reach: 'account' }, body: FetchBill, returns: Bill, errors: FETCH_BILL_ERRORS },
      ({ body, caller, request }) => operations.askForBill(askerOf(caller, request), named(body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/import:
   *   post:
   *     tags: [Bills]
   *     operationId: importBill
   *     summary: Import a bill that was downloaded from a channel
   *     description: >
   *       The body is the file as it is: zip, gzip, CSV or JSON. A file that is not the bill of that account and day is refused whole, with line and
   *       column; what was read before goes on to count. The same file again changes nothing.
   */
  router.post(
    '/api/v1/bills/import',
    endpoint(
      {
        auth: { admin: 'operator', reach: 'account' },
        query: ImportQuery,
        accepts: ['stream'],
        body: StreamedBody,
        returns: Bill,
        errors: IMPORT_BILL_ERRORS,
      },
      ({ query, body, caller, request }) => operations.importBill(askerOf(caller, request), named(query), body),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}:
   *   get:
   *     tags: [Bills]
   *     operationId: getBill
   *     summary: Get a bill
   */
  router.get(
    '/api/v1/bills/:billNo',
    endpoint({ auth: { admin: 'viewer', reach: 'bill' }, params: BillParams, returns: Bill }, ({ params }) =>
      operations.bill(params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/differences:
   *   get:
   *     tags: [Bills]
   *     operationId: listBillDifferences
   *     summary: List where a bill and the orders differ
   *     description: With both sides, the newest first. Lines of other systems are listed with `kind=order_not_ours` only.
   */
  router.get(
    '/api/v1/bills/:billNo/differences',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'bill' },
        params: BillParams,
        query: DifferencesQuery,
        returns: Difference,
        list: true,
      },
      async ({ params, query }) => {
        const { limit, cursor, ...filter } = query;
        return pageOf(await operations.differences(params.billNo, filter, cursor, limit));
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/lines:
   *   get:
   *     tags: [Bills]
   *     operationId: exportBillLines
   *     summary: Export the lines of a bill as CSV or NDJSON
   *     description: >
   *       Streamed, so it may be long. In CSV, text that a spreadsheet would interpret as a formula is prefixed with an apostrophe. An interrupted
   *       export is incomplete. Lines are removed after `Retention.BillLineDays`; `raw` is empty once the payer was deleted.
   */
  router.get(
    '/api/v1/bills/:billNo/lines',
    endpoint(
      {
        auth: { admin: 'viewer', reach: 'bill' },
        params: BillParams,
        query: LinesQuery,
        raw: 'stream',
        answers: { 200: FILES },
      },
      async ({ params: { billNo }, query: { bom, ...query }, caller, request }) => {
        const body = await operations.exportLines(askerOf(caller, request), billNo, query);
        return exportReply(billNo, { ...query, bom }, body);
      },
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/rerun:
   *   post:
   *     tags: [Bills]
   *     operationId: compareBillAgain
   *     summary: Compare a bill with the orders once more
   */
  router.post(
    '/api/v1/bills/:billNo/rerun',
    endpoint(
      { auth: { admin: 'operator', reach: 'bill' }, params: BillParams, returns: Bill, errors: RERUN_BILL_ERRORS },
      ({ params, caller, request }) => operations.rerunBill(askerOf(caller, request), params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/quiet:
   *   post:
   *     tags: [Bills]
   *     operationId: quietAccount
   *     summary: Treat unknown numbers at the account of a bill as another installation's
   *     description: >
   *       For an account that another installation of this service uses, too. What is listed as `order_unknown_here` in bills of the account ends, and lines
   *       with such numbers are `order_not_ours` from then on: an order that was lost with the database is not found by them any more.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { reason: The staging system takes payments at this account }
   *   delete:
   *     tags: [Bills]
   *     operationId: unquietAccount
   *     summary: Report unknown numbers at the account of a bill again
   *     description: The bills of the last five weeks are compared again.
   */
  router.post(
    '/api/v1/bills/:billNo/quiet',
    endpoint(
      { auth: { admin: 'admin', reach: 'bill' }, params: BillParams, body: QuietAccount, returns: Bill },
      ({ params, body, caller, request }) =>
        operations.quietAccount(askerOf(caller, request), params.billNo, body.reason),
    ),
  );
  router.delete(
    '/api/v1/bills/:billNo/quiet',
    endpoint(
      { auth: { admin: 'admin', reach: 'bill' }, params: BillParams, returns: Bill },
      ({ params, caller, request }) => operations.unquietAccount(askerOf(caller, request), params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/stats/settlement:
   *   get:
   *     tags: [Bills]
   *     operationId: getSettlement
   *     summary: Get what the channels settle, by their bills
   *     description: >
   *       Gross, refunds, discounts, fees, shares, disputes and net of each day, account, project and currency. All projects of a bill together come to the bill's own
   *       summary; where they do not, the difference is named, and so are days without a bill.
   */
  router.get(
    '/api/v1/stats/settlement',
    endpoint(
      { auth: { admin: 'viewer', reach: 'filter' }, query: SettlementQuery, returns: SettlementReport },
      ({ query }) => operations.settlement(query),
    ),
  );
  return router;
}

function named<Of extends { project?: string | undefined }>(of: Of): Of & { project: string } {
  return { ...of, project: of.project ?? 'default' };
}
