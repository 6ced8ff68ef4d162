import {
  type BillAnswer,
  type BillCalendar,
  type BillDesk,
  BillMalformed,
  TransportFailed,
} from '../../payments/channel.ts';
import { goneDay } from '../bill-answers.ts';
import { type DaySpan, daySpan } from '../bill-cells.ts';
import { readAccount, readTransactions } from './bill.ts';
import { type BalanceOfDay, type BillHead, type BillTail, FORMAT } from './bill-format.ts';
import { type Rows, isOfWire, NoPages, readBalances, readWindows } from './bill-pages.ts';
import type { Call } from './call.ts';
import type { PaypalSettings } from './settings.ts';

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
