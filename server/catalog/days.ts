/** One day of a time zone: its date and the instant at which it begins. */
export interface Day {
  date: string;
  start: Date;
}

const DAY = 86_400_000;

/** The date (yyyy-mm-dd) of an instant in a time zone. */
export function dateIn(tz: string, at: Date): string {
  return formatter(tz).format(at);
}

/** The days from one date to another, both included, and the instant at which the day after the last begins. */
export function daysBetween(from: string, to: string, tz: string): { days: Day[]; end: Date } {
  const days: Day[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY) {
    const date = new Date(at).toISOString().slice(0, 10);
    days.push({ date, start: startOf(date, tz) });
  }
  return { days, end: startOf(new Date(Date.parse(to) + DAY).toISOString().slice(0, 10), tz) };
}

/** The first instant of a date in a zone: local midnight, or where clocks skip it the first instant after. */
export function startOf(date: string, tz: string): Date {
  const midnight = Date.parse(date);
  const guesses = [midnight - DAY, midnight, midnight + DAY].map((at) => midnight - offsetAt(tz, at));
  const within = guesses.filter((at) => dateIn(tz, new Date(at)) === date);
  return new Date(Math.min(...(within.length > 0 ? within : guesses)));
}

/** How far the zone's clocks are ahead of UTC at an instant, in milliseconds. */
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
