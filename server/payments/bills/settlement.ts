import type { BillRow, StoredTotals } from '../../db/entities/bills.ts';
import { billedAccounts, billsBetween, pendingRefunds, type SettlementFilter } from '../../db/queries/bills.ts';
import type { Projects } from '../../db/queries/project-scope.ts';
import { InvalidRequest } from '../../errors.ts';
import type { Ports } from '../ports.ts';
import type { BillSum, PendingRefunds } from '../../domain.ts';
import { dayAfter, dayOf, readyAt } from '../outcomes.ts';

/**
 * The money of one or more days from bill lines, in minor units of one currency. `netMinor` = gross − refunds −
 * discounts − fees − shares − disputes + other; `other` is every other movement of the account.
 */
interface SettledSums {
  payments: number;
  grossMinor: number;
  refunds: number;
  refundsMinor: number;
  /** Discounts that the merchant paid. */
  discountsMinor: number;
  feesMinor: number;
  /** Amounts paid to the merchant's profit-sharing receivers. */
  sharesMinor: number;
  disputesMinor: number;
  otherMinor: number;
  netMinor: number;
}

type OfBill = Pick<BillRow, 'day' | 'payWay' | 'account' | 'mode'>;

export interface Settlement {
  days: (OfBill & SettledSums & { billNo: string; project: string | null; currency: string })[];
  totals: (SettledSums & { currency: string })[];
  /** Days whose bill should exist and was not read; `project`: a project whose keys can fetch the bill. */
  missing: (OfBill & { project: string; billNo: string | null; state: BillRow['state'] | null })[];
  /** Bills with fewer lines than an earlier reading of the same bill had. */
  shrunk: (OfBill & { billNo: string; lines: number; mostLines: number })[];
  /**
   * Bills with lines that could not be read; no figure includes these lines. `shortfall`: a text that names the totals
   * in the bill that differ from the sums of its readable lines.
   */
  unreadable: (OfBill & { billNo: string; lines: number; shortfall: string | null })[];
  /**
   * Refunds that a bill lists as in progress and that no later bill lists. `end` is `open` if the result is unknown;
   * the report then counts the refund. `end` is `failed` if the refund failed; the report then does not count it,
   * although the bill does.
   */
  pendingRefunds: (OfBill & {
    billNo: string;
    project: string | null;
    currency: string;
    end: 'open' | 'failed';
    refunds: number;
    amountMinor: number;
  })[];
  /** Sums of a bill that differ from the sums of its lines. */
  disagreements: (OfBill & { billNo: string; currency: string; what: Stated; bill: number; lines: number })[];
  /**
   * Periods of consecutive days in which the change of the account's balance differs from the sum of the bill lines.
   */
  balances: (Omit<OfBill, 'day'> & { from: string; to: string; currency: string; balance: number; lines: number })[];
  /** Bills not compared with a balance, because it was not available or some rows could not be read. */
  unchecked: (OfBill & { billNo: string })[];
}

const STATED = ['payments', 'paid', 'refunds', 'refunded', 'fees', 'net'] as const;
type Stated = (typeof STATED)[number];

const DAY_MS = 86_400_000;
/** If the request names no first day, the report covers this number of days, up to and including its last day. */
const USUAL_DAYS = 30;
const MOST_DAYS = 400;

/** Creates the function that builds the settlement report: the sums of the bill lines for each day. */
export function settlement({ reports, now, channels }: Pick<Ports, 'reports' | 'now' | 'channels'>) {
  return async ({
    project,
    from,
    to,
    ...of
  }: Partial<SettlementFilter> &
    Pick<SettlementFilter, 'mode'> & { project?: Projects | undefined }): Promise<Settlement> => {
    const last = to ?? dayAfter(now().toISOString().slice(0, 10), -1);
    const first = from ?? dayAfter(last, 1 - USUAL_DAYS);
    requireDays(first, last);
    const { bills, before, pending, configured } = await reports.read(async (tx) => {
      const between = await billsBetween(tx, { ...of, from: first, to: last });
      // The channel may hold a payment (keep its money back) and complete it days later. Therefore earlier bills are
      // read too: their payments may have been completed on one of the requested days.
      const held = Math.max(
        0,
        ...between.map((bill) => (balancesIn(bill) && channels.kindOf(bill.payWay).bills?.heldDays) || 0),
      );
      const following = between.filter(({ sums }) => sums?.some((sum) => sum.pending > 0));
      return {
        bills: between,
        before:
          held > 0 ? await billsBetween(tx, { ...of, from: dayAfter(first, -held), to: dayAfter(first, -1) }) : [],
        pending: Map.groupBy(await pendingRefunds(tx, following), ({ billNo }) => billNo),
        configured: await billedAccounts(tx, of),
      };
    });
    const pendingOf = ({ billNo }: Pick<BillRow, 'billNo'>) => pending.get(billNo) ?? [];
    const isMine = (name: string | null) => project === undefined || (name !== null && [project].flat().includes(name));
    // If the caller may see only some projects, the report lists missing bills only for accounts that at least one of
    // these projects uses. It shows sums of whole bills only for accounts that no other project uses.
    const isLimited = project !== undefined && typeof project !== 'string';
    const accounts = isLimited ? configured.filter(({ projects }) => projects.some(isMine)) : configured;
    const whole = isLimited ? accounts.filter(({ projects }) => projects.every(isMine)) : undefined;
    const days = bills.flatMap((bill) =>
      sumsOf(bill, pendingOf(bill))
        .filter((sum) => isMine(sum.project))
        .map((sum) => ({
          ...about(bill),
          billNo: bill.billNo,
          project: sum.project,
          currency: sum.currency,
          ...settled(sum, pendingOf(bill)),
        })),
    );
    const summed = whole ? bills.filter((bill) => whole.some((account) => isOf(bill, account))) : bills;
    const shrunk = summed
      .filter(({ lines, mostLines }) => lines < mostLines)
      .map((bill) => ({ ...about(bill), billNo: bill.billNo, lines: bill.lines, mostLines: bill.mostLines }));
    const unreadable = summed
      .filter((bill) => bill.unreadable > 0)
      .map((bill) => ({ ...about(bill), billNo: bill.billNo, lines: bill.unreadable, shortfall: bill.shortfall }));
    const disagreements = summed.flatMap((bill) => disagreementsOf(bill, pendingOf(bill)));
    const balanced = Map.groupBy(
      summed.filter((bill) => bill.reading > 0 && channels.kindOf(bill.payWay).bills?.hasBalances),
      ({ payWay, account, mode }) => `${payWay} ${mode} ${account}`,
    );
    const underWay = bills.flatMap((bill) =>
      namedRefunds(bill, pendingOf(bill)).filter(({ project: of }) => isMine(of)),
    );
    return {
      days,
      totals: totalsOf(days),
      missing: missing(),
      shrunk,
      unreadable,
      pendingRefunds: underWay,
      disagreements,
      balances: [...balanced.values()].flatMap((own) => {
        const all = [...before.filter((bill) => isOf(bill, own[0]!)), ...own];
        return runsOf(own).flatMap((run) => compareBalances(run, all));
      }),
      unchecked: [...balanced.values()]
        .flat()
        .filter((bill) => !balancesIn(bill))
        .map((bill) => ({ ...about(bill), billNo: bill.billNo })),
    };

    function missing(): Settlement['missing'] {
      return accounts.flatMap(({ since, projects, ...account }) => {
        const calendar = channels.kindOf(account.payWay).bills;
        if (!calendar) return [];
        const begin = dayOf(since, calendar);
        const requester = projects.find(isMine) ?? projects[0]!;
        const found: Settlement['missing'] = [];
        for (let day = begin > first ? begin : first; day <= last; day = dayAfter(day, 1)) {
          if (readyAt(day, calendar) > now()) break;
          const bill = bills.find((one) => one.day === day && isOf(one, account));
          if (!bill || bill.reading === 0)
            found.push({
              day,
              ...account,
              project: requester,
              billNo: bill?.billNo ?? null,
              state: bill?.state ?? null,
            });
        }
        return found;
      });
    }
  };
}

function isOf(bill: BillRow, { payWay, account, mode }: Omit<OfBill, 'day'>): boolean {
  return bill.payWay === payWay && bill.account === account && bill.mode === mode;
}

function requireDays(from: string, to: string): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  if (days >= 0 && days < MOST_DAYS) return;
  const detail = days < 0 ? 'must not be before from' : `must be less than ${MOST_DAYS} days after from`;
  throw new InvalidRequest(`The day to ${detail}.`, [{ pointer: '/query/to', code: 'invalid', detail }]);
}

function about({ day, payWay, account, mode }: BillRow): OfBill {
  return { day, payWay, account, mode };
}

/**
 * Returns the sums including the bill's refunds in progress, because their money has left the account. Refunds that
 * failed later are not included.
 */
function settled(sum: BillSum, pending: readonly PendingRefunds[]): SettledSums {
  const own = pending.filter(
    ({ project, currency, end }) => project === sum.project && currency === sum.currency && end !== 'failed',
  );
  const add = (first: string, of: (one: PendingRefunds) => string) =>
    own.reduce((all, one) => all + BigInt(of(one)), BigInt(first));
  const [gross, back] = [BigInt(sum.paid), add(sum.refunded, ({ refunded }) => refunded)];
  const discounts = add(sum.discounts, (one) => one.discounts);
  const fees = add(sum.fees, (one) => one.fees);
  const shares = add(sum.shares, (one) => one.shares);
  const [disputes, other] = [BigInt(sum.disputed), BigInt(sum.other)];
  return {
    payments: sum.payments,
    grossMinor: Number(gross),
    refunds: own.reduce((all, { refunds }) => all + refunds, sum.refunds),
    refundsMinor: Number(back),
    discountsMinor: Number(discounts),
    feesMinor: Number(fees),
    sharesMinor: Number(shares),
    disputesMinor: Number(disputes),
    otherMinor: Number(other),
    netMinor: Number(gross - back - discounts - fees - shares - disputes + other),
  };
}

/**
 * Sums of a bill, by project and currency. Adds an empty sum for a project and currency that only has refunds in
 * progress. For example, the order of the refund was missing when the bill was compared, and was restored later.
 */
function sumsOf({ sums }: BillRow, pending: readonly PendingRefunds[]): BillSum[] {
  const all = [...(sums ?? [])];
  for (const { project, currency } of pending)
    if (!all.some((sum) => sum.project === project && sum.currency === currency))
      all.push({ ...NOTHING, project, currency });
  return all;
}

const NOTHING: Omit<BillSum, 'project' | 'currency'> = {
  payments: 0,
  paid: '0',
  refunds: 0,
  refunded: '0',
  discounts: '0',
  fees: '0',
  shares: '0',
  disputed: '0',
  other: '0',
  pending: 0,
};

function namedRefunds(bill: BillRow, pending: readonly PendingRefunds[]): Settlement['pendingRefunds'] {
  return pending.flatMap(({ project, currency, end, refunds, refunded }) =>
    end === 'succeeded'
      ? []
      : [{ ...about(bill), billNo: bill.billNo, project, currency, end, refunds, amountMinor: Number(refunded) }],
  );
}

function totalsOf(days: Settlement['days']): Settlement['totals'] {
  const totals = new Map<string, SettledSums & { currency: string }>();
  for (const { currency, ...day } of days) {
    const before = totals.get(currency);
    totals.set(currency, {
      currency,
      payments: (before?.payments ?? 0) + day.payments,
      grossMinor: (before?.grossMinor ?? 0) + day.grossMinor,
      refunds: (before?.refunds ?? 0) + day.refunds,
      refundsMinor: (before?.refundsMinor ?? 0) + day.refundsMinor,
      discountsMinor: (before?.discountsMinor ?? 0) + day.discountsMinor,
      feesMinor: (before?.feesMinor ?? 0) + day.feesMinor,
      sharesMinor: (before?.sharesMinor ?? 0) + day.sharesMinor,
      disputesMinor: (before?.disputesMinor ?? 0) + day.disputesMinor,
      otherMinor: (before?.otherMinor ?? 0) + day.otherMinor,
      netMinor: (before?.netMinor ?? 0) + day.netMinor,
    });
  }
  return [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

function answer(figure: string | number | null, more = 0): number | null {
  return figure === null ? null : Number(figure) + more;
}

/** The bill counts refunds in progress, so refunds that failed since are subtracted from the bill's sums. */
function disagreementsOf(bill: BillRow, pending: readonly PendingRefunds[]): Settlement['disagreements'] {
  return (bill.totals ?? []).flatMap((total) => {
    const { currency } = total;
    const sums = sumsOf(bill, pending)
      .filter((sum) => sum.currency === currency)
      .map((sum) => settled(sum, pending));
    const all = (of: (sum: SettledSums) => number) => sums.reduce((sum, one) => sum + of(one), 0);
    const lines: Record<Stated, number> = {
      payments: all(({ payments }) => payments),
      paid: all(({ grossMinor }) => grossMinor),
      refunds: all(({ refunds }) => refunds),
      refunded: all(({ refundsMinor }) => refundsMinor),
      fees: all(({ feesMinor }) => feesMinor),
      net: all(({ netMinor }) => netMinor),
    };
    const failed = pending.filter((one) => one.currency === currency && one.end === 'failed');
    const less = (of: (one: PendingRefunds) => number) => failed.reduce((sum, one) => sum + of(one), 0);
    const stated: Record<Stated, number | null> = {
      payments: total.payments,
      paid: answer(total.paid),
      refunds: answer(total.refunds, -less(({ refunds }) => refunds)),
      refunded: answer(total.refunded, -less(({ refunded }) => Number(refunded))),
      fees: answer(total.fees, -less(({ fees }) => Number(fees))),
      net: answer(total.net, less(movedBy)),
    };
    return STATED.flatMap((what) => {
      const figure = stated[what];
      if (figure === null || figure === lines[what]) return [];
      return [{ ...about(bill), billNo: bill.billNo, currency, what, bill: figure, lines: lines[what] }];
    });
  });
}

type Balances = (Pick<StoredTotals, 'currency'> & Required<Pick<StoredTotals, 'balance'>>)[];

/** The balances that a bill states. Undefined = it states none, or the bill must first be read or compared again. */
function balancesIn({ totals, state, sha256 }: BillRow): Balances | undefined {
  const found = totals?.flatMap(({ currency, balance }) => (balance ? [{ currency, balance }] : []));
  return found && found.length > 0 && state !== 'matching' && sha256 !== null ? found : undefined;
}

/** Groups the bills with balances of an account by consecutive days. */
function runsOf(bills: readonly BillRow[]): BillRow[][] {
  const runs: BillRow[][] = [];
  for (const bill of bills) {
    if (!balancesIn(bill)) continue;
    const run = runs.at(-1);
    if (run && dayAfter(run.at(-1)!.day, 1) === bill.day) run.push(bill);
    else runs.push([bill]);
  }
  return runs;
}

/**
 * Compares the change of the account's balance with the sum of the bill lines. A payment that the channel first held
 * back is in an earlier bill than the change of the balance, so `all` includes earlier bills.
 */
function compareBalances(run: readonly BillRow[], all: readonly BillRow[]): Settlement['balances'] {
  const [first, last] = [run[0]!, run.at(-1)!];
  const { payWay, account, mode } = first;
  const [from, to] = [first.day, last.day];
  const isIn = (day: string) => day >= from && day <= to;
  const moved = new Map<string, number>();
  const lines = new Map<string, number>();
  const add = (sums: Map<string, number>, currency: string, minor: number) =>
    sums.set(currency, (sums.get(currency) ?? 0) + minor);
  for (const { currency, balance } of balancesIn(first)!) add(moved, currency, -Number(balance.opening));
  for (const { currency, balance } of balancesIn(last)!) add(moved, currency, Number(balance.closing));
  for (const bill of run) {
    for (const sum of bill.sums ?? []) add(lines, sum.currency, settled(sum, []).netMinor);
    for (const { currency, balance } of balancesIn(bill)!) add(lines, currency, -Number(balance.holds));
  }
  for (const bill of all)
    for (const { currency, onOtherDays } of bill.sums ?? [])
      for (const [day, minor] of Object.entries(onOtherDays ?? {}))
        if (isIn(day) !== isIn(bill.day)) add(lines, currency, isIn(day) ? Number(minor) : -Number(minor));
  return [...new Set([...moved.keys(), ...lines.keys()])].toSorted().flatMap((currency) => {
    const sides = { balance: moved.get(currency) ?? 0, lines: lines.get(currency) ?? 0 };
    return sides.balance === sides.lines ? [] : [{ payWay, account, mode, from, to, currency, ...sides }];
  });
}

/** The money that pending refunds took from the account. */
function movedBy({ refunded, discounts, fees, shares }: PendingRefunds): number {
  return Number(refunded) + Number(discounts) + Number(fees) + Number(shares);
}
