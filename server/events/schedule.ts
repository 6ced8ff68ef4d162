const MINUTE = 60;
const HOUR = 3600;

/** Seconds from one failed attempt to the next; afterwards every 6 hours until 72 hours after the beginning. */
const PAUSES = [10, 30, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR] as const;
const LAST_PAUSE = 6 * HOUR;
const GIVE_UP_AFTER = 72 * HOUR;

/** When a delivery that failed `attempts` times is tried again; null when 72 hours are over. */
export function nextAttempt(attempts: number, began: Date, now: Date): Date | null {
  const next = now.getTime() + (PAUSES[attempts - 1] ?? LAST_PAUSE) * 1000;
  return next > began.getTime() + GIVE_UP_AFTER * 1000 ? null : new Date(next);
}
