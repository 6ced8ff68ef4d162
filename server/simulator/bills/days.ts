import type { PayWay } from '../../payments/channel.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const OFFSET_MS: Readonly<Record<PayWay, number>> = { alipay: 8 * HOUR_MS, wechat: 8 * HOUR_MS, paypal: 0 };

/** A span of time, the end not in it, in milliseconds. */
export interface Span {
  from: number;
  to: number;
}

/** The day of an instant as the channel counts days, `yyyy-MM-dd`: Beijing's, at PayPal that of UTC. */
export function dayOf(payWay: PayWay, at: number): string {
  return new Date(at + OFFSET_MS[payWay]).toISOString().slice(0, 10);
}

/** The span of a day; undefined when there is no such day. */
export function spanOfDay(payWay: PayWay, day: string): Span | undefined {
  const from = midnight(payWay, day);
  return from === undefined ? undefined : { from, to: from + DAY_MS };
}

/** The span of a month, `yyyy-MM`; undefined when there is no such month. */
export function spanOfMonth(payWay: PayWay, month: string): Span | undefined {
  const from = midnight(payWay, `${month}-01`);
  if (from === undefined) return undefined;
  const [year = 0, number = 0] = month.split('-').map(Number);
  return { from, to: Date.UTC(year, number, 1) - OFFSET_MS[payWay] };
}

/** The days of the channel that a span touches. */
export function daysIn(payWay: PayWay, { from, to }: Span): string[] {
  const first = midnight(payWay, dayOf(payWay, from)) ?? from;
  return Array.from({ length: Math.ceil((to - first) / DAY_MS) }, (_, index) => dayOf(payWay, first + index * DAY_MS));
}

/** Midnight of the day that was so many months before an instant. */
export function monthsBefore(payWay: PayWay, at: number, months: number): number {
  const day = new Date(at + OFFSET_MS[payWay]);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - months, day.getUTCDate()) - OFFSET_MS[payWay];
}

function midnight(payWay: PayWay, day: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
  const at = Date.parse(`${day}T00:00:00Z`);
  const isReal = !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
  return isReal ? at - OFFSET_MS[payWay] : undefined;
}
