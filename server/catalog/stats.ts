import type { Projects } from '../db/queries/project-scope.ts';
import { type Counted, type Summed, countCreated, sumPaid, sumRefunded } from '../db/queries/stats.ts';
import { NotFound } from '../errors.ts';
import type { Mode } from '../payments/channel.ts';
import { majorNumber } from '../money.ts';
import type { CatalogPorts } from './ports.ts';
import { invalid } from './errors.ts';

/** Longest period that one query may cover (days). */
const MAX_DAYS = 366;

/** `from` and `to` are instants, or dates (`yyyy-mm-dd`, both included) in the time zone `tz`. */
interface StatsQuery {
  from?: string | undefined;
  to?: string | undefined;
  tz: string;
  mode: Mode;
  project?: Projects | undefined;
}

interface Sums {
  payWay: string;
  currency: string;
  paidOrders: number;
  paidAmount: number;
  paidAmountMinor: number;
  refunds: number;
  refundedAmount: number;
  refundedAmountMinor: number;
}

/**
 * The statistics operations. An order belongs to the day of its creation, a payment to the day of the payment, a refund
 * to the day of its success.
 */
export function stats({ store, reports, now }: Pick<CatalogPorts, 'store' | 'reports' | 'now'>) {
  return {
    overview,
    ofProject: async (code: string, query: StatsQuery) => {
      if (!(await store.read((tx) => tx.projects.find({ code })))) throw new NotFound('project');
      return overview({ ...query, project: code });
    },
  };

  function overview({ tz, mode, project, ...query }: StatsQuery) {
    const { days, from, to } = period(query, tz, now());
    const range = { from, to, starts: days.map(({ start }) => start), mode, project };
    return reports.read(async (tx) => {
      const created = await countCreated(tx, range);
      const paid = await sumPaid(tx, range);
      const refunded = await sumRefunded(tx, range);
      const pick = <Row extends { day: number }>(rows: Row[], day: number) => rows.filter((row) => row.day === day);
      return {
        mode,
        tz,
        project: typeof project === 'string' ? project : null,
        from: from.toISOString(),
        to: to.toISOString(),
        totals: figures(created, paid, refunded),
        days: days.map(({ date }, index) => ({
          date,
          ...figures(pick(created, index + 1), pick(paid, index + 1), pick(refunded, index + 1)),
        })),
      };
    });
  }
}

export type Stats = ReturnType<typeof stats>;

function figures(created: readonly Counted[], paid: readonly Summed[], refunded: readonly Summed[]) {
  const states: Record<string, number> = {};
  for (const { state, count } of created) states[state] = (states[state] ?? 0) + count;
  return {
    createdOrders: created.reduce((sum, { count }) => sum + count, 0),
    states,
    paidOrders: paid.reduce((sum, { count }) => sum + count, 0),
    refunds: refunded.reduce((sum, { count }) => sum + count, 0),
    amounts: amounts(paid, refunded),
  };
}

function amounts(paid: readonly Summed[], refunded: readonly Summed[]): Sums[] {
  const names = [...new Set([...paid, ...refunded].map(({ payWay, currency }) => `${payWay} ${currency}`))].toSorted();
  return names.map((name) => {
    const [payWay = '', currency = ''] = name.split(' ');
    const total = (rows: readonly Summed[]) => {
      const mine = rows.filter((row) => row.payWay === payWay && row.currency === currency);
      const minor = mine.reduce((sum, row) => sum + row.minor, 0n);
      const count = mine.reduce((sum, row) => sum + row.count, 0);
      return { count, minor: Number(minor), major: majorNumber({ minor, currency }) };
    };
    const [into, back] = [total(paid), total(refunded)];
    return {
      payWay,
      currency,
      paidOrders: into.count,
      paidAmount: into.major,
      paidAmountMinor: into.minor,
      refunds: back.count,
      refundedAmount: back.major,
      refundedAmountMinor: back.minor,
    };
  });
}

/**
 * Returns the days of a statistics query, its start and its end; by default the last thirty days. If `from` is an
 * instant, the part of the first day before it is not counted. If `to` is an instant, the part of the last day after it
 * is not counted.
 */
function period(query: { from?: string | undefined; to?: string | undefined }, tz: string, now: Date) {
  const last = query.to === undefined ? dateIn(tz, now) : dateOf(query.to, tz, true);
  const month = new Date(Date.parse(last) - 29 * 86_400_000).toISOString().slice(0, 10);
  const first = query.from === undefined ? month : dateOf(query.from, tz, false);
  if (first > last) throw invalid('/query/to', 'invalid', 'must not be before `from`');
  if (Date.parse(last) - Date.parse(first) >= MAX_DAYS * 86_400_000)
    throw invalid('/query/from', 'invalid', `must be at most ${MAX_DAYS} days before \`to\``);
  const { days, end } = daysBetween(first, last, tz);
  const from = query.from && !isDate(query.from) ? new Date(query.from) : (days[0]?.start ?? end);
  const to = query.to && !isDate(query.to) ? new Date(query.to) : end;
  if (to <= from) throw invalid('/query/to', 'invalid', 'must be after `from`');
  return { days, from, to };
}

/** The period ends just before the instant `to`, so a period that ends at midnight ends on the day before. */
function dateOf(text: string, tz: string, isEnd: boolean): string {
  if (isDate(text)) return text;
  return dateIn(tz, new Date(Date.parse(text) - (isEnd ? 1 : 0)));
}

function isDate(text: string): boolean {
  return text.length === 10;
}

interface Day {
  date: string;
  start: Date;
}

const DAY = 86_400_000;

/** The date (yyyy-mm-dd) of an instant in a time zone. */
export function dateIn(tz: string, at: Date): string {
  return formatter(tz).format(at);
}

/** The days from one date to another, both included. `end` is the first instant after the last day. */
export function daysBetween(from: string, to: string, tz: string): { days: Day[]; end: Date } {
  const days: Day[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) {
    const date = new Date(at).toISOString().slice(0, 10);
    days.push({ date, start: startOf(date, tz) });
  }
  return { days, end: startOf(new Date(Date.parse(to) + DAY).toISOString().slice(0, 10), tz) };
}

/**
 * The first instant of a date in a time zone. If a clock change skips midnight, it is the first one after the change.
 */
export function startOf(date: string, tz: string): Date {
  const midnight = Date.parse(date);
  const guesses = [midnight - DAY, midnight, midnight + DAY].map((at) => midnight - offsetAt(tz, at));
  const within = guesses.filter((at) => dateIn(tz, new Date(at)) === date);
  return new Date(Math.min(...(within.length > 0 ? within : guesses)));
}

/** The zone's offset from UTC at an instant (ms). */
function offsetAt(tz: string, at: number): number {
  const parts = Object.fromEntries(
    clock(tz)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const { year, month, day, hour, minute, second } = parts;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - at;
}

function formatter(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clock(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known) return known;
  const two = '2-digit';
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: two,
    day: two,
    hour: two,
    minute: two,
    second: two,
  });
  if (clocks.size < 50) clocks.set(timeZone, made);
  return made;
}
