import { accountSince, forgetClaim, hasOrders } from '../../db/queries/payees.ts';
import type { BillRow } from '../../db/entities/bills.ts';
import type { Tx } from '../../db/store.ts';
import { PAY_WAYS } from '../channel.ts';
import { newNumber } from '../numbers.ts';
import type { Ports } from '../ports.ts';
import { type BillAccount, accountsOf, lockAccount, NEVER_READ } from './payees.ts';
import { dayAfter, dayOf, readyAt } from './days.ts';

/** An account that was added, or a service that stood still, gets the bills of this many days. */
const BACK_DAYS = 7;

/** Writes down which bills will be asked for and when: one for each account and day, from the day on which it was configured. */
export function planBills(ports: Ports) {
  return async (goesOn: () => boolean = () => true): Promise<void> => {
    const projects = await ports.store.read((tx) => tx.projects.list({}));
    for (const { code } of projects)
      for (const payWay of PAY_WAYS) {
        if (!goesOn()) return;
        const accounts = await accountsOf(ports, code, payWay);
        const [newest] = accounts;
        // The newest identity of each payee.
        for (const [at, account] of accounts.entries()) {
          if (accounts.findIndex((one) => isSame(one, account)) !== at) continue;
          const isNeeded = account.isProven || isSame(account, newest!) || (await isUsed(account));
          await (isNeeded ? plan(account) : forget(account));
        }
      }
  };

  /** Whether a claim that is configured no more took money: then its days without a bill are named. */
  async function isUsed({ payWay, payee: account, from: { mode } }: BillAccount): Promise<boolean> {
    return ports.store.read((tx) => hasOrders(tx, { payWay, account, mode }));
  }

  async function forget({ payWay, payee: account, from: { mode } }: BillAccount): Promise<void> {
    await ports.store.transaction((tx) => forgetClaim(tx, { payWay, account, mode }));
  }

  async function plan(account: BillAccount): Promise<void> {
    const { project, payWay, payee, from } = account;
    const calendar = ports.channels.kindOf(payWay).bills;
    if (!calendar) return;
    const of = { payWay, account: payee, mode: from.mode };
    const since = await ports.store.read((tx) => accountSince(tx, of));
    if (since === undefined) return;
    const today = dayOf(ports.now(), calendar);
    const earliest = dayAfter(today, -BACK_DAYS);
    const first = dayOf(since, calendar);
    for (let day = first > earliest ? first : earliest; day <= today; day = dayAfter(day, 1)) {
      const known = await ports.store.read((tx) => tx.bills.find({ ...of, day }));
      if (known) continue;
      const row = newBill({ ...of, project, day }, readyAt(day, calendar), ports.now());
      await ports.store.transaction((tx) => addBill(tx, row));
    }
  }
}

function isSame(one: BillAccount, other: BillAccount): boolean {
  return one.payee === other.payee && one.from.mode === other.from.mode;
}

/** Writes a bill of an account; one of a claim that was proven meanwhile is that of its payee. */
export async function addBill(tx: Tx, row: BillRow): Promise<void> {
  const { payWay, account, mode } = row;
  await lockAccount(tx, row);
  if (await tx.payees.find({ payWay, payee: account, mode })) await tx.bills.insertIfNew(row);
}

/** A bill that nobody has asked for yet. */
export function newBill(
  of: Pick<BillRow, 'payWay' | 'account' | 'mode' | 'project' | 'day'>,
  nextCheckAt: Date | null,
  now: Date,
): BillRow {
  return {
    billNo: newNumber('B', now),
    ...of,
    ...NEVER_READ,
    state: 'waiting',
    readings: 0,
    fault: null,
    faultDetail: null,
    faultLine: null,
    faultColumn: null,
    checks: 0,
    nextCheckAt,
    leasedUntil: null,
    createdAt: now,
    askedAt: null,
  };
}
