import type { BillRow, PayeeRow } from '../../db/entities/bills.ts';
import {
  type Account,
  SAME_ACCOUNT,
  accountSince,
  compareAgain,
  forgetClaim,
  hasOrders,
  versionsOf,
} from '../../db/queries/payees.ts';
import type { Store, Tx } from '../../db/store.ts';
import { type FeeRate, PAY_WAYS, type PayWay } from '../channel.ts';
import { queueKeyOf } from '../core/plan.ts';
import { newNumber } from '../numbers.ts';
import type { NotificationChannel, Ports } from '../ports.ts';
import { type BillDesk, BillMalformed, dayAfter, dayOf, readyAt } from '../outcomes.ts';

/** One channel identity of a project (an account with its keys) that can fetch bills, and the payee of these bills. */
export interface BillAccount {
  project: string;
  payWay: PayWay;
  from: NotificationChannel;
  /**
   * The id of the payee at the channel. A provisional name (a claim) is used until the channel has named the payee in a
   * response to a request with these keys.
   */
  payee: string;
  isProven: boolean;
}

/**
 * Returns the channel identities (accounts with their keys) of a project that can fetch bills, the newest first. Also
 * stores the payee of each new configuration version.
 */
export async function accountsOf(ports: Ports, project: string, payWay: PayWay): Promise<BillAccount[]> {
  const found = (await ports.channels.forNotifications(project, payWay)).filter(({ channel }) => channel.bills);
  if (found.length === 0) return [];
  const known = await ports.store.read((tx) => tx.payees.list({ project, payWay }));
  const accounts: BillAccount[] = [];
  for (const from of found) {
    const own = known.filter(({ version }) => from.payeeVersions.has(version));
    const { payee, provenAt } = own[0] ?? claimOf(project, from);
    accounts.push({ project, payWay, from, payee, isProven: provenAt !== null });
    if (own.length < from.payeeVersions.size) known.push(...(await note(ports, { project, payWay, from, payee })));
  }
  return accounts;
}

/** Locks the payee first, because another process may replace a claim (a provisional payee) at the same time. */
async function note(
  ports: Ports,
  { project, payWay, from, payee: before }: Omit<BillAccount, 'isProven'>,
): Promise<PayeeRow[]> {
  const { mode, payeeVersions } = from;
  return ports.store.transaction(async (tx) => {
    await lockAccount(tx, { payWay, mode, account: before });
    const rows = await tx.payees.list({ project, payWay });
    const own = rows.filter(({ version }) => payeeVersions.has(version));
    const { payee, provenAt } = own[0] ?? { payee: before, provenAt: null };
    const newVersions = [...payeeVersions].filter((version) => !own.some((row) => row.version === version));
    const added = newVersions.map((version): PayeeRow => ({ project, payWay, version, mode, payee, provenAt }));
    for (const row of added) await tx.payees.insertIfNew(row);
    return added;
  });
}

/**
 * A claim (a provisional payee) is named after the configured account, of which at most this number of characters is
 * used. The project and the version in the name make it unique.
 */
const SHOWN = 40;

function claimOf(
  project: string,
  { account, payeeVersions }: NotificationChannel,
): Pick<PayeeRow, 'payee' | 'provenAt'> {
  return { payee: `${account.slice(0, SHOWN)}@${project}/${Math.min(...payeeVersions)}`, provenAt: null };
}

/** Returns the channel identities that may fetch a bill, those of the bill's project first. */
export async function requestersOf(ports: Ports, bill: BillRow): Promise<BillAccount[]> {
  const { payWay, account, mode } = bill;
  const versions = await ports.store.read((tx) => versionsOf(tx, bill));
  const projects = [...new Set(versions.map(({ project }) => project))];
  const order = projects.toSorted(
    (a, b) => Number(b === bill.project) - Number(a === bill.project) || (a < b ? -1 : 1),
  );
  const accounts = await Promise.all(order.map((project) => accountsOf(ports, project, payWay)));
  return accounts.flat().filter(({ payee, from }) => payee === account && from.mode === mode);
}

/** Returns the fee rate of each project that uses the account, from the project's newest configuration. */
export function ratesOf(requesters: readonly BillAccount[]): Map<string, FeeRate> {
  const rates = new Map<string, FeeRate>();
  const seen = new Set<string>();
  for (const { project, from } of requesters) {
    const rate = from.channel.bills?.rate;
    if (!seen.has(project) && rate) rates.set(project, rate);
    seen.add(project);
  }
  return rates;
}

/** The adapter that fetches and reads the channel's bills for an account. */
export function deskOf({ from }: BillAccount): BillDesk {
  return from.channel.bills!;
}

/** Throws BillMalformed if the bill names another payee than the expected one; a provisional payee is not compared. */
export function requirePayee(
  { payee: expected, isProven }: Pick<BillAccount, 'payee' | 'isProven'>,
  payee: string,
): void {
  if (isProven && payee !== expected) throw new BillMalformed(WRONG_ACCOUNT, isAbout(payee));
}

const WRONG_ACCOUNT = 'wrong_account';

function isAbout(payee: string): string {
  return `The bill is about the account ${payee}.`;
}

/**
 * Allows only one comparison of an account's bills at a time. The lock must be taken before any other lock: two
 * comparisons may write differences in a different sequence, which could cause a deadlock.
 */
export async function lockAccount(tx: Tx, { payWay, account, mode }: Account): Promise<void> {
  await tx.advisoryLock(`bills:${payWay}:${account}:${mode}`);
}

interface Proof {
  billNo: string;
  payee: string;
  /** Closes the differences of a bill whose lines no longer count. */
  heal: (tx: Tx, bill: BillRow) => Promise<void>;
}

/**
 * Replaces a claim (a provisional payee) by the payee that the channel named: the claim's configuration versions and
 * bills then belong to this payee. If claim and payee both have a bill of the same day, only one of the two stays
 * valid. The lines of an imported file are discarded if the file names another payee. Earlier bills of the payee are
 * compared again, because they now cover more orders. Returns `other`: true if the bill `billNo` is no longer valid.
 * Returns `aside`: the bills whose lines were discarded.
 */
export async function prove(
  ports: Ports,
  requester: BillAccount,
  { billNo, payee, heal }: Proof,
): Promise<{ other: boolean; aside: BillRow[] }> {
  const { project, payWay, payee: claim, from } = requester;
  const { mode } = from;
  return ports.store.transaction(async (tx) => {
    for (const account of [claim, payee].toSorted()) await lockAccount(tx, { payWay, account, mode });
    for (const id of await compareAgain(tx, { payWay, account: payee, mode }, ports.now()))
      await tx.afterCommit('bill', { id });
    await tx.payees.update({ project, payWay, mode, payee: claim, provenAt: null }, { payee, provenAt: ports.now() });
    // An administrator may have marked the claim as quiet, so that unknown order numbers in its bills are not reported.
    // The mark does not pass to the payee.
    await tx.quietAccounts.delete({ payWay, mode, account: claim });
    const claimed = await tx.bills.list({ payWay, mode, account: claim }, { orderBy: { billNo: 'asc' } });
    const aside: BillRow[] = [];
    let other = false;
    for (const { billNo: number, day } of claimed) {
      const bill = (await tx.bills.lock({ billNo: number }))!;
      const known = await tx.bills.lock({ payWay, mode, account: payee, day });
      const isOthers = bill.payeeInFile !== null && bill.payeeInFile !== payee;
      // The payee's own bill has no lines yet. Until the channel supplies this bill, the lines imported for the claim
      // stay valid.
      if (known && known.reading === 0 && known.state !== 'reading' && bill.reading > 0 && !isOthers) {
        await tx.billDifferences.delete({ billNo: known.billNo });
        await tx.bills.delete({ billNo: known.billNo });
      } else if (known) {
        await setAside(ports, tx, bill, known);
        await heal(tx, (await tx.bills.find({ billNo: number }))!);
        aside.push(bill);
        other ||= number === billNo;
        continue;
      }
      const again = bill.source === 'import' && number !== billNo ? { nextCheckAt: ports.now() } : {};
      await tx.bills.update({ billNo: number }, { account: payee, ...again });
      if (isOthers) {
        await empty(ports, tx, bill);
        await heal(tx, (await tx.bills.find({ billNo: number }))!);
        aside.push(bill);
      }
      await tx.billDifferences.update({ billNo: number }, { queueKey: queueKeyOf({ payWay, mode, account: payee }) });
    }
    return { other, aside };
  });
}

export const NEVER_READ = {
  reading: 0,
  lines: 0,
  mostLines: 0,
  notOurs: 0,
  unreadable: 0,
  shortfall: null,
  sums: null,
  totals: null,
  pendingRefunds: null,
  payeeInFile: null,
  bytes: null,
  sha256: null,
  source: null,
  readAt: null,
  matchedAt: null,
} as const satisfies Partial<BillRow>;

/** Discards the imported lines of a bill whose file names another payee than the channel did. */
async function empty(ports: Ports, tx: Tx, { billNo, state, readings, payeeInFile }: BillRow): Promise<void> {
  const faulty = { fault: WRONG_ACCOUNT, faultDetail: isAbout(payeeInFile!), faultLine: null, faultColumn: null };
  const due = { state: 'waiting', readings: readings + 1, nextCheckAt: ports.now(), leasedUntil: null } as const;
  await tx.bills.update({ billNo }, { ...NEVER_READ, ...faulty, ...(state === 'reading' ? {} : due) });
  if (state !== 'reading') await tx.afterCommit('bill', { id: billNo });
}

/** Discards the lines of a bill whose payee has another bill of the same day (`known`). */
async function setAside(ports: Ports, tx: Tx, { billNo, readings }: BillRow, known: BillRow): Promise<void> {
  await tx.bills.update(
    { billNo },
    {
      ...NEVER_READ,
      state: 'done',
      readings: readings + 1,
      fault: SAME_ACCOUNT,
      faultDetail: `This is the bill of ${known.account}, which is counted as ${known.billNo}.`,
      faultLine: null,
      faultColumn: null,
      nextCheckAt: null,
      leasedUntil: null,
    },
  );
  if (known.reading > 0 || known.state === 'reading') return;
  await tx.bills.update({ billNo: known.billNo }, { state: 'waiting', nextCheckAt: ports.now() });
  await tx.afterCommit('bill', { id: known.billNo });
}

/** The number of past days whose bills are planned for a new account, or after downtime of the service. */
const BACK_DAYS = 7;

/** Plans one bill for each account and day, beginning with the day on which the account was configured. */
export function planBills(ports: Ports) {
  return async (goesOn: () => boolean = () => true): Promise<void> => {
    const projects = await ports.store.read((tx) => tx.projects.list({}));
    for (const { code } of projects)
      for (const payWay of PAY_WAYS) {
        if (!goesOn()) return;
        const accounts = await accountsOf(ports, code, payWay);
        const [newest] = accounts;
        // If several channel identities (accounts with their keys) have the same payee, only the newest is used.
        for (const [at, account] of accounts.entries()) {
          if (accounts.findIndex((one) => isSame(one, account)) !== at) continue;
          const isNeeded = account.isProven || isSame(account, newest!) || (await isUsed(account));
          await (isNeeded ? plan(account) : forget(account));
        }
      }
  };

  /**
   * Whether orders exist for an account. An older account that the channel has not confirmed gets bills only in this
   * case.
   */
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

/** Inserts a bill, unless another process has already replaced its provisional account by the payee. */
export async function addBill(tx: Tx, row: BillRow): Promise<void> {
  const { payWay, account, mode } = row;
  await lockAccount(tx, row);
  if (await tx.payees.find({ payWay, payee: account, mode })) await tx.bills.insertIfNew(row);
}

/** Returns the row of a bill that has not been fetched yet. */
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

export interface BillPorts extends Ports {
  /** Opens a second connection for SQL statements that exceed the usual time limit; the caller must call `close`. */
  openPatient: () => Promise<{ store: Store; close: () => Promise<void> }>;
}
