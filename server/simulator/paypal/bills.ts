/** Serves PayPal's Transaction Search: the transactions of a time window, and the balances at a point in time. */
import { z } from 'zod';
import { PAYPAL_BILL_RULES } from './bill-rules.ts';
import type { BillContent } from '../bills/book.ts';
import { FORMULA, UNREADABLE } from '../bills/files.ts';
import {
  type BillRow,
  type Filler,
  type Span,
  dayOf,
  daysIn,
  fillerRow,
  firstOfFiller,
  ledgerRows,
  monthsBefore,
  spanOfDay,
} from '../bills/rows.ts';
import type { Answer } from '../exchange.ts';
import type { Core } from '../channel-simulator.ts';
import { majorOf } from '../trade.ts';
import { PaypalRefusal, apiUrlOf, refuse } from './answers.ts';
import { type AddRoute, type Request, json } from './requests.ts';

/** The codes are from PayPal's page "Transaction event codes". Money taken for any dispute counts as a chargeback. */
const EVENT_CODES = {
  payment: 'T0006',
  refund: 'T1107',
  dispute: 'T1201',
  'dispute-back': 'T1202',
  returned: 'T1106',
  hold: 'T1110',
  release: 'T1111',
  withdrawal: 'T0400',
} as const;
const STATUSES = { done: 'S', 'under-way': 'P', failed: 'D' } as const;

const GAINS: ReadonlySet<BillRow['kind']> = new Set(['payment', 'dispute-back', 'returned', 'release']);

/** Returns the amount of a row with its sign; positive = a credit. */
export function signed({ kind, minor }: BillRow): number {
  return GAINS.has(kind) ? minor : -minor;
}

/** `page` creates only the transactions of one page, because a window can contain very many. */
interface Window {
  total: number;
  page(number: number, size: number): BillRow[];
}

/**
 * Returns the transactions that began within a time window. The simulator's own transactions come first; then come the
 * fillers (payments that the simulator invents as if another system had made them). At PayPal, the first and the last second belong to the window.
 */
function windowOf({ rows, fillers }: Pick<BillContent, 'rows' | 'fillers'>, { from, to }: Span): Window {
  const parts = fillers.map((filler) => partOf(filler, from, to));
  const total = parts.reduce((sum, { count }) => sum + count, rows.length);
  return {
    total,
    page(number, size) {
      const first = (number - 1) * size;
      const last = Math.min(total, first + size);
      return Array.from({ length: Math.max(0, last - first) }, (_, index) => rowAt(rows, parts, first + index));
    },
  };
}

/** Describes a row as an element of `transaction_details` (PayPal's OpenAPI description reporting_transactions_v1). */
function presentRow(row: BillRow, { has }: BillContent): object {
  const { kind, number, tradeNo, fee, trade } = row;
  const isPayment = kind === 'payment';
  const reference = isPayment ? { id: trade?.id, type: 'ODR' } : { id: tradeNo, type: 'TXN' };
  const moved = amountOf(row, signed(row));
  const amount = row.isUnreadable ? { ...moved, value: UNREADABLE } : moved;
  return {
    transaction_info: {
      paypal_account_id: 'SIMPAYER00001',
      transaction_id: number,
      ...(reference.id === undefined || reference.id === ''
        ? {}
        : { paypal_reference_id: reference.id, paypal_reference_id_type: reference.type }),
      transaction_event_code: EVENT_CODES[kind],
      transaction_initiation_date: reportTime(row.at),
      transaction_updated_date: reportTime(row.at),
      [has('other-columns') ? 'gross_amount' : 'transaction_amount']: amount,
      // PayPal: "This field contains a value only when a transaction fee is applied". A fee that the merchant pays is
      // negative.
      ...(fee === 0 ? {} : { fee_amount: amountOf(row, -fee) }),
      transaction_status: statusOf(row),
      ...(has('formula') ? { transaction_subject: FORMULA } : {}),
      ...numbersOf(row),
      protection_eligibility: '01',
    },
  };
}

/** Formats an instant as in the samples of PayPal's documents: whole seconds, and an offset without a colon. */
function reportTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}+0000`;
}

/** `V` = a payment that was refunded in full (`transaction_status` in reporting_transactions_v1). */
function statusOf({ kind, state, trade, tradeNo }: BillRow): string {
  if (kind !== 'payment' || state !== 'done' || trade === null) return STATUSES[state];
  const paid = trade.payments.find(({ number }) => number === tradeNo);
  const back = trade.refunds.filter((refund) => refund.state === 'succeeded' && refund.origin !== 'dispute');
  return back.reduce((sum, { minor }) => sum + minor, 0) >= (paid?.minor ?? Infinity) ? 'V' : 'S';
}

/** Returns the merchant's invoice_id and custom_id. The row of a refund has the invoice id of the refund. */
function numbersOf({ kind, trade, orderNo, refundNo }: BillRow): Record<string, unknown> {
  if (trade === null) return orderNo === '' ? {} : { invoice_id: orderNo };
  const { customId, invoiceId } = trade.details;
  const refund = trade.refunds.find((one) => one.refundNo === refundNo);
  const invoice = kind === 'payment' || refund?.origin !== 'merchant' ? invoiceId : refundNo;
  return { ...(invoice ? { invoice_id: invoice } : {}), ...(customId ? { custom_field: customId } : {}) };
}

function amountOf({ currency }: BillRow, minor: number): object {
  const value = majorOf({ currency }, Math.abs(minor));
  return { currency_code: currency, value: minor < 0 ? `-${value}` : value };
}

interface Part {
  filler: Filler;
  first: number;
  count: number;
}

function partOf(filler: Filler, from: number, to: number): Part {
  const first = firstOfFiller(filler, from);
  return { filler, first, count: Math.max(0, firstOfFiller(filler, to) - first) };
}

function rowAt(rows: readonly BillRow[], parts: readonly Part[], index: number): BillRow {
  let left = index - rows.length;
  if (left < 0) return rows[index]!;
  for (const { filler, first, count } of parts) {
    if (left < count) return fillerRow(filler, first + left);
    left -= count;
  }
  throw new RangeError('The report has no transaction with this index.');
}

/** The longest time window that one search accepts (ms): 31 days (reporting_transactions_v1). */
const MOST_MS = 31 * 86_400_000;
/** The highest number of transactions that one search may find (reporting_transactions_v1, list of errors). */
const MOST_RESULTS = 10_000;
/** The number of past months for which PayPal has data (reporting_transactions_v1). */
const BACK_MONTHS = 36;
/** The delay until a transaction is listed (reporting_transactions_v1: at most three hours). */
const LAG_MS = 3 * 3_600_000;
const PATH = '/v1/reporting/transactions';
const BALANCES_PATH = '/v1/reporting/balances';

/**
 * Accepts an offset with and without a colon. PayPal's API description requires the colon or Z, but the samples in it
 * have no colon.
 */
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
/** `ALL` = all currencies, as integrators' requests show; PayPal's description allows only a code of three letters. */
const BalancesQuery = z.object({
  as_of_time: Time.optional(),
  currency_code: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .default('ALL'),
});

/** Adds Transaction Search v1: the transactions and the balances of the caller's account. */
export function addReports(add: AddRoute, core: Core): void {
  add('get', PATH, { call: 'bill', act: (request) => list(core, request) });
  add('get', BALANCES_PATH, { call: 'balances', act: (request) => balances(core, request) });
}

function list(core: Core, request: Request): Answer {
  const query = readQuery(Query, request);
  const now = core.clock.now();
  const span = { from: wholeSecond(query.start_date), to: wholeSecond(query.end_date) + 1000 };
  if (span.to <= span.from) throw badQuery('end_date', 'Start date is after end date.');
  if (query.end_date - query.start_date > MOST_MS) throw badQuery('end_date', 'Date range is greater than 31 days.');
  const { merchantId } = request.account.secrets;
  const content = core.bills.contentOf({ ...ownerOf(core, request), ...span });
  const refreshedAt = refreshedTill(core, content.has, span, now);
  if (span.from < monthsBefore(PAYPAL_BILL_RULES, now, BACK_MONTHS) || span.from > refreshedAt)
    throw badQuery('start_date', 'Data for the given start date is not available.');
  const shown = { ...span, to: Math.min(span.to, wholeSecond(refreshedAt) + 1000) };
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
    start_date: reportTime(span.from),
    end_date: reportTime(Math.min(query.end_date, refreshedAt)),
    last_refreshed_datetime: reportTime(refreshedAt),
    page: query.page,
    total_items: window.total,
    total_pages: pages,
    links: linksOf(core, request, query.page, pages),
  };
  return spoilt(json(200, body), content.has);
}

/** Returns the accounts that a report covers: all accounts that belong to the caller's PayPal merchant. */
function ownerOf(core: Core, { account }: Request) {
  const { merchantId } = account.secrets;
  const beside = core.accounts.of('paypal').filter(({ secrets }) => secrets['merchantId'] === merchantId);
  return { rules: PAYPAL_BILL_RULES, account: account.name, beside: beside.map(({ name }) => name) } as const;
}

/**
 * Returns the balances at the end of a second. While the channel holds the money of a disputed payment, the money is in
 * `withheld_balance` instead of `available_balance`. `total_balance` is the sum of both (`balance_detail` in
 * reporting_transactions_v1). A pending payment changes no balance. A planted error in a listed transaction changes no
 * balance.
 */
function balances(core: Core, request: Request): Answer {
  const query = readQuery(BalancesQuery, request);
  const now = core.clock.now();
  const requested = wholeSecond(query.as_of_time ?? now);
  const has = (name: 'late' | 'real-hours') =>
    core.bills.conditions.has('paypal', name, [dayOf(PAYPAL_BILL_RULES, requested)]);
  const refreshedAt = wholeSecond(refreshedTill(core, has, { from: requested, to: requested + 1000 }, now));
  if (requested < monthsBefore(PAYPAL_BILL_RULES, now, BACK_MONTHS))
    throw badQuery('as_of_time', 'Data for the given start date is not available.');
  const at = Math.min(requested, refreshedAt);
  const until = { ...ownerOf(core, request), from: 0, to: at + 1000 };
  const rows = [...ledgerRows(core.ledger.trades, { ...until, isOfMoney: true }), ...core.bills.plants.foreign(until)];
  const [total, held] = [new Map([['USD', fillerMinor(core, at)]]), new Map<string, number>()];
  for (const row of rows) {
    if (row.state !== 'done') continue;
    const isHold = row.kind === 'hold' || row.kind === 'release';
    const [sums, minor] = isHold ? [held, -signed(row)] : [total, signed(row) - row.fee];
    sums.set(row.currency, (sums.get(row.currency) ?? 0) + minor);
  }
  const shown = [...total].filter(([currency]) => ['ALL', currency].includes(query.currency_code));
  return json(200, {
    balances: shown.map(([currency, minor]) => {
      const withheld = held.get(currency) ?? 0;
      const money = (value: number) => ({
        currency_code: currency,
        value: majorOf({ currency }, value),
      });
      return {
        currency,
        primary: currency === 'USD',
        total_balance: money(minor),
        available_balance: money(minor - withheld),
        withheld_balance: money(withheld),
      };
    }),
    account_id: request.account.secrets['merchantId'],
    as_of_time: balanceTime(at),
    last_refresh_time: balanceTime(refreshedAt),
  });
}

/** Formats an instant for the balances. PayPal's description requires an offset with a colon, or Z. */
function balanceTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/**
 * The first day whose fillers count in the balances. It is needed because a filler that is set without a date is on
 * every day.
 */
const FILLED_SINCE = Date.UTC(2020, 0, 1);

/** Returns the sum of all fillers (payments invented by the simulator) until `at`, less their fees, in minor units. */
function fillerMinor({ bills: { conditions } }: Core, at: number): number {
  if (!conditions.list().some(({ condition, payWay }) => condition === 'filler' && payWay === 'paypal')) return 0;
  let sum = 0;
  for (const day of daysIn(PAYPAL_BILL_RULES, { from: FILLED_SINCE, to: at + 1000 })) {
    const count = conditions.fillerOn('paypal', day);
    const filler = { rules: PAYPAL_BILL_RULES, count, ...spanOfDay(PAYPAL_BILL_RULES, day)! } as const;
    const rows = Array.from({ length: count && firstOfFiller(filler, at + 1000) }, (_, index) =>
      fillerRow(filler, index),
    );
    sum += rows.reduce((all, { minor, fee }) => all + minor - fee, 0);
  }
  return sum;
}

/**
 * A row that does not change the balance is listed only with `balance_affecting_records_only=N`
 * (reporting_transactions_v1). A payment that is completed later is listed at the time of its start.
 */
function affectsBalance({ kind, state }: BillRow): boolean {
  return kind !== 'payment' || state === 'done';
}

/**
 * Returns the time up to which PayPal has data. Usually this is the current time. With the test condition `real-hours`
 * it is three hours earlier. With the test condition `late` it is, at the latest, the second before the first day whose
 * data are late.
 */
function refreshedTill(
  core: Core,
  has: (name: 'late' | 'real-hours') => boolean,
  asked: { from: number; to: number },
  now: number,
): number {
  const till = has('real-hours') ? now - LAG_MS : now;
  if (!has('late')) return till;
  const late = daysIn(PAYPAL_BILL_RULES, asked).find((day) => core.bills.conditions.has('paypal', 'late', [day])) ?? '';
  return Math.min(till, (spanOfDay(PAYPAL_BILL_RULES, late)?.from ?? asked.from) - 1000);
}

function readQuery<T>(schema: z.ZodType<T>, { query }: Request): T {
  const read = schema.safeParse(query);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw badQuery(String(issue?.path[0] ?? ''), 'The value of a field does not conform to the expected format.');
}

/** Builds the refusal of an invalid query parameter, with PayPal's text if integrators have published it. */
function badQuery(field: string, issue: string): PaypalRefusal {
  const { status, body } = refuse(400, issue, issue, field);
  return new PaypalRefusal(status, body);
}

/** The name, the texts and the fields of the refusal are from `error_default` of PayPal's client libraries. */
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

/** Applies the conditions `cut` and `wrong-charset` (UTF-16, although the header does not say so). */
function spoilt(answer: Answer, has: (name: 'cut' | 'wrong-charset') => boolean): Answer {
  if (has('cut')) return { ...answer, body: answer.body.slice(0, answer.body.length >> 1) };
  return has('wrong-charset') ? { ...answer, encode: (text) => Buffer.from(text, 'utf16le') } : answer;
}

function wholeSecond(at: number): number {
  return Math.floor(at / 1000) * 1000;
}
