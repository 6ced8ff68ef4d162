const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** Half a second, then twice as long each time, up to fifteen seconds. */
export function retryPause(tries: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
}
