/** Fetches the bill of a day: the pages of its transactions, and the balances before and after the day. */
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

/** PayPal returned no page of transactions; the caller returns `answer` instead of a bill. */
class NoPages extends Error {
  readonly answer: Exclude<BillAnswer, { kind: 'bill' }>;
  constructor(answer: NoPages['answer']) {
    super(answer.kind);
    this.name = 'NoPages';
    this.answer = answer;
  }
}

/** The period of one request. Both seconds, `first` and `last`, are part of the period. */
interface Window {
  first: number;
  last: number;
}

const PAGE_SIZE = 500;
/** The maximum number of transactions that PayPal returns for one period. */
const MOST_ROWS = 10_000;
/** How often a period is read at most. It is read again if its transactions change while the pages are read. */
const TRIES = 3;

/** The URL of the API, and the configured account (null if none is configured). */
type Requester = Pick<PaypalSettings, 'apiUrl' | 'merchantId'>;

const Text = z.string().optional().catch(undefined);
const Page = z.object({
  transaction_details: z.array(z.object({ transaction_info: z.record(z.string(), z.unknown()) })).default([]),
  total_items: z.int().nonnegative(),
  last_refreshed_datetime: Text,
  account_number: Text,
});
type Page = z.infer<typeof Page>;
type Info = Page['transaction_details'][number]['transaction_info'];

export interface Rows {
  /** Undefined if there are no transactions and PayPal returned no account. */
  account: string | undefined;
  infos: Info[];
}

/**
 * Reads the transactions between two instants, one period at a time, without duplicates. A period with too many
 * transactions is split in half. Throws NoPages if PayPal returns no page, and BillMalformed if the page belongs to
 * another account.
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

/**
 * The key by which duplicates are found. In PayPal's reports the id alone is not unique, so the event code and the
 * amount are added.
 */
function keyOf(info: Info): string {
  return JSON.stringify([info['transaction_id'], info['transaction_event_code'], info['transaction_amount']]);
}

function distinct(infos: readonly Info[]): Info[] {
  return [...new Map(infos.map((info) => [keyOf(info), info])).values()];
}

function halvesOf({ first, last }: Window): Window[] {
  if (last <= first)
    throw new NoPages(unknown('too_large', 'One second contains more transactions than PayPal can return.'));
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
      // A duplicate may mean that transactions moved between pages while they were read, so that one is missing. Then
      // the period is read again.
      const all = distinct(infos);
      if (all.length === total || attempt === TRIES) return { account: page.account_number, infos: all };
      break;
    }
  }
  throw new NoPages(unknown('in_progress', 'The transactions changed during each attempt to read them.'));
}

/** PayPal shows transactions up to three hours late; they are complete up to `last_refreshed_datetime`. */
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
    if (!page) throw new NoPages(unknown('unparsable', "PayPal's response is not a page of transactions."));
    const { account_number: account = merchantId ?? undefined } = page;
    if (merchantId !== null && account !== merchantId)
      throw new BillMalformed(
        'wrong_account',
        `The transactions are of the account ${account}, not of the configured merchantId.`,
      );
    if (account === undefined && page.total_items > 0)
      throw new NoPages(unknown('unparsable', "PayPal's response has no account_number."));
    return { ...page, account_number: account };
  }
  // PayPal may give different details for this error, so only its name is compared.
  if (reply.kind === 'refused' && reply.name === 'RESULTSET_TOO_LARGE') return 'too_many';
  // The response was larger than the limit. A shorter period gives a smaller page.
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
 * Reads the total balance of the account at an instant: minor units by currency. It includes held money
 * (`total_balance`, "the sum of all the other balances", Transaction Search v1, `balance_detail`). Returns undefined if
 * PayPal has no balances for that instant. Throws NoPages if PayPal does not respond.
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
  if (reply.kind === 'unknown' && isTransportError(reply.cause)) throw new NoPages(reply);
  const report = reply.kind === 'ok' ? Balances.safeParse(reply.body).data : undefined;
  // If PayPal has no balances for the requested time, it returns those of an earlier time ("the last date and time when
  // the balances can be served"). These are not used.
  if (!report || readInstant(report.as_of_time) !== at) return undefined;
  if (report.last_refresh_time !== undefined && !(readInstant(report.last_refresh_time) >= at)) return undefined;
  const found = new Map<string, bigint>();
  for (const { currency, total_balance: total } of report.balances) {
    const exponent = exponentOf(currency);
    // The service does not support this currency and reads no transactions in it.
    if (exponent === undefined) continue;
    const minor = total.currency_code === currency ? readSum(total.value, exponent) : undefined;
    if (minor === undefined || found.has(currency)) return undefined;
    found.set(currency, minor);
  }
  return found;
}

/** The text of PayPal's error for a period that is too recent. The error has no name of its own. */
const NO_DATA_YET = /Data for the given start date is not available/;

const NOT_ALLOWED =
  'The REST app has no access to reports: enable Transaction search among its features in the PayPal developer dashboard. It may take PayPal some hours to apply it.';

function instantText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function isTransportError(cause: UnknownCause): cause is 'timeout' | 'network' | 'too_large' {
  return cause === 'timeout' || cause === 'network' || cause === 'too_large';
}

/**
 * The days for which PayPal has bills; a day is a UTC day. A transaction may appear three hours late and is available
 * for three years (developer.paypal.com, Transaction Search v1). Only transactions that change a balance are listed
 * (`balance_affecting_records_only`, default Y), so pending payments are not listed. PayPal does not document to which
 * day a payment belongs. This service assumes that it is the day on which the processing began
 * (`transaction_initiation_date`). PayPal returns a payment that the merchant does not claim within 30 days. Other
 * payments are usually held for 21 days. So `heldDays` is a little more than 30.
 */
export const PAYPAL_BILLS: BillCalendar = {
  utcOffsetMinutes: 0,
  readyAfterMinutes: 180,
  backDays: 1095,
  heldDays: 35,
  hasBalances: true,
  refundsByOwnNumber: true,
};

/**
 * The balances of a day may be available later than its transactions. The service waits at most this time (ms) after
 * the end of the day, then it stores the bill without balances.
 */
const PATIENCE_MS = 86_400_000;

/** Creates PayPal's bill adapter, which writes the transactions of a day to a file in a format of this service. */
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
      // The first period is read before the bill file is created. If PayPal can return no report at all, the error
      // appears in this first period. At most ten thousand transactions are then in memory.
      let account: string | undefined;
      let first: Rows | undefined;
      do {
        first = (await windows.next()).value as Rows | undefined;
        account = first?.account ?? account;
      } while (first?.infos.length === 0);
      if (account === undefined) return { kind: 'empty', code: 'NO_TRANSACTIONS' };
      const balances = await balancesOf(span);
      // A day without transactions still has a bill if there are balances, because the service compares the change of
      // the balances over several days with the bills of these days.
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
   * Reads the account's balances at the last second before the day and at the last second of the day. Returns undefined
   * if PayPal refuses, has no balances or sends an unreadable response; the bill then has no balances. If PayPal does
   * not respond, the whole bill is fetched again later.
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
        throw new BillMalformed('wrong_account', `PayPal also returned transactions of another account: ${account}.`);
      rows += infos.length;
      // The bill file is written in pieces of 500 transactions, which are about half a megabyte.
      for (let at = 0; at < infos.length; at += PIECE_ROWS) yield lines(infos.slice(at, at + PIECE_ROWS));
    }
  } catch (error) {
    throw error instanceof NoPages ? failure(error) : error;
  }
  const tail: BillTail = { end: FORMAT, rows };
  yield lines([tail]);
}

function failing(error: Error): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

const PIECE_ROWS = 500;

function lines(values: readonly object[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/**
 * Converts NoPages (PayPal returned no page) in the middle of a bill to TransportFailed, so that it is handled like an
 * interrupted download.
 */
function failure({ answer }: NoPages): TransportFailed {
  if (answer.kind !== 'unknown') return new TransportFailed('network', `PayPal stopped with ${answer.code}.`);
  const why = isTransportError(answer.cause) ? answer.cause : 'network';
  return new TransportFailed(why, answer.detail ?? answer.cause);
}
