import {
  type BillAnswer,
  type BillCalendar,
  TransportFailed,
  type UnknownOutcome,
  type WireFile,
} from '../payments/channel.ts';
import { bounded } from './bill-bytes.ts';
import { daySpan } from './bill-cells.ts';

/** Minutes since the end of a day; negative while it lasts. Throws for what is no day. */
function minutesSince(day: string, calendar: BillCalendar, now: Date): number {
  return (now.getTime() - daySpan(day, calendar.utcOffsetMinutes).end.getTime()) / 60_000;
}

/** The answer about a day that is too long ago for the channel to have a bill of it; undefined for others. */
export function goneDay(day: string, calendar: BillCalendar, now: Date): BillAnswer | undefined {
  const days = minutesSince(day, calendar, now) / (24 * 60);
  return days > calendar.backDays ? { kind: 'gone', code: `OLDER_THAN_${calendar.backDays}_DAYS` } : undefined;
}

/** What it means that a channel knows of no bill: nothing happened, once so many minutes of the next day are over; none yet before. */
export function noBill(
  code: string,
  {
    day,
    calendar,
    now,
    sureAfterMinutes,
    payee,
  }: { day: string; calendar: BillCalendar; now: Date; sureAfterMinutes: number; payee?: string },
): BillAnswer {
  if (minutesSince(day, calendar, now) < sureAfterMinutes) return { kind: 'not_ready', code };
  return { kind: 'empty', code, ...(payee !== undefined && { payee }) };
}

/** The file at an address that a channel named, of a bounded size; anything but the file itself says nothing. */
export async function downloadBill(
  download: () => Promise<WireFile>,
): Promise<Extract<BillAnswer, { kind: 'bill' }> | UnknownOutcome> {
  try {
    const { status, bytes } = await download();
    if (status === 200) return { kind: 'bill', bytes: bounded(bytes) };
    await bytes[Symbol.asyncIterator]().return?.();
    const cause = status >= 300 && status < 400 ? 'redirected' : 'http_status';
    return { kind: 'unknown', cause, detail: `The download was answered HTTP ${status}.` };
  } catch (error) {
    if (!(error instanceof TransportFailed)) throw error;
    return { kind: 'unknown', cause: error.why, detail: error.message };
  }
}
