import type { BillCalendar } from './bill.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The day of an instant as a channel counts days: `yyyy-MM-dd`. */
export function dayOf(at: Date, { utcOffsetMinutes }: Pick<BillCalendar, 'utcOffsetMinutes'>): string {
  return new Date(at.getTime() + utcOffsetMinutes * MINUTE_MS).toISOString().slice(0, 10);
}

/** The instants at which a day begins and ends. */
export function boundsOf(
  day: string,
  { utcOffsetMinutes }: Pick<BillCalendar, 'utcOffsetMinutes'>,
): { from: Date; to: Date } {
  const from = new Date(Date.parse(`${day}T00:00:00Z`) - utcOffsetMinutes * MINUTE_MS);
  return { from, to: new Date(from.getTime() + DAY_MS) };
}

/** The day so many days after another. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** A bill is asked for once more this many days after it came: channels mend theirs. 0: it was asked for before its day was over. */
const AGAIN_DAYS = [0, 1, 6] as const;
/** A bill that has not come by then is not asked for any more. */
const LAST_DAYS = 7;
const EVERY_SECONDS = 3600;

/** When a day's bill is first asked for. */
export function readyAt(day: string, calendar: BillCalendar): Date {
  return new Date(boundsOf(day, calendar).to.getTime() + calendar.readyAfterMinutes * MINUTE_MS);
}

/** When a bill that came is asked for once more; null = never. */
export function againAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const first = readyAt(day, calendar).getTime();
  const next = AGAIN_DAYS.map((days) => new Date(first + days * DAY_MS)).find((at) => at > now);
  return next ?? null;
}

/** When a bill is asked for once more because something of its day is held; null = no channel holds a payment for so long. */
export function heldAgainAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  // With the bill of the newest day: a settlement compares what was completed on it with the bill that lists it.
  const next = readyAt(dayOf(new Date(now.getTime() - calendar.readyAfterMinutes * MINUTE_MS), calendar), calendar);
  const last = boundsOf(day, calendar).to.getTime() + (calendar.heldDays ?? 0) * DAY_MS;
  return next.getTime() <= last ? next : null;
}

/** When a bill that did not come is asked for again; null = it is missing. */
export function retryAt(day: string, calendar: BillCalendar, now: Date): Date | null {
  const next = new Date(now.getTime() + EVERY_SECONDS * 1000);
  return next.getTime() <= readyAt(day, calendar).getTime() + LAST_DAYS * DAY_MS ? next : null;
}
