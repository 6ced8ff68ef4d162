import type { BillRow } from '../../db/entities/bills.ts';
import { compareAgain, quieten } from '../../db/queries/bill-strangers.ts';
import type { Tx } from '../../db/store.ts';
import { NotFound } from '../../errors.ts';
import { noteDeed } from '../follow-ups.ts';
import type { Asker } from '../ports.ts';
import { lockAccount } from './payees.ts';
import type { BillPorts } from './ports.ts';

/**
 * Another installation of this service at the same account gives numbers of the same form. An administrator makes such an
 * account quiet: lines with unknown numbers are then those of another system, in every bill of the account.
 */
export function quietAccounts(ports: BillPorts) {
  return { quietAccount, unquietAccount };

  /** The account of a bill becomes quiet; the differences that it makes so are gone. One that is quiet stays as it is. */
  async function quietAccount(asker: Asker, billNo: string, reason: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const { bill, of } = await locked(tx, billNo);
      if (await tx.quietAccounts.find(of)) return bill;
      const by = asker.person?.name ?? asker.actor;
      const ended = await quieten(tx, { ...of, since: ports.now(), by, reason });
      await noteDeed(ports, tx, asker, { action: 'bill.quiet', target: billNo, after: { ...of, reason, ended } });
      return bill;
    });
  }

  /** The account of a bill is quiet no more, and its bills of the last weeks are compared again. */
  async function unquietAccount(asker: Asker, billNo: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const { bill, of } = await locked(tx, billNo);
      if ((await tx.quietAccounts.delete(of)) === 0) return bill;
      for (const id of await compareAgain(tx, of, ports.now())) await tx.wake('bill', { id });
      await noteDeed(ports, tx, asker, { action: 'bill.unquiet', target: billNo, after: of });
      return (await tx.bills.find({ billNo }))!;
    });
  }

  async function locked(tx: Tx, billNo: string) {
    const bill = await tx.bills.find({ billNo });
    if (!bill) throw new NotFound('bill');
    await lockAccount(tx, bill);
    const { payWay, account, mode } = bill;
    return { bill, of: { payWay, account, mode } };
  }
}
