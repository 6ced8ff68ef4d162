import { accountSince } from '../../db/queries/bills.ts';
import type { BillRow } from '../../db/entities/bills.ts';
import { PAY_WAYS, type PayWay } from '../channel.ts';
import { newNumber } from '../numbers.ts';
import type { NoticeChannel, Ports } from '../ports.ts';
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
        for (const account of await accountsOf(ports, code, payWay)) await plan(account);
      }
  };

  async function plan(account: BillAccount): Promise<void> {
    const { project, payWay, from } = account;
    const calendar = ports.channels.kindOf(payWay).bills;
    if (!calendar) return;
    const of = { payWay, account: from.account, mode: from.mode };
    const since = await ports.store.read((tx) => accountSince(tx, of));
    if (since === undefined) return;
    const today = dayOf(ports.now(), calendar);
    const earliest = dayAfter(today, -BACK_DAYS);
    const first = dayOf(since, calendar);
    for (let day = first > earliest ? first : earliest; day <= today; day = dayAfter(day, 1)) {
      const known = await ports.store.read((tx) => tx.bills.find({ ...of, day }));
      if (known) continue;
      const row = newBill({ ...of, project, day }, readyAt(day, calendar), ports.now());
      await ports.store.transaction((tx) => tx.bills.insertIfNew(row));
    }
  }
}

/** An account that gives bills, and the project by whose configuration it is asked. */
export interface BillAccount {
  project: string;
  payWay: PayWay;
  from: NoticeChannel;
}

/** The accounts of a project that give bills, each once, the newest identity first. */
export async function accountsOf(ports: Ports, project: string, payWay: PayWay): Promise<BillAccount[]> {
  const accounts = new Map<string, BillAccount>();
  for (const from of await ports.channels.forNotices(project, payWay)) {
    const key = `${from.mode} ${from.account}`;
    if (from.channel.bills && !accounts.has(key)) accounts.set(key, { project, payWay, from });
  }
  return [...accounts.values()];
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
    state: 'waiting',
    source: null,
    reading: 0,
    readings: 0,
    lines: 0,
    mostLines: 0,
    unreadable: 0,
    shortfall: null,
    notOurs: 0,
    bytes: null,
    sha256: null,
    totals: null,
    sums: null,
    fault: null,
    faultDetail: null,
    faultLine: null,
    faultColumn: null,
    checks: 0,
    nextCheckAt,
    leasedUntil: null,
    createdAt: now,
    askedAt: null,
    readAt: null,
    matchedAt: null,
  };
}
