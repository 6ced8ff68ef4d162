/** Fetches the bill of a day: the pages of its transactions, and the balances before and after it. */
import { z } from 'zod';
import {
  type BillAnswer,
  type BillCalendar,
  type BillDesk,
  BillMalformed,
  TransportFailed,
  type UnknownCause,
} from '../../payments/channel.ts';
import { exponentOf } from '../../money.ts';
import { goneDay } from '../bill-bytes.ts';
import { type DaySpan, daySpan, readSum } from '../bill-rows.ts';
import {
  type BalanceOfDay,
  type BillHead,
  type BillTail,
  FORMAT,
  readAccount,
  readInstant,
  readTransactions,
} from './bill-file.ts';
import { type Call, unknown } from './reply.ts';
import type { PaypalSettings } from './settings.ts';

/** The answer to return instead of (more) transactions. */
class NoPages extends Error {
  readonly answer: Exclude<BillAnswer, { kind: 'bill' }>;
  constructor(answer: NoPages['answer']) {
    super(answer.kind);
    this.name = 'NoPages';
    this.answer = answer;
  }
}

/** The period of one request: `first` and `last` are its first and last second, which it includes. */
interface Window {
  first: number;
  last: number;
}

const PAGE_SIZE = 500;
/** PayPal returns no more transactions for one window. */
const MOST_ROWS = 10_000;
/** The most attempts to read a window if its transactions change while they are read. */
const TRIES = 3;

/** The API, and the account if it is configured. */
type Requester = Pick<PaypalSettings, 'apiUrl' | 'merchantId'>;

const Text = z.string().optional().catch(undefined);
const Page = z.object({
  transaction_details: z.array(z.object({ transaction_info: z.record(z.string(), z.unknown()) })).default([]),
  total_items: z.int().nonnegative(),
  last_refreshed_datetime: Text,
  account_number: Text,
});
type Page = z.infer<typeof Page>;
/** One transaction_info. */
type Info = Page['transaction_details'][number]['transaction_info'];

/** The transactions of one window, and their account. */
export interface Rows {
  /** Undefined if there are no transactions and PayPal names no account. */
  account: string | undefined;
  infos: Info[];
}

/**
 * The transactions between two instants, one window at a time, without duplicates. A window with too many transactions
 * is halved. Throws NoPages with the answer to return, and BillMalformed for another account.
 */
async function* readWindows(call: Call, settings: Requester, span: { begin: Date; end: Date }): AsyncGenerator<Rows> {
  const open: Window[] = [{ first: span.begin.getTime(), last: span.end.getTime() - 1000 }];
  let before: ReadonlySet<string> = new Set();
  for (let window = open.pop(); window; window = open.pop()) {
    const rows = await readWindow(call, settings, window, span.end);
    if (rows === 'too_many') {
      open.push(...halvesOf(window).toReversed());
      continue;
    }
    const { account, infos } = rows;
    const keys = new Set(infos.map(keyOf));
    const fresh = infos.filter((info) => !before.has(keyOf(info)));
    before = keys;
    yield { account, infos: fresh };
  }
}

/** The key of a transaction: in PayPal's reports an id is unique only with its event code and amount. */
function keyOf(info: Info): string {
  return JSON.stringify([info['transaction_id'], info['transaction_event_code'], info['transaction_amount']]);
}

/** Removes duplicates. */
function distinct(infos: readonly Info[]): Info[] {
  return [...new Map(infos.map((info) => [keyOf(info), info])).values()];
}

function halvesOf({ first, last }: Window): Window[] {
  if (last <= first) throw new NoPages(unknown('too_large', 'PayPal has too many transactions in one second.'));
  const middle = first + Math.floor((last - first) / 2000) * 1000;
  return [
    { first, last: middle },
    { first: middle + 1000, last },
  ];
}

async function readWindow(call: Call, settings: Requester, window: Window, end: Date): Promise<Rows | 'too_many'> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const infos: Info[] = [];
    let total: number | undefined;
    for (let number = 1; ; number += 1) {
      const page = await readPage(call, settings, window, number);
      if (page === 'too_many' || page.total_items > MOST_ROWS) return 'too_many';
      requireRefreshed(page, end);
      if (total !== undefined && page.total_items !== total) break;
      total = page.total_items;
      infos.push(...page.transaction_details.map(({ transaction_info: info }) => info));
      if (infos.length > total || (infos.length < total && page.transaction_details.length === 0)) break;
      if (infos.length < total) continue;
      // A duplicate may mean that another transaction moved between pages during the reading.
      const all = distinct(infos);
      if (all.length === total || attempt === TRIES) return { account: page.account_number, infos: all };
      break;
    }
  }
  throw new NoPages(unknown('in_progress', 'The transactions changed each time while they were read.'));
}

/** PayPal shows transactions up to three hours late; `last_refreshed_datetime` is the time up to which they are complete. */
function requireRefreshed({ last_refreshed_datetime: refreshed }: Page, end: Date): void {
  const until = readInstant(refreshed ?? '');
  if (!(until >= end.getTime() - 1000))
    throw new NoPages({ kind: 'not_ready', code: `REFRESHED_${refreshed ?? 'NEVER'}` });
}

async function readPage(
  call: Call,
  { apiUrl, merchantId }: Requester,
  { first, last }: Window,
  number: number,
): Promise<Page | 'too_many'> {
  const query = new URLSearchParams({
    start_date: instantText(first),
    end_date: instantText(last),
    fields: 'transaction_info',
    page_size: String(PAGE_SIZE),
    page: String(number),
  });
  const reply = await call({
    method: 'GET',
    url: `${apiUrl}/v1/reporting/transactions?${query.toString()}`,
    headers: { accept: 'application/json' },
    about: { call: 'bill' },
  });
  if (reply.kind === 'ok') {
    const page = Page.safeParse(reply.body).data;
    if (!page) throw new NoPages(unknown('unparsable', 'The response is not a page of transactions.'));
    const { account_number: account = merchantId ?? undefined } = page;
    if (merchantId !== null && account !== merchantId)
      throw new BillMalformed('wrong_account', `The report is about the account ${account}.`);
    if (account === undefined && page.total_items > 0)
      throw new NoPages(unknown('unparsable', 'The response names no account.'));
    return { ...page, account_number: account };
  }
  // The error name decides, not its details.
  if (reply.kind === 'refused' && reply.name === 'RESULTSET_TOO_LARGE') return 'too_many';
  // A page of long texts; a shorter window has a smaller page.
  if (reply.kind === 'unknown' && reply.cause === 'too_large') return 'too_many';
  if (reply.kind === 'refused' && NO_DATA_YET.test(`${reply.code} ${reply.reason}`))
    throw new NoPages({ kind: 'not_ready', code: 'DATA_NOT_AVAILABLE' });
  if (reply.kind === 'refused') throw new NoPages({ kind: 'refused', code: reply.code, reason: reply.reason });
  if (reply.status === 403) throw new NoPages({ kind: 'refused', code: 'NOT_AUTHORIZED', reason: NOT_ALLOWED });
  throw new NoPages(reply);
}

const Balances = z.object({
  balances: z.array(
    z.object({ currency: z.string(), total_balance: z.object({ currency_code: z.string(), value: z.string() }) }),
  ),
  as_of_time: z.string(),
  last_refresh_time: Text,
});

/**
 * The total balances of the account at an instant, in minor units by currency (`total_balance`, "the sum of all the other balances", including
 * withheld ones; Transaction Search v1, `balance_detail`); undefined if PayPal has none for that instant. Throws NoPages without an answer.
 */
async function readBalances(
  call: Call,
  { apiUrl }: Pick<Requester, 'apiUrl'>,
  at: number,
): Promise<ReadonlyMap<string, bigint> | undefined> {
  const query = new URLSearchParams({ as_of_time: instantText(at), currency_code: 'ALL' });
  const reply = await call({
    method: 'GET',
    url: `${apiUrl}/v1/reporting/balances?${query.toString()}`,
    headers: { accept: 'application/json' },
    about: { call: 'bill' },
  });
  if (reply.kind === 'unknown' && isOfWire(reply.cause)) throw new NoPages(reply);
  const report = reply.kind === 'ok' ? Balances.safeParse(reply.body).data : undefined;
  // "The requested date and time or the last date and time when the balances can be served": balances of another time
  // are not used.
  if (!report || readInstant(report.as_of_time) !== at) return undefined;
  if (report.last_refresh_time !== undefined && !(readInstant(report.last_refresh_time) >= at)) return undefined;
  const found = new Map<string, bigint>();
  for (const { currency, total_balance: total } of report.balances) {
    const exponent = exponentOf(currency);
    // The service reads no line in an unknown currency.
    if (exponent === undefined) continue;
    const minor = total.currency_code === currency ? readSum(total.value, exponent) : undefined;
    if (minor === undefined || found.has(currency)) return undefined;
    found.set(currency, minor);
  }
  return found;
}

/** PayPal's text for a window that begins after the end of its data; the error has no specific name. */
const NO_DATA_YET = /Data for the given start date is not available/;

const NOT_ALLOWED =
  'The REST app has no access to reports: enable Transaction search among its features in the PayPal developer dashboard. It may take PayPal some hours to apply it.';

function instantText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Whether TransportFailed has this cause. */
function isOfWire(cause: UnknownCause): cause is 'timeout' | 'network' | 'too_large' {
  return cause === 'timeout' || cause === 'network' || cause === 'too_large';
}

/**
 * Days in UTC; a transaction may appear three hours late, and is available for three years (developer.paypal.com,
 * Transaction Search v1). A pending payment changes no balance, and only transactions that change a balance are listed
 * (`balance_affecting_records_only`, default Y). The row of a payment has `transaction_initiation_date`, the start of
 * its processing; that this date also selects the window is inferred. PayPal returns a payment that the merchant does
 * not claim within 30 days, and usually holds other pending payments for 21 days.
 */
export const PAYPAL_BILLS: BillCalendar = {
  utcOffsetMinutes: 0,
  readyAfterMinutes: 180,
  backDays: 1095,
  heldDays: 35,
  hasBalances: true,
  refundsByOwnNumber: true,
};

/** How long after a day its bill waits for missing balances. */
const PATIENCE_MS = 86_400_000;

/** The bills of PayPal: the transactions of a day (Transaction Search v1) in the service's own file format. */
export function paypalBills(call: Call, settings: PaypalSettings, now: () => Date): BillDesk {
  const { rate } = settings;
  return {
    ...(rate && { rate }),
    fetch: fetchBill,
    payeeIn: readAccount,
    read: (file, day, how) => readTransactions(file, day, how?.isLenient),
  };

  async function fetchBill(day: string): Promise<BillAnswer> {
    const gone = goneDay(day, PAYPAL_BILLS, now());
    if (gone) return gone;
    const span = daySpan(day, PAYPAL_BILLS.utcOffsetMinutes);
    const windows = readWindows(call, settings, span);
    try {
      // The first window shows faults of the whole report, so it is read first and kept in memory (at most ten thousand
      // transactions).
      let account: string | undefined;
      let first: Rows | undefined;
      do {
        first = (await windows.next()).value as Rows | undefined;
        account = first?.account ?? account;
      } while (first?.infos.length === 0);
      if (account === undefined) return { kind: 'empty', code: 'NO_TRANSACTIONS' };
      const balances = await balancesOf(span);
      // Balances are compared even on a day without transactions.
      if (!first && !balances) return { kind: 'empty', code: 'NO_TRANSACTIONS', payee: account };
      const startDate = span.begin.toISOString();
      const head: BillHead = { bill: FORMAT, account, startDate, endDate: span.end.toISOString() };
      if (balances) head.balances = balances;
      return { kind: 'bill', bytes: written(head, first, windows) };
    } catch (error) {
      if (error instanceof NoPages) return error.answer;
      if (error instanceof BillMalformed) return { kind: 'bill', bytes: failing(error) };
      throw error;
    }
  }

  /**
   * The balances of the account at the last second before the day and at the last second of the day; undefined if PayPal has none. After a refusal
   * or an unreadable answer the bill has no balances; without an answer the service retries, as for a page.
   */
  async function balancesOf({ begin, end }: DaySpan): Promise<BalanceOfDay[] | undefined> {
    try {
      const opening = await readBalances(call, settings, begin.getTime() - 1000);
      const closing = opening && (await readBalances(call, settings, end.getTime() - 1000));
      if (!closing) return undefined;
      return [...new Set([...opening.keys(), ...closing.keys()])].map((currency) => {
        const text = (balances: ReadonlyMap<string, bigint>) => String(balances.get(currency) ?? 0n);
        return { currency, opening: text(opening), closing: text(closing) };
      });
    } catch (error) {
      if (error instanceof NoPages && now().getTime() > end.getTime() + PATIENCE_MS) return undefined;
      throw error;
    }
  }
}

async function* written(
  head: BillHead,
  first: Rows | undefined,
  windows: AsyncGenerator<Rows>,
): AsyncGenerator<Uint8Array> {
  yield lines([head]);
  let rows = 0;
  try {
    for (let one: Rows | undefined = first; one; one = (await windows.next()).value as Rows | undefined) {
      const { account, infos } = one;
      if (account !== head.account)
        throw new BillMalformed('wrong_account', `The report also has rows of the account ${account}.`);
      rows += infos.length;
      // About half a megabyte per piece.
      for (let at = 0; at < infos.length; at += PIECE_ROWS) yield lines(infos.slice(at, at + PIECE_ROWS));
    }
  } catch (error) {
    throw error instanceof NoPages ? failure(error) : error;
  }
  const tail: BillTail = { end: FORMAT, rows };
  yield lines([tail]);
}

/** An iteration that throws `error` at its first step. */
function failing(error: Error): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

const PIECE_ROWS = 500;

function lines(values: readonly object[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** The error of a bill that stops in the middle: TransportFailed, as for an interrupted download. */
function failure({ answer }: NoPages): TransportFailed {
  if (answer.kind !== 'unknown') return new TransportFailed('network', `PayPal stopped with ${answer.code}.`);
  const why = isOfWire(answer.cause) ? answer.cause : 'network';
  return new TransportFailed(why, answer.detail ?? answer.cause);
}
