import type { BillRow } from '../../db/entities/bills.ts';
import { removeReading } from '../../db/queries/bill-lines.ts';
import type { Tx } from '../../db/store.ts';
import { Conflict, InvalidRequest, NotAllowed, NotFound } from '../../errors.ts';
import type { PayWay } from '../channel.ts';
import { noteDeed } from '../follow-ups.ts';
import type { Asker } from '../ports.ts';
import { BillMalformed } from './bill.ts';
import { dayAfter, dayOf, isDay } from './days.ts';
import { accountsOf, type BillAccount, deskOf, requirePayee } from './payees.ts';
import { addBill, newBill } from './plan-bills.ts';
import type { BillPorts } from './ports.ts';
import { spooled } from './spool.ts';
import { beginReading, keptBytes, ReadingTaken, storeBill } from './store-bill.ts';

/** Whose bill of which day is meant. */
export interface BillOf {
  project: string;
  payWay: PayWay;
  /** One of several accounts of the project; absent = the one that is used for new orders. */
  account?: string | undefined;
  /** `yyyy-MM-dd`, as the channel counts days. */
  day: string;
}

/** A file is not the bill of that account and day (422). */
export class BillRefused extends NotAllowed {
  constructor({ fault, message, line, column }: BillMalformed) {
    const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
    super('bill_malformed', `${message.replace(/\.$/, '')}${place}.`, {
      errors: [{ pointer: '/file', code: fault, detail: message }],
      extra: { fault, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) },
    });
  }
}

/** What people do with bills: have the channel asked, bring a file, have one compared again. */
export function billRepairs(ports: BillPorts) {
  return { askForBill, importBill, rerunBill };

  /** Has the channel asked for the bill of a day, whatever the schedule says. */
  async function askForBill(asker: Asker, of: BillOf): Promise<BillRow> {
    const account = await accountOf(of);
    return ports.store.transaction(async (tx) => {
      const { billNo } = await ensureBill(tx, account, of.day);
      const { state } = (await tx.bills.lock({ billNo }))!;
      await tx.bills.update({ billNo }, { state: state === 'matching' ? state : 'waiting', nextCheckAt: ports.now() });
      await tx.wake('bill', { id: billNo });
      const bill = (await tx.bills.find({ billNo }))!;
      await noteDeed(ports, tx, asker, { action: 'bill.fetch', target: billNo, after: of });
      return bill;
    });
  }

  /**
   * Reads a file that somebody brings. Throws BillRefused when it is not that bill: nothing of it counts, and what counted before
   * still does. The same file again changes nothing.
   */
  async function importBill(asker: Asker, of: BillOf, source: AsyncIterable<Uint8Array>): Promise<BillRow> {
    const account = await accountOf(of);
    const desk = deskOf(account);
    const before = await ports.store.transaction((tx) => ensureBill(tx, account, of.day));
    const { billNo } = before;
    const reading = await beginReading(ports, billNo);
    if (!reading) throw new NotFound('bill');
    try {
      const stored = await spooled(keptBytes(ports, reading, source), async (spool) => {
        const payee = await desk.payeeIn(spool.file);
        requirePayee(account, payee);
        return storeBill(ports, reading, { desk, spool, source: 'import', payee });
      });
      if (stored === 'taken') throw new ReadingTaken();
    } catch (error) {
      await giveBack(reading, before);
      throw translated(error);
    }
    return ports.store.transaction(async (tx) => {
      const bill = (await tx.bills.find({ billNo }))!;
      const { sha256, lines } = bill;
      await noteDeed(ports, tx, asker, { action: 'bill.import', target: billNo, after: { ...of, sha256, lines } });
      return bill;
    });
  }

  /** Has a bill that was read compared with the orders once more. */
  async function rerunBill(asker: Asker, billNo: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (!bill) throw new NotFound('bill');
      if (bill.reading === 0) throw new Conflict('bill_not_read', 'There is no bill to compare yet.');
      if (bill.state !== 'reading') {
        await tx.bills.update({ billNo }, { state: 'matching', nextCheckAt: ports.now() });
        await tx.wake('bill', { id: billNo });
      }
      const after = (await tx.bills.find({ billNo }))!;
      await noteDeed(ports, tx, asker, { action: 'bill.rerun', target: billNo });
      return after;
    });
  }

  async function accountOf({ project, payWay, account, day }: BillOf): Promise<BillAccount> {
    const calendar = ports.channels.kindOf(payWay).bills;
    const accounts = await accountsOf(ports, project, payWay);
    const found = accounts.find(({ from, payee }) => [undefined, payee, from.account].includes(account));
    if (!calendar || !found)
      throw new NotAllowed('bills_not_configured', 'No configuration of this account can read bills.', {
        hint: `payctl channel show ${payWay} --project ${project}`,
      });
    if (!isDay(day) || day > dayOf(ports.now(), calendar)) throw wrongDay('The day must be a past day, yyyy-MM-dd.');
    if (day < dayAfter(dayOf(ports.now(), calendar), -MOST_DAYS_BACK)) throw wrongDay('The day is too long ago.');
    return found;
  }

  async function ensureBill(tx: Tx, { project, payWay, payee, from }: BillAccount, day: string): Promise<BillRow> {
    const of = { payWay, account: payee, mode: from.mode, day };
    const known = await tx.bills.find(of);
    if (known) return known;
    await addBill(tx, newBill({ ...of, project }, null, ports.now()));
    const added = await tx.bills.find(of);
    // The channel has answered to the claim at this very moment, and it has another name now.
    if (!added) throw new Conflict('bill_being_read', 'The account of this bill is being read.');
    return added;
  }

  /** As it was before a reading that came to nothing, unless another one has begun. */
  async function giveBack(
    { billNo, reading }: { billNo: string; reading: number },
    { state, nextCheckAt, reading: before }: BillRow,
  ): Promise<void> {
    await removeReading(ports.store, { billNo, reading });
    await ports.store.transaction(async (tx) => {
      const bill = await tx.bills.lock({ billNo });
      if (bill?.readings !== reading || bill.state !== 'reading') return;
      const isNew = nextCheckAt === null && state === 'waiting';
      // The channel has named another payee than the file that counted: what is left is to be asked for.
      const isEmptied = bill.reading === 0 && before > 0;
      const asked = { state: 'waiting', nextCheckAt: ports.now(), leasedUntil: null } as const;
      if (isEmptied) await tx.bills.update({ billNo }, asked);
      else if (isNew) await tx.bills.delete({ billNo });
      else await tx.bills.update({ billNo }, { state, nextCheckAt, leasedUntil: null });
    });
  }
}

/** Channels keep their bills for ten years at most. */
const MOST_DAYS_BACK = 3660;

function wrongDay(detail: string): InvalidRequest {
  return new InvalidRequest(detail, [{ pointer: '/day', code: 'invalid', detail }]);
}

function translated(error: unknown): unknown {
  if (error instanceof BillMalformed) return new BillRefused(error);
  if (error instanceof ReadingTaken) return new Conflict('bill_being_read', 'Another reading of this bill has begun.');
  return error;
}
