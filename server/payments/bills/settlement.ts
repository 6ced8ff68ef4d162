import type { BillRow } from '../../db/entities/bills.ts';
import { billedAccounts, billsBetween, type SettlementFilter } from '../../db/queries/bill-lists.ts';
import type { Projects } from '../../db/queries/reach.ts';
import { InvalidRequest } from '../../errors.ts';
import type { Ports } from '../ports.ts';
import type { BillSum } from './bill-states.ts';
import { dayAfter, dayOf, readyAt } from './days.ts';

/** Amounts of some days, in minor units of one currency; `netMinor` = gross − refunds − fees − disputes + other. */
export interface SettledSums {
  payments: number;
  grossMinor: number;
  refunds: number;
  refundsMinor: number;
  feesMinor: number;
  disputesMinor: number;
  otherMinor: number;
  netMinor: number;
}

type OfBill = Pick<BillRow, 'day' | 'payWay' | 'account' | 'mode'>;

/** What the channels settle, by their bills. */
export interface Settlement {
  days: (OfBill & SettledSums & { billNo: string; project: string | null; currency: string })[];
  totals: (SettledSums & { currency: string })[];
  /** Days of which a bill should be there and none was read. */
  missing: (OfBill & { billNo: string | null; state: BillRow['state'] | null })[];
  /** Bills that have fewer lines than an earlier reading of the same day had. */
  shrunk: (OfBill & { billNo: string; lines: number; mostLines: number })[];
  /** Bills with lines that could not be read and that are in no sum; what their own sums say of it. */
  unreadable: (OfBill & { billNo: string; lines: number; shortfall: string | null })[];
  /** Where the lines of a bill do not come to what the bill says of itself. */
  disagreements: (OfBill & { billNo: string; currency: string; what: Stated; bill: number; lines: number })[];
}

const STATED = ['payments', 'paid', 'refunds', 'refunded', 'fees'] as const;
type Stated = (typeof STATED)[number];

const DAY_MS = 86_400_000;
/** Without other days: a month. */
const USUAL_DAYS = 30;
const MOST_DAYS = 400;

/** Settlement figures: what the lines of the bills come to, day by day, equal to the bills' own sums or named where they are not. */
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
    const { bills, configured } = await reports.read(async (tx) => ({
      bills: await billsBetween(tx, { ...of, from: first, to: last }),
      configured: await billedAccounts(tx, of),
    }));
    const isMine = (name: string | null) => project === undefined || (name !== null && [project].flat().includes(name));
    // Who is limited to projects learns of accounts that these have, and of sums of an account only where no other project has it.
    const isLimited = project !== undefined && typeof project !== 'string';
    const accounts = isLimited ? configured.filter(({ projects }) => projects.some(isMine)) : configured;
    const whole = isLimited ? accounts.filter(({ projects }) => projects.every(isMine)) : undefined;
    const days = bills.flatMap((bill) =>
      (bill.sums ?? [])
        .filter((sum) => isMine(sum.project))
        .map((sum) => ({
          ...about(bill),
          billNo: bill.billNo,
          project: sum.project,
          currency: sum.currency,
          ...settled(sum),
        })),
    );
    const summed = whole ? bills.filter((bill) => whole.some((account) => isOf(bill, account))) : bills;
    const shrunk = summed
      .filter(({ lines, mostLines }) => lines < mostLines)
      .map((bill) => ({ ...about(bill), billNo: bill.billNo, lines: bill.lines, mostLines: bill.mostLines }));
    const unreadable = summed
      .filter((bill) => bill.unreadable > 0)
      .map((bill) => ({ ...about(bill), billNo: bill.billNo, lines: bill.unreadable, shortfall: bill.shortfall }));
    const disagreements = summed.flatMap(disagreementsOf);
    return { days, totals: totalsOf(days), missing: missing(), shrunk, unreadable, disagreements };

    function missing(): Settlement['missing'] {
      return accounts.flatMap(({ since, projects: _projects, ...account }) => {
        const calendar = channels.kindOf(account.payWay).bills;
        if (!calendar) return [];
        const begin = dayOf(since, calendar);
        const found: Settlement['missing'] = [];
        for (let day = begin > first ? begin : first; day <= last; day = dayAfter(day, 1)) {
          if (readyAt(day, calendar) > now()) break;
          const bill = bills.find((one) => one.day === day && isOf(one, account));
          if (!bill || bill.reading === 0)
            found.push({ day, ...account, billNo: bill?.billNo ?? null, state: bill?.state ?? null });
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

function settled(sum: BillSum): SettledSums {
  const [gross, back, fees] = [BigInt(sum.paid), BigInt(sum.refunded), BigInt(sum.fees)];
  const [disputes, other] = [BigInt(sum.disputed), BigInt(sum.other)];
  return {
    payments: sum.payments,
    grossMinor: Number(gross),
    refunds: sum.refunds,
    refundsMinor: Number(back),
    feesMinor: Number(fees),
    disputesMinor: Number(disputes),
    otherMinor: Number(other),
    netMinor: Number(gross - back - fees - disputes + other),
  };
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
      feesMinor: (before?.feesMinor ?? 0) + day.feesMinor,
      disputesMinor: (before?.disputesMinor ?? 0) + day.disputesMinor,
      otherMinor: (before?.otherMinor ?? 0) + day.otherMinor,
      netMinor: (before?.netMinor ?? 0) + day.netMinor,
    });
  }
  return [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** The sums of the lines beside what the bill says of itself, for each currency that it names. */
function disagreementsOf(bill: BillRow): Settlement['disagreements'] {
  return (bill.totals ?? []).flatMap((total) => {
    const sums = (bill.sums ?? []).filter(({ currency }) => currency === total.currency);
    return STATED.flatMap((what) => {
      const lines = Number(sums.reduce((all, sum) => all + BigInt(sum[what]), 0n));
      const said = Number(total[what]);
      if (said === lines) return [];
      return [{ ...about(bill), billNo: bill.billNo, currency: total.currency, what, bill: said, lines }];
    });
  });
}
