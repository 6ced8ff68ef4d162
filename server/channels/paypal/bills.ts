/** Asks for the bill of a day: the pages of its transactions, and the balances before and after it. */
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

/** Why there are no (more) transactions. */
class NoPages extends Error {
  readonly answer: Exclude<BillAnswer, { kind: 'bill' }>;
  constructor(answer: NoPages['answer']) {
    super(answer.kind);
    this.name = 'NoPages';
    this.answer = answer;
  }
}

/** What is asked for at once: from the first to the last second, both of which belong to it. */
interface Window {
  first: number;
  last: number;
}

const PAGE_SIZE = 500;
/** PayPal gives no more for one window. */
const MOST_ROWS = 10_000;
/** A window whose transactions change while they are read is begun again so often. */
const TRIES = 3;

/** At whose place, and for which account if that is configured. */
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

/** The transactions of one window, and the account that they are of. */
export interface Rows {
  /** Undefined where PayPal does not say whose there are none. */
  account: string | undefined;
  infos: Info[];
}

/**
 * The transactions between two instants, those of one window at a time, each once. A window with too many is halved. Throws
 * NoPages with what is to be said instead, and BillMalformed for another account's.
 */
async function* readWindows(call: Call, settings: Requester, span: { begin: Date; end: Date }): AsyncGenerator<Rows> {
  const open: Window[] = [{ first: span.begin.getTime(), last: span.end.getTime() - 1000 }];
  let before: ReadonlySet<string> = new Set();
  for (let window = open.pop(); window; window = open.pop()) {
    const rows = await readWindow(call, settings, window, span.end);
    if (rows === 'too_many') {
      open.push(...channelSimulators(window).toReversed());
      continue;
    }
    const { account, infos } = rows;
    const keys = new Set(infos.map(keyOf));
    const fresh = infos.filter((info) => !before.has(keyOf(info)));
    before = keys;
    yield { account, infos: fresh };
  }
}

/** PayPal: an id is not unique in its reports. What happened to it, with which amount, is. */
function keyOf(info: Info): string {
  return JSON.stringify([info['transaction_id'], info['transaction_event_code'], info['transaction_amount']]);
}

/** Each once. */
function distinct(infos: readonly Info[]): Info[] {
  return [...new Map(infos.map((info) => [keyOf(info), info])).values()];
}

function channelSimulators({ first, last }: Window): Window[] {
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
      // One that is there twice may stand for another that slipped from page to page while they were read.
      const all = distinct(infos);
      if (all.length === total || attempt === TRIES) return { account: page.account_number, infos: all };
      break;
    }
  }
  throw new NoPages(unknown('in_progress', 'The transactions changed each time while they were read.'));
}

/** PayPal shows transactions up to three hours late, and says until when it shows all of them. */
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
  // The name alone says it, whatever the details are.
  if (reply.kind === 'refused' && reply.name === 'RESULTSET_TOO_LARGE') return 'too_many';
  // A page of long texts; a shorter window has a shorter one.
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
 * The total balances of the account at an instant, in minor units by currency (`total_balance`, "the sum of all the other balances", also of
 * withheld ones; Transaction Search v1, `balance_detail`); undefined where PayPal tells none of that instant. Throws NoPages where no answer came.
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
  const said = reply.kind === 'ok' ? Balances.safeParse(reply.body).data : undefined;
  // "The requested date and time or the last date and time when the balances can be served": another one is no answer.
  if (!said || readInstant(said.as_of_time) !== at) return undefined;
  if (said.last_refresh_time !== undefined && !(readInstant(said.last_refresh_time) >= at)) return undefined;
  const found = new Map<string, bigint>();
  for (const { currency, total_balance: total } of said.balances) {
    const exponent = exponentOf(currency);
    // No line can be in it.
    if (exponent === undefined) continue;
    const minor = total.currency_code === currency ? readSum(total.value, exponent) : undefined;
    if (minor === undefined || found.has(currency)) return undefined;
    found.set(currency, minor);
  }
  return found;
}

/** PayPal's words for a window that begins after its data end; the error has no name of its own. */
const NO_DATA_YET = /Data for the given start date is not available/;

const NOT_ALLOWED =
  'The REST app has no access to reports: enable Transaction search among its features in the PayPal developer dashboard. PayPal may take some hours until it counts.';

function instantText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Causes that a failed exchange has, too. */
function isOfWire(cause: UnknownCause): cause is 'timeout' | 'network' | 'too_large' {
  return cause === 'timeout' || cause === 'network' || cause === 'too_large';
}

/**
 * Days of UTC; a transaction may be shown three hours late, and is for three years (developer.paypal.com, Transaction Search v1). A payment
 * that is pending changes no balance, and only what does is listed (`balance_affecting_records_only`, Y unless it is said). Its row carries
 * `transaction_initiation_date`, when work on it began; that this also decides in which window it is found is inferred. PayPal gives a
 * payment back that nobody claims for 30 days, and holds others for 21 days as a rule.
 */
export const PAYPAL_BILLS: BillCalendar = {
  utcOffsetMinutes: 0,
  readyAfterMinutes: 180,
  backDays: 1095,
  heldDays: 35,
  hasBalances: true,
  refundsByOwnNumber: true,
};

/** So long after a day its bill waits for balances that do not come. */
const PATIENCE_MS = 86_400_000;

/** The transactions of a day (Transaction Search v1), written to a file of our own format. */
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
      // What is wrong with the whole is known by the first window; it is held, ten thousand transactions at most.
      let account: string | undefined;
      let first: Rows | undefined;
      do {
        first = (await windows.next()).value as Rows | undefined;
        account = first?.account ?? account;
      } while (first?.infos.length === 0);
      if (account === undefined) return { kind: 'empty', code: 'NO_TRANSACTIONS' };
      const balances = await balancesOf(span);
      // A day without transactions has balances to be compared, too.
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
   * The balances of the account at the last second before the day and at its own last second, which ends its window; undefined where PayPal
   * tells none. A refusal or an unreadable answer costs the comparison alone; after silence the service asks again, as for a page.
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
      if (account !== head.account) throw new BillMalformed('wrong_account', `The report is about ${account}, too.`);
      rows += infos.length;
      // Half a megabyte or so at once.
      for (let at = 0; at < infos.length; at += PIECE_ROWS) yield lines(infos.slice(at, at + PIECE_ROWS));
    }
  } catch (error) {
    throw error instanceof NoPages ? failure(error) : error;
  }
  const tail: BillTail = { end: FORMAT, rows };
  yield lines([tail]);
}

/** Bytes that fail at once. */
function failing(error: Error): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

const PIECE_ROWS = 500;

function lines(values: readonly object[]): Uint8Array {
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
}

/** A bill that stops in the middle is as a download that does. */
function failure({ answer }: NoPages): TransportFailed {
  if (answer.kind !== 'unknown') return new TransportFailed('network', `PayPal stopped with ${answer.code}.`);
  const why = isOfWire(answer.cause) ? answer.cause : 'network';
  return new TransportFailed(why, answer.detail ?? answer.cause);
}
