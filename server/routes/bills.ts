import { z } from 'zod';
import { BILL_SOURCES, BILL_STATES, DIFFERENCE_KINDS, DIFFERENCE_STATES, NOT_OURS } from '../domain.ts';
import { StreamedBody } from '../http/uploads.ts';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { BillOperations } from '../payments/bills/read.ts';
import { BILL_LINE_KINDS, MODES } from '../payments/channel.ts';
import { requesterOf } from './schemas/audience.ts';
import { PayWayName } from './schemas/credentials.ts';
import { FETCH_BILL_ERRORS, IMPORT_BILL_ERRORS, RERUN_BILL_ERRORS } from './schemas/errors.ts';
import { Bom, Code, Id, Paging, SafeText, Timestamp, exportReply, pageOf } from './schemas/fields.ts';

const Day = z.iso.date('must be a day such as 2026-11-20');
const Account = z
  .string()
  .min(1)
  .max(128)
  .describe("The channel's number of the payee, or the app id, merchant number or client id in its configuration.");

const BillsQuery = z.object({
  ...Paging,
  payWay: PayWayName.optional(),
  account: Account.optional(),
  mode: z.enum(MODES).optional(),
  state: z.enum(BILL_STATES).optional(),
  project: Code.optional(),
  from: Day.optional().describe('First day of the period.'),
  to: Day.optional().describe('Last day of the period (inclusive).'),
});

const which = {
  payWay: PayWayName,
  day: Day.describe('Day of the bill in the time zone of the channel: Beijing time, for PayPal UTC.'),
  account: Account.optional().describe(
    'Account of the project, if it has several; by default the account that new orders use.',
  ),
  project: Code.optional().describe('Code of the project whose configuration requests the bill; by default `default`.'),
};

const FetchBill = z.object(which).meta({ id: 'FetchBillRequest' });
const ImportQuery = z.object(which);
/** The reason why the unknown order numbers of an account belong to another installation of this service. */
const QuietAccount = z
  .object({ reason: SafeText(1, 500).describe('Reason; it is stored together with your name.') })
  .meta({ id: 'QuietAccountRequest' });

const counted = {
  currency: z.string(),
  payments: z.int(),
  paidMinor: z.int(),
  refunds: z.int(),
  refundedMinor: z.int(),
  feesMinor: z.int().describe('Fees of the channel in minor units.'),
};
const given = {
  discountsMinor: z.int().describe('Merchant discounts on payments, minus the discounts that refunds returned.'),
  sharesMinor: z.int().describe('Amounts passed on to profit-sharing receivers.'),
};

const Totals = z.object({
  currency: z.string(),
  payments: z.int().nullable(),
  paidMinor: z.int().nullable(),
  refunds: z.int().nullable(),
  refundedMinor: z.int().nullable(),
  feesMinor: z.int().nullable().describe('Fees of the channel in minor units.'),
  netMinor: z.int().nullable().describe('Net amount that the channel settles, in minor units.'),
  openingMinor: z
    .int()
    .nullable()
    .describe(
      'Balance of the account before the day, in minor units; null = the channel does not report it (only PayPal does).',
    ),
  closingMinor: z
    .int()
    .nullable()
    .describe('Balance of the account at the end of the day, in minor units; null = the channel does not report it.'),
});

const Sums = z.object({
  ...counted,
  ...given,
  project: z
    .string()
    .nullable()
    .describe('Code of the project; null for payments of other systems that use the same account.'),
  disputedMinor: z.int().describe('Amount that was lost to disputes, in minor units.'),
  otherMinor: z.int().describe('Other movements of the account; negative for losses.'),
  pendingRefunds: z
    .int()
    .describe(
      'Refunds that were in progress when the bill was created. These totals do not include them; the settlement report tracks them.',
    ),
});

const Bill = z
  .object({
    billNo: z.string(),
    payWay: PayWayName,
    account: z
      .string()
      .describe(
        'The payee: the merchant ID (PID) at Alipay, the merchant number at WeChat Pay (`PARTNER/MERCHANT` for a merchant of a partner), the account number at PayPal. Until the channel has confirmed the payee, it is the provisional name `CONFIGURED@PROJECT/VERSION`.',
      ),
    mode: z.enum(MODES),
    project: z.string().describe('Code of the project whose configuration is the first to request the bill.'),
    day: z.iso.date(),
    state: z
      .enum(BILL_STATES)
      .describe(
        '`waiting`: not downloaded yet. `reading`, `matching`: in progress. `done`: compared with the orders. `refused`: the file was not the requested bill. `missing`: the channel provides no bill.',
      ),
    source: z.enum(BILL_SOURCES).nullable(),
    lines: z.int(),
    mostLines: z
      .int()
      .describe(
        'Highest number of lines in any reading of the bill. If it is above `lines`, the newest file has fewer lines than an earlier one.',
      ),
    unreadable: z
      .int()
      .describe(
        'Number of lines that could not be read. Each is listed as `line_unreadable`, and no total includes it.',
      ),
    shortfall: z
      .string()
      .nullable()
      .describe(
        "Differences between the bill's own totals and the totals of its readable lines, as text; null = none known.",
      ),
    notOurs: z.int().describe('Number of payments and refunds of other systems that use the same account.'),
    bytes: z.int().nullable(),
    sha256: z.string().nullable(),
    totals: z.array(Totals).nullable().describe("The bill's own summary; null if it has none."),
    sums: z.array(Sums).nullable().describe('Totals of the lines of the bill.'),
    fault: z
      .object({ code: z.string(), detail: z.string(), line: z.int().nullable(), column: z.int().nullable() })
      .nullable(),
    checks: z.int().describe('Number of requests to the channel without a result.'),
    nextCheckAt: Timestamp.nullable(),
    createdAt: Timestamp,
    askedAt: Timestamp.nullable(),
    readAt: Timestamp.nullable(),
    matchedAt: Timestamp.nullable(),
    quiet: z
      .object({
        since: Timestamp.describe('When the setting was made.'),
        by: z.string().describe('Name of the administrator.'),
        reason: z.string().describe('The reason that the administrator gave.'),
      })
      .nullable()
      .describe(
        'If set, order numbers in the format of this service that are unknown here are attributed to another installation that uses the same account. null = they are reported as `order_unknown_here`.',
      ),
    differences: z.array(
      z.object({ kind: z.enum(DIFFERENCE_KINDS), state: z.enum(DIFFERENCE_STATES), count: z.int() }),
    ),
  })
  .meta({ id: 'Bill' });

const KINDS = [...DIFFERENCE_KINDS, NOT_OURS] as const;

const DifferencesQuery = z.object({
  ...Paging,
  kind: z
    .enum(KINDS)
    .optional()
    .describe('Returns only differences of this kind. `order_not_ours` lists the lines of other systems.'),
  state: z.enum(DIFFERENCE_STATES).optional(),
});

const Side = z
  .object({
    state: z.string().optional(),
    amountMinor: z.int().optional(),
    currency: z.string().optional(),
    feeMinor: z.int().optional(),
    channelNo: z.string().optional(),
    at: Timestamp.optional(),
    line: z.int().optional(),
    reason: z.string().optional(),
  })
  .nullable();

const Difference = z
  .object({
    id: z.string().nullable(),
    billNo: z.string(),
    payWay: PayWayName,
    project: z.string(),
    day: z.iso.date(),
    kind: z.enum(KINDS),
    orderNo: z.string(),
    refundNo: z.string().nullable(),
    ours: Side.describe('Values of this service.'),
    theirs: Side.describe('Values of the bill.'),
    state: z
      .enum([...DIFFERENCE_STATES, 'counted'])
      .describe(
        '`open`: the channel is being queried. `healed`: bill and order agree now. `listed`: an exception is open for it. `ended`: an administrator resolved it. `counted`: the line belongs to another system.',
      ),
    checks: z.int(),
    exceptionId: z.string().nullable(),
    fix: z.string().nullable().describe('`payctl` command that resolves the difference; null = there is none.'),
    nextCheckAt: Timestamp.nullable(),
    createdAt: Timestamp,
    finishedAt: Timestamp.nullable(),
  })
  .meta({ id: 'BillDifference' });

const LinesQuery = z.object({
  format: z.enum(['csv', 'ndjson']).default('csv'),
  kind: z.enum(BILL_LINE_KINDS).optional(),
  bom: Bom,
});

const SettlementQuery = z.object({
  from: Day.optional().describe('First day; by default 29 days before `to`.'),
  to: Day.optional().describe('Last day (inclusive); by default yesterday.'),
  mode: z.enum(MODES).default('live').describe('Mode whose figures are returned.'),
  payWay: PayWayName.optional(),
  account: Account.optional(),
  project: Code.optional(),
});

const settled = {
  currency: z.string(),
  payments: z.int(),
  grossMinor: z.int(),
  refunds: z.int(),
  refundsMinor: z.int(),
  feesMinor: z.int(),
  ...given,
  disputesMinor: z.int(),
  otherMinor: z.int(),
  netMinor: z.int().describe('Gross − refunds − discounts − fees − shares − disputes + other.'),
};
const ofBill = { day: z.iso.date(), payWay: PayWayName, account: z.string(), mode: z.enum(MODES) };

const SettlementReport = z
  .object({
    days: z.array(z.object({ ...ofBill, billNo: z.string(), project: z.string().nullable(), ...settled })),
    totals: z.array(z.object(settled)),
    missing: z
      .array(
        z.object({
          ...ofBill,
          project: z.string(),
          billNo: z.string().nullable(),
          state: z.enum(BILL_STATES).nullable(),
        }),
      )
      .describe(
        'Days whose bill is due but was not read; `project` is a project whose credentials can request the bill.',
      ),
    shrunk: z
      .array(z.object({ ...ofBill, billNo: z.string(), lines: z.int(), mostLines: z.int() }))
      .describe('Bills that have fewer lines than an earlier reading of the same day had.'),
    unreadable: z
      .array(z.object({ ...ofBill, billNo: z.string(), lines: z.int(), shortfall: z.string().nullable() }))
      .describe('Bills with lines that could not be read; the sums of their days lack these lines.'),
    pendingRefunds: z
      .array(
        z.object({
          ...ofBill,
          billNo: z.string(),
          project: z.string().nullable(),
          currency: z.string(),
          end: z
            .enum(['open', 'failed'])
            .describe(
              '`open`: the result is not known yet; the report counts the refund. `failed`: the report does not count the refund, although the bill does.',
            ),
          refunds: z.int(),
          amountMinor: z.int(),
        }),
      )
      .describe(
        'Refunds that a bill lists as in progress and that no later bill contains. Succeeded refunds are omitted.',
      ),
    disagreements: z
      .array(
        z.object({
          ...ofBill,
          billNo: z.string(),
          currency: z.string(),
          what: z.enum(['payments', 'paid', 'refunds', 'refunded', 'fees', 'net']),
          bill: z.int(),
          lines: z.int(),
        }),
      )
      .describe("Figures for which the lines of a bill deviate from the bill's own summary, in minor units."),
    balances: z
      .array(
        z.object({
          payWay: PayWayName,
          account: z.string(),
          mode: z.enum(MODES),
          from: z.iso.date(),
          to: z.iso.date(),
          currency: z.string(),
          balance: z.int().describe('Change of the balance of the account.'),
          lines: z.int().describe('Net total of the lines of the bills.'),
        }),
      )
      .describe(
        'Accounts whose balance changed by a different amount than the bill lines of these days show (PayPal only), in minor units.',
      ),
    unchecked: z
      .array(z.object({ ...ofBill, billNo: z.string() }))
      .describe(
        'Bills whose lines are not compared with a balance: the balance is unavailable, rows could not be read, or the lines are not summed yet (PayPal).',
      ),
  })
  .meta({ id: 'Settlement' });

const BillParams = z.object({ billNo: Id });
const FILES = { 'text/csv': 'text', 'application/x-ndjson': 'text' } as const;

/** Bills of channels: fetch or import them, list their differences from the orders, and report settlements. */
export function billRoutes(operations: BillOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /api/v1/bills:
   *   get:
   *     tags: [Bills]
   *     operationId: listBills
   *     summary: List the bills of the channels
   *     description: One bill for each account and day, the newest day first.
   */
  router.get(
    '/api/v1/bills',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: BillsQuery, returns: Bill, list: true },
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
   *     summary: Request the bill of a day from a channel
   *     description: The response does not wait for the bill. Get the bill repeatedly until its state is `done`, `refused` or `missing`.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { payWay: wechat, day: 2026-11-20 }
   */
  router.post(
    '/api/v1/bills',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'account' },
        body: FetchBill,
        returns: Bill,
        errors: FETCH_BILL_ERRORS,
      },
      ({ body, caller, request }) => operations.requestBill(requesterOf(caller, request), named(body)),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/import:
   *   post:
   *     tags: [Bills]
   *     operationId: importBill
   *     summary: Import a bill that was downloaded from a channel
   *     description: >-
   *       The body is the unchanged file: zip, gzip, CSV or JSON. A file that is not the bill of that account and day is rejected
   *       completely; the error contains line and column. A bill that was read earlier stays valid. Importing the same file again
   *       changes nothing.
   */
  router.post(
    '/api/v1/bills/import',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'account' },
        query: ImportQuery,
        accepts: ['stream'],
        body: StreamedBody,
        returns: Bill,
        errors: IMPORT_BILL_ERRORS,
      },
      ({ query, body, caller, request }) => operations.importBill(requesterOf(caller, request), named(query), body),
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
    endpoint({ auth: { admin: 'viewer', projectScope: 'bill' }, params: BillParams, returns: Bill }, ({ params }) =>
      operations.bill(params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/differences:
   *   get:
   *     tags: [Bills]
   *     operationId: listBillDifferences
   *     summary: List the differences between a bill and the orders
   *     description: Newest first, with the values of both sides. Lines of other systems are listed only with `kind=order_not_ours`.
   */
  router.get(
    '/api/v1/bills/:billNo/differences',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'bill' },
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
   *     description: >-
   *       The response is streamed and may be large. In CSV, text that a spreadsheet would interpret as a formula is prefixed with an
   *       apostrophe. If the connection breaks, the file is incomplete. Lines are removed after `Retention.BillLineDays`; `raw` is empty
   *       after the payer was deleted.
   */
  router.get(
    '/api/v1/bills/:billNo/lines',
    endpoint(
      {
        auth: { admin: 'viewer', projectScope: 'bill' },
        params: BillParams,
        query: LinesQuery,
        raw: 'stream',
        answers: { 200: FILES },
      },
      async ({ params: { billNo }, query: { bom, ...query }, caller, request }) => {
        const body = await operations.exportLines(requesterOf(caller, request), billNo, query);
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
   *     summary: Compare a bill with the orders again
   */
  router.post(
    '/api/v1/bills/:billNo/rerun',
    endpoint(
      {
        auth: { admin: 'operator', projectScope: 'bill' },
        params: BillParams,
        returns: Bill,
        errors: RERUN_BILL_ERRORS,
      },
      ({ params, caller, request }) => operations.rerunBill(requesterOf(caller, request), params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/bills/{billNo}/quiet:
   *   post:
   *     tags: [Bills]
   *     operationId: quietAccount
   *     summary: Attribute unknown order numbers at the account of a bill to another installation
   *     description: >-
   *       For an account that another installation of this service uses, too. The `order_unknown_here` differences of the account are
   *       ended. From then on, lines with such numbers are `order_not_ours`, so the service no longer detects orders that were lost with
   *       the database.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { reason: The staging system takes payments at this account }
   *   delete:
   *     tags: [Bills]
   *     operationId: unquietAccount
   *     summary: Report unknown order numbers at the account of a bill again
   *     description: The bills of the last five weeks are compared again.
   */
  router.post(
    '/api/v1/bills/:billNo/quiet',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'bill' }, params: BillParams, body: QuietAccount, returns: Bill },
      ({ params, body, caller, request }) =>
        operations.quietAccount(requesterOf(caller, request), params.billNo, body.reason),
    ),
  );
  router.delete(
    '/api/v1/bills/:billNo/quiet',
    endpoint(
      { auth: { admin: 'admin', projectScope: 'bill' }, params: BillParams, returns: Bill },
      ({ params, caller, request }) => operations.unquietAccount(requesterOf(caller, request), params.billNo),
    ),
  );

  /**
   * @openapi
   * /api/v1/stats/settlement:
   *   get:
   *     tags: [Bills]
   *     operationId: getSettlement
   *     summary: Get the settlement report, based on the bills of the channels
   *     description: >-
   *       Gross, refunds, discounts, fees, shares, disputes and net of each day, account, project and currency. The figures of all
   *       projects of a bill together must equal the bill's own summary. The report lists deviations, and days without a bill.
   */
  router.get(
    '/api/v1/stats/settlement',
    endpoint(
      { auth: { admin: 'viewer', projectScope: 'filter' }, query: SettlementQuery, returns: SettlementReport },
      ({ query }) => operations.settlement(query),
    ),
  );
  return router;
}

function named<Of extends { project?: string | undefined }>(of: Of): Of & { project: string } {
  return { ...of, project: of.project ?? 'default' };
}
