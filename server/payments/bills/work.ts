import type { BillRow } from '../../db/entities/bills.ts';
import { analyzeLines, forgetInLines, nameOrders, removeOldLines, removeReading } from '../../db/queries/bill-lines.ts';
import { type Matched, matchBill } from '../../db/queries/bill-matching.ts';
import { isIncomplete } from '../../db/queries/bills.ts';
import { SAME_ACCOUNT } from '../../db/queries/payees.ts';
import type { Tx } from '../../db/store.ts';
import { TransportFailed } from '../channel.ts';
import { resolveExceptions } from '../side-effects.ts';
import {
  type BillAnswer,
  type BillCalendar,
  type BillDesk,
  BillMalformed,
  againAt,
  boundsOf,
  heldAgainAt,
  retryAt,
} from '../outcomes.ts';
import {
  type BillAccount,
  type BillPorts,
  requestersOf,
  deskOf,
  lockAccount,
  prove,
  ratesOf,
  requirePayee,
} from './payees.ts';
import { ReadingTaken, type Spooled, beginReading, keptBytes, spooled, storeBill } from './store.ts';

type Rates = Parameters<typeof matchBill>[1]['rates'];

interface Fault {
  state: BillRow['state'];
  fault: string;
  detail: string;
  line?: number | undefined;
  column?: number | undefined;
  /** Whether this is the channel's final answer about the bill, so that no other keys are tried. */
  isSure?: boolean;
}

/**
 * Fetches and reads a bill that is due, then compares it with the orders. The caller must have leased the bill's row.
 */
export function workBill(ports: BillPorts) {
  return async (billNo: string): Promise<void> => {
    const bill = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (!bill) return;
    if (bill.state !== 'matching') await fetchBill(bill);
    const read = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (read?.state === 'matching') await compareBill(ports, billNo);
  };

  /**
   * Tries the keys of each project that uses the account. If the keys of one project are wrong, those of another may
   * work.
   */
  async function fetchBill(bill: BillRow): Promise<void> {
    const { billNo } = bill;
    let first: Fault | undefined;
    for (const requester of await requestersOf(ports, bill)) {
      const answer = await fetchFrom(ports, deskOf(requester), bill.day);
      ports.checkpoint('bill.asked');
      const fault =
        answer.kind === 'bill' || answer.kind === 'empty' ? await take(bill, requester, answer) : faultOf(answer);
      if (fault === undefined) return;
      first ??= fault;
      if (fault.isSure) {
        first = fault;
        break;
      }
    }
    await noteFault(ports, billNo, first ?? NOT_CONFIGURED);
  }

  async function take(
    bill: BillRow,
    requester: BillAccount,
    answer: Extract<BillAnswer, { kind: 'bill' | 'empty' }>,
  ): Promise<Fault | undefined> {
    const { billNo } = bill;
    const of = await beginReading(ports, billNo);
    if (!of) return undefined;
    const store = async (spool: Spooled | null): Promise<void> => {
      const payee = answer.kind === 'empty' ? answer.payee : await deskOf(requester).payeeIn(spool!.file);
      if (payee !== undefined && (await isElsewhere(bill, requester, payee))) return;
      const isWhole = answer.kind === 'bill' && answer.isWhole === true;
      await storeBill(ports, of, { desk: deskOf(requester), spool, source: 'channel', isWhole });
    };
    try {
      if (answer.kind === 'bill') await spooled(keptBytes(ports, of, answer.bytes), store);
      else await store(null);
      return undefined;
    } catch (error) {
      if (error instanceof ReadingTaken) return undefined;
      // Removes lines that do not count, including lines of a process that crashed. An erasure of a payer's data finds
      // lines by their order number, which these lines may lack.
      await removeReading(ports.store, of);
      await removeOldLines(ports.store, billNo);
      if (error instanceof BillMalformed) {
        const { fault, message: detail, line, column } = error;
        // After an empty file, the lines of the earlier reading still count, and the bill is fetched again on the
        // regular schedule.
        const isEmptied = fault === 'empty_bill';
        return { state: isEmptied ? 'done' : 'refused', fault, detail, line, column, isSure: isEmptied };
      }
      if (error instanceof TransportFailed) return { state: 'waiting', fault: error.why, detail: error.message };
      throw error;
    }
  }

  /** Returns true if the named payee already has a bill of the day. Throws if the payee is not the expected one. */
  async function isElsewhere(bill: BillRow, requester: BillAccount, payee: string): Promise<boolean> {
    if (!requester.isProven) {
      const { other, aside } = await prove(ports, requester, { billNo: bill.billNo, payee, heal });
      for (const { billNo } of aside) await removeOldLines(ports.store, billNo);
      return other;
    }
    requirePayee(requester, payee);
    return false;
  }

  /** Closes the differences of a bill whose lines were discarded, by comparing the bill again. */
  async function heal(tx: Tx, bill: BillRow): Promise<void> {
    await runMatch(ports, tx, bill, new Map());
  }
}

const NOT_CONFIGURED: Fault = {
  state: 'waiting',
  fault: 'not_configured',
  detail: 'No channel configuration that uses this account can fetch bills.',
};

async function fetchFrom(ports: BillPorts, desk: BillDesk, day: string): Promise<BillAnswer> {
  try {
    return await desk.fetch(day);
  } catch (error) {
    ports.log('error', 'a bill could not be fetched; the jobs retry it', { day, error });
    return { kind: 'unknown', cause: 'misconfigured', detail: error instanceof Error ? error.message : String(error) };
  }
}

function faultOf(answer: Exclude<BillAnswer, { kind: 'bill' | 'empty' }>): Fault {
  if (answer.kind === 'unknown')
    return { state: 'waiting', fault: answer.cause, detail: answer.detail ?? 'The channel sent no usable response.' };
  if (answer.kind === 'refused') return { state: 'refused', fault: answer.code, detail: answer.reason };
  if (answer.kind === 'gone')
    return {
      state: 'missing',
      fault: answer.code,
      detail: 'The channel no longer has a bill of this day.',
      isSure: true,
    };
  return { state: 'waiting', fault: answer.code, detail: 'The channel has not created this bill yet.', isSure: true };
}

/** Stores the fault of a bill and the time of the next fetch; lines of an earlier reading still count. */
async function noteFault(
  ports: BillPorts,
  billNo: string,
  { state, fault, detail, line, column }: Fault,
): Promise<void> {
  const now = ports.now();
  await ports.store.transaction(async (tx) => {
    const bill = await tx.bills.lock({ billNo });
    // The lines of the bill were discarded meanwhile, because the bill duplicates another bill. It is not fetched
    // again.
    if (!bill || bill.fault === SAME_ACCOUNT) return;
    const calendar = ports.channels.kindOf(bill.payWay).bills;
    const retry = state === 'missing' || !calendar ? null : nextOf(state)(bill.day, calendar, now);
    const held = retry === null && bill.reading > 0 ? await againWhileHeld(tx, bill, calendar, now) : null;
    // Stored lines are compared again, because more orders of the account may be known by now. A bill without a hash
    // has no stored lines.
    const isCompared = retry === null && bill.reading > 0 && bill.sha256 !== null;
    const without = state === 'refused' ? 'refused' : 'missing';
    const over = isCompared ? 'matching' : bill.reading > 0 ? 'done' : without;
    await tx.bills.update(
      { billNo },
      {
        state: retry === null ? over : state,
        fault: fault.slice(0, 64),
        faultDetail: detail.slice(0, 1000),
        faultLine: line ?? null,
        faultColumn: column ?? null,
        askedAt: now,
        checks: bill.checks + 1,
        nextCheckAt: isCompared ? now : (retry ?? held),
        leasedUntil: null,
      },
    );
  });
  const level = state === 'refused' ? 'error' : 'info';
  ports.log(level, 'a bill is not available', { billNo, fault, detail, line, column });
}

/** A bill whose lines still count is fetched again on the regular schedule; a missing bill is retried every hour. */
function nextOf(state: BillRow['state']): typeof retryAt {
  return state === 'done' ? againAt : retryAt;
}

/**
 * When to fetch a bill again because of a held payment: the channel still holds a payment of that day, or has completed
 * a payment that the bill does not list yet. Null = no such payment requires another fetch.
 */
async function againWhileHeld(
  tx: Tx,
  bill: BillRow,
  calendar: BillCalendar | undefined,
  now: Date,
): Promise<Date | null> {
  const next = calendar ? heldAgainAt(bill.day, calendar, now) : null;
  return next && (await isIncomplete(tx, bill.billNo, boundsOf(bill.day, calendar!))) ? next : null;
}

function earlier(one: Date | null, other: Date | null): Date | null {
  return one && other ? new Date(Math.min(one.getTime(), other.getTime())) : (one ?? other);
}

/**
 * Lines of the bill are missing in the database. The comparison would report false differences, so it is rolled back
 * and the bill is read again.
 */
class LinesMissing extends Error {
  constructor(found: number, read: number) {
    super(`A bill has ${found} of the ${read} lines that were read; it is fetched again.`);
    this.name = 'LinesMissing';
  }
}

/** Compares a bill with the orders of its account. Of concurrent calls, only the first compares the bill. */
export async function compareBill(ports: BillPorts, billNo: string): Promise<void> {
  const patient = await ports.openPatient();
  try {
    const found = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (!found || found.reading === 0) return;
    // Old lines are removed before the comparison. If the process crashed after the comparison, no later step would
    // remove them.
    await removeOldLines(ports.store, billNo);
    await analyzeLines(patient.store, found.day);
    await nameOrders(patient.store, found);
    await forgetInLines(patient.store, found);
    const rates = ratesOf(await requestersOf(ports, found));
    ports.checkpoint('bill.matching');
    await patient.store.transaction(async (tx) => {
      await lockAccount(tx, found);
      const bill = await tx.bills.lock({ billNo });
      if (bill?.state !== 'matching' || bill.reading !== found.reading) return;
      await settleMatch(ports, tx, bill, rates);
    });
    ports.checkpoint('bill.matched');
  } catch (error) {
    if (!(error instanceof LinesMissing)) throw error;
    ports.log('error', error.message, { billNo });
    const anew = { state: 'waiting' as const, sha256: null, leasedUntil: null };
    await ports.store.transaction((tx) => tx.bills.update({ billNo, state: 'matching' }, anew));
  } finally {
    await patient.close();
  }
}

async function settleMatch(ports: BillPorts, tx: Tx, bill: BillRow, rates: Rates): Promise<void> {
  const { billNo, payWay, day } = bill;
  const calendar = ports.channels.kindOf(payWay).bills;
  const matched = await runMatch(ports, tx, bill, rates);
  const now = ports.now();
  if (matched.lines !== bill.lines) throw new LinesMissing(matched.lines, bill.lines);
  // Reopens the differences about disputes that are still unknown to this service. The channel is then queried about
  // these disputes once more. The search for changed disputes reaches back only a few days, so it does not find them.
  await tx.billDifferences.update(
    { billNo, kind: 'dispute_unknown_to_us', state: 'listed' },
    { state: 'open', checks: 0, nextCheckAt: now, leasedUntil: null },
  );
  await tx.bills.update(
    { billNo },
    {
      state: 'done',
      notOurs: matched.notOurs,
      sums: matched.sums,
      matchedAt: now,
      askedAt: bill.readAt,
      nextCheckAt: earlier(
        (calendar && againAt(day, calendar, now)) ?? null,
        await againWhileHeld(tx, bill, calendar, now),
      ),
      leasedUntil: null,
    },
  );
}

/**
 * Compares a bill with all orders of its day. `only`: the number of an order; the comparison is then limited to it.
 * Resolves the exceptions about differences that no longer exist.
 */
export async function runMatch(ports: BillPorts, tx: Tx, bill: BillRow, rates: Rates, only?: string): Promise<Matched> {
  const calendar = ports.channels.kindOf(bill.payWay).bills ?? { utcOffsetMinutes: 0 };
  const { utcOffsetMinutes } = calendar;
  const matched = await matchBill(tx, {
    bill,
    ...boundsOf(bill.day, calendar),
    utcOffsetMinutes,
    rates,
    now: ports.now(),
    ...(only === undefined ? {} : { only }),
  });
  for (const { orderNo, kind, key: dedupe } of matched.relieved)
    await resolveExceptions(ports, tx, { where: { orderNo, kind, dedupe }, resolution: 'agrees', by: 'service' });
  for (const [kind, count] of Object.entries(matched.listed))
    for (let left = count; left > 0; left -= 1) ports.count('order_exception', { kind });
  return matched;
}
