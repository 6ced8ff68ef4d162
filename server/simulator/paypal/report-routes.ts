import { z } from 'zod';
import type { Answer } from '../exchange.ts';
import type { Core } from '../half.ts';
import { daysIn, monthsBefore, spanOfDay } from '../bills/days.ts';
import type { BillRow } from '../bills/row.ts';
import { PaypalRefusal, refuse } from './refusals.ts';
import { json, type AddRoute, type Request } from './route.ts';
import { apiUrlOf } from './scenery.ts';
import { presentRow, reportTime, windowOf } from './transactions.ts';

/** The longest window, the most results of one, and how far back there are any (reporting_transactions_v1 and its list of errors). */
const MOST_MS = 31 * 86_400_000;
const MOST_RESULTS = 10_000;
const BACK_MONTHS = 36;
/** How long a transaction may take until it is listed (same description: at most three hours). */
const LAG_MS = 3 * 3_600_000;
const PATH = '/v1/reporting/transactions';

/** The description wants an offset with a colon or Z; the samples beside it have none in theirs. */
const Time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)$/)
  .transform((text) => Date.parse(text.toUpperCase().replace(/([+-]\d\d)(\d\d)$/, '$1:$2')))
  .refine((at) => !Number.isNaN(at));
const whole = (most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(most));
const Query = z.object({
  start_date: Time,
  end_date: Time,
  fields: z.string().default('transaction_info'),
  page_size: whole(500).default(100),
  page: whole(2_147_483_647).default(1),
  transaction_id: z.string().min(17).max(19).optional(),
  balance_affecting_records_only: z.enum(['Y', 'N']).default('Y'),
});
type Query = z.output<typeof Query>;

/** Adds Transaction Search v1: what happened on the account of the caller. */
export function addReports(add: AddRoute, core: Core): void {
  add('get', PATH, { call: 'bill', act: (request) => list(core, request) });
}

function list(core: Core, request: Request): Answer {
  const { account } = request;
  const query = readQuery(request);
  const now = core.clock.now();
  const asked = { from: wholeSecond(query.start_date), to: wholeSecond(query.end_date) + 1000 };
  if (asked.to <= asked.from) throw badQuery('end_date', 'Start date is after end date.');
  if (query.end_date - query.start_date > MOST_MS) throw badQuery('end_date', 'Date range is greater than 31 days.');
  const { merchantId } = account.secrets;
  // The report is about the PayPal account, whichever of its REST apps asks.
  const beside = core.accounts.of('paypal').filter(({ secrets }) => secrets['merchantId'] === merchantId);
  const scope = { account: account.name, beside: beside.map(({ name }) => name) };
  const content = core.bills.contentOf({ payWay: 'paypal', ...scope, ...asked });
  const refreshedAt = refreshedTill(core, content.has, asked, now);
  if (asked.from < monthsBefore('paypal', now, BACK_MONTHS) || asked.from > refreshedAt)
    throw badQuery('start_date', 'Data for the given start date is not available.');
  const shown = { ...asked, to: Math.min(asked.to, wholeSecond(refreshedAt) + 1000) };
  const isAll = query.balance_affecting_records_only === 'N';
  const rows = content.rows.filter(
    (row) => row.at < shown.to && (query.transaction_id ?? row.number) === row.number && (isAll || affectsBalance(row)),
  );
  const fillers = query.transaction_id === undefined ? content.fillers : [];
  const window = windowOf({ rows, fillers }, shown);
  if (window.total > MOST_RESULTS) throw tooMany(window.total);
  const pages = Math.ceil(window.total / query.page_size);
  const body = {
    transaction_details: window.page(query.page, query.page_size).map((row) => presentRow(row, content)),
    account_number: content.has('foreign-account') ? 'SIMOTHER00009' : merchantId,
    start_date: reportTime(asked.from),
    end_date: reportTime(Math.min(query.end_date, refreshedAt)),
    last_refreshed_datetime: reportTime(refreshedAt),
    page: query.page,
    total_items: window.total,
    total_pages: pages,
    links: linksOf(core, request, query.page, pages),
  };
  return spoilt(json(200, body), content.has);
}

/**
 * Without `balance_affecting_records_only=N` there are only transactions that change the balance (same description), which a payment that is
 * pending or was denied does not. When it is completed it is listed with the time at which it began, `transaction_initiation_date`.
 */
function affectsBalance({ kind, state }: BillRow): boolean {
  return kind !== 'payment' || state === 'done';
}

/** Until when there are data: all of them at once, three hours late, or none of the days that are late. */
function refreshedTill(
  core: Core,
  has: (name: 'late' | 'real-hours') => boolean,
  asked: { from: number; to: number },
  now: number,
): number {
  const till = has('real-hours') ? now - LAG_MS : now;
  if (!has('late')) return till;
  const late = daysIn('paypal', asked).find((day) => core.bills.conditions.has('paypal', 'late', [day])) ?? '';
  return Math.min(till, (spanOfDay('paypal', late)?.from ?? asked.from) - 1000);
}

function readQuery({ query }: Request): Query {
  const read = Query.safeParse(query);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw badQuery(String(issue?.path[0] ?? ''), 'The value of a field does not conform to the expected format.');
}

/** One issue about a parameter; its words are those that integrators report, as far as they do. */
function badQuery(field: string, issue: string): PaypalRefusal {
  const { status, body } = refuse(400, issue, issue, field);
  return new PaypalRefusal(status, body);
}

/** Name, words and the two numbers: `error_default` of PayPal's client libraries for Transaction Search. */
function tooMany(total: number): PaypalRefusal {
  const { body } = refuse(400, 'RESULTSET_TOO_LARGE', 'Change the filter criteria and try again.');
  return new PaypalRefusal(400, {
    ...body,
    name: 'RESULTSET_TOO_LARGE',
    message: 'Result set size is greater than the maximum limit. Change the filter criteria and try again.',
    total_items: total,
    maximum_items: MOST_RESULTS,
  });
}

function linksOf(core: Core, { query }: Request, page: number, pages: number): object[] {
  const link = (rel: string, number: number) => {
    const texts = Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const search = new URLSearchParams(texts);
    search.set('page', String(number));
    return { href: `${apiUrlOf(core)}${PATH}?${search}`, rel, method: 'GET' };
  };
  const next = page < pages ? [link('next', page + 1), link('last', pages)] : [];
  const previous = page > 1 ? [link('first', 1), link('prev', page - 1)] : [];
  return [link('self', page), ...previous, ...next];
}

/** A body that ends in its middle, or is in UTF-16, whatever its header says. */
function spoilt(answer: Answer, has: (name: 'cut' | 'wrong-charset') => boolean): Answer {
  if (has('cut')) return { ...answer, body: answer.body.slice(0, answer.body.length >> 1) };
  return has('wrong-charset') ? { ...answer, encode: (text) => Buffer.from(text, 'utf16le') } : answer;
}

function wholeSecond(at: number): number {
  return Math.floor(at / 1000) * 1000;
}
