import type { BillRow } from '../../db/entities/bills.ts';
import { countLines, forgetInLines, nameOrders, removeOldLines, removeReading } from '../../db/queries/bill-lines.ts';
import { matchBill, type Matched } from '../../db/queries/bill-matching.ts';
import type { Tx } from '../../db/store.ts';
import { TransportFailed } from '../channel.ts';
import { resolveExceptions } from '../follow-ups.ts';
import { type BillAnswer, type BillDesk, BillMalformed } from './bill.ts';
import { againAt, boundsOf, retryAt } from './days.ts';
import { accountsOf } from './plan-bills.ts';
import type { BillPorts } from './ports.ts';
import { type Spooled, spooled } from './spool.ts';
import { beginReading, keptBytes, ReadingTaken, storeBill } from './store-bill.ts';

/** Why there is no bill that counts. */
interface Fault {
  state: BillRow['state'];
  fault: string;
  detail: string;
  line?: number | undefined;
  column?: number | undefined;
}

/** Does what is due for a bill: asks the channel for it, reads it, compares it. The caller has claimed its row. */
export function workBill(ports: BillPorts) {
  return async (billNo: string): Promise<void> => {
    const bill = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (!bill) return;
    if (bill.state !== 'matching') await fetchBill(bill);
    const read = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (read?.state === 'matching') await compareBill(ports, billNo);
  };

  async function fetchBill({ billNo, payWay, day, ...bill }: BillRow): Promise<void> {
    const desk = await deskOf(ports, { billNo, payWay, day, ...bill });
    if (!desk) {
      await noteFault(ports, billNo, {
        state: 'waiting',
        fault: 'not_configured',
        detail: 'No configuration of this account can ask for bills.',
      });
      return;
    }
    const said = await askDesk(ports, desk, day);
    ports.checkpoint('bill.asked');
    if (said.kind === 'bill' || said.kind === 'empty') {
      const failure = await take(billNo, desk, said);
      if (failure) await noteFault(ports, billNo, failure);
      return;
    }
    await noteFault(ports, billNo, faultOf(said));
  }

  /** Reads what the channel gave; what is wrong with it, if anything is. */
  async function take(
    billNo: string,
    desk: BillDesk,
    said: Extract<BillAnswer, { kind: 'bill' | 'empty' }>,
  ): Promise<Fault | undefined> {
    const of = await beginReading(ports, billNo);
    if (!of) return undefined;
    const store = (spool: Spooled | null) => storeBill(ports, of, { desk, spool, source: 'channel' });
    try {
      if (said.kind === 'bill') await spooled(keptBytes(ports, of, said.bytes), store);
      else await store(null);
      return undefined;
    } catch (error) {
      if (error instanceof ReadingTaken) return undefined;
      // What does not count is not kept either, nor what a process left that died: nobody would look there for a payer who is to be forgotten.
      await removeReading(ports.store, of);
      await removeOldLines(ports.store, billNo);
      if (error instanceof BillMalformed) {
        const { fault, message: detail, line, column } = error;
        // The lines of the earlier reading go on to count, and the bill is asked for again like one that came.
        return { state: fault === 'empty_bill' ? 'done' : 'refused', fault, detail, line, column };
      }
      if (error instanceof TransportFailed) return { state: 'waiting', fault: error.why, detail: error.message };
      throw error;
    }
  }
}

/** What gives the bills of the account, by its newest configuration. */
export async function deskOf(ports: BillPorts, bill: BillRow): Promise<BillDesk | undefined> {
  const { project, payWay, account, mode } = bill;
  const accounts = await accountsOf(ports, project, payWay);
  return accounts.find(({ from }) => from.account === account && from.mode === mode)?.from.channel.bills;
}

async function askDesk(ports: BillPorts, desk: BillDesk, day: string): Promise<BillAnswer> {
  try {
    return await desk.fetch(day);
  } catch (error) {
    ports.log('error', 'a channel could not be asked for a bill', { day, error });
    return { kind: 'unknown', cause: 'misconfigured', detail: error instanceof Error ? error.message : String(error) };
  }
}

function faultOf(said: Exclude<BillAnswer, { kind: 'bill' | 'empty' }>): Fault {
  if (said.kind === 'unknown')
    return { state: 'waiting', fault: said.cause, detail: said.detail ?? 'The channel gave no usable answer.' };
  if (said.kind === 'refused') return { state: 'refused', fault: said.code, detail: said.reason };
  if (said.kind === 'gone')
    return { state: 'missing', fault: said.code, detail: 'The channel keeps no bill of this day any more.' };
  return { state: 'waiting', fault: said.code, detail: 'The channel has not made this bill yet.' };
}

/** Writes down why there is no bill, and when it is asked for again; what was read before goes on to count. */
export async function noteFault(
  ports: BillPorts,
  billNo: string,
  { state, fault, detail, line, column }: Fault,
): Promise<void> {
  const now = ports.now();
  await ports.store.transaction(async (tx) => {
    const bill = await tx.bills.lock({ billNo });
    if (!bill) return;
    const calendar = ports.channels.kindOf(bill.payWay).bills;
    const retry = state === 'missing' || !calendar ? null : nextOf(state)(bill.day, calendar, now);
    const over = bill.reading > 0 ? 'done' : state === 'refused' ? 'refused' : 'missing';
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
        nextCheckAt: retry,
        leasedUntil: null,
      },
    );
  });
  ports.log(state === 'refused' ? 'error' : 'info', 'a bill is not there', { billNo, fault, detail, line, column });
}

/** A bill that still counts is asked for as one that came; one that is not there, every hour. */
function nextOf(state: BillRow['state']): typeof retryAt {
  return state === 'done' ? againAt : retryAt;
}

/** Lines that are not there would be differences that are none: nothing of the comparison counts, and the bill is asked for once more. */
class LinesMissing extends Error {
  constructor(found: number, read: number) {
    super(`A bill has ${found} lines of the ${read} that were read.`);
    this.name = 'LinesMissing';
  }
}

/** Compares a bill that was read with the orders of its account. Whoever comes second finds that it is done. */
export async function compareBill(ports: BillPorts, billNo: string): Promise<void> {
  const patient = await ports.openPatient();
  try {
    const found = await ports.store.read((tx) => tx.bills.find({ billNo }));
    if (!found || found.reading === 0) return;
    await countLines(patient.store, found.day);
    await nameOrders(patient.store, found);
    await forgetInLines(patient.store, found);
    const desk = await deskOf(ports, found);
    ports.checkpoint('bill.matching');
    await patient.store.transaction(async (tx) => {
      await lockAccount(tx, found);
      const bill = await tx.bills.lock({ billNo });
      if (bill?.state !== 'matching' || bill.reading !== found.reading) return;
      await settleMatch(ports, tx, bill, desk);
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
  await removeOldLines(ports.store, billNo);
}

async function settleMatch(ports: BillPorts, tx: Tx, bill: BillRow, desk: BillDesk | undefined): Promise<void> {
  const { billNo, payWay, day } = bill;
  const calendar = ports.channels.kindOf(payWay).bills;
  const matched = await runMatch(ports, tx, bill, desk);
  const now = ports.now();
  if (matched.lines !== bill.lines) throw new LinesMissing(matched.lines, bill.lines);
  await tx.bills.update(
    { billNo },
    {
      state: 'done',
      notOurs: matched.notOurs,
      sums: matched.sums,
      matchedAt: now,
      askedAt: bill.readAt,
      nextCheckAt: calendar ? againAt(day, calendar, now) : null,
      leasedUntil: null,
    },
  );
}

/** Of an account one comparison at a time, before any other lock: each writes differences in an order of its own. */
export async function lockAccount(tx: Tx, { payWay, account, mode }: BillRow): Promise<void> {
  await tx.advisoryLock(`bills:${payWay}:${account}:${mode}`);
}

/** Compares a bill, or one of its orders, and ends the exceptions of differences that are gone. */
export async function runMatch(
  ports: BillPorts,
  tx: Tx,
  bill: BillRow,
  desk: BillDesk | undefined,
  only?: string,
): Promise<Matched> {
  const calendar = ports.channels.kindOf(bill.payWay).bills ?? { utcOffsetMinutes: 0 };
  const { utcOffsetMinutes } = calendar;
  const matched = await matchBill(tx, {
    bill,
    ...boundsOf(bill.day, calendar),
    utcOffsetMinutes,
    rate: desk?.rate ?? null,
    now: ports.now(),
    ...(only === undefined ? {} : { only }),
  });
  for (const { orderNo, kind, key: dedupe } of matched.relieved)
    await resolveExceptions(ports, tx, { where: { orderNo, kind, dedupe }, resolution: 'agrees', by: 'service' });
  for (const [kind, count] of Object.entries(matched.listed))
    for (let left = count; left > 0; left -= 1) ports.count('order_exception', { kind });
  return matched;
}
